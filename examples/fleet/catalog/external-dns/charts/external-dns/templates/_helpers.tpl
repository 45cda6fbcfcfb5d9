{{- define "external-dns.labels" -}}
app.kubernetes.io/name: external-dns
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
{{- end }}
