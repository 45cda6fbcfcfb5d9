{{- define "ingress-nginx.selector" -}}
app.kubernetes.io/name: ingress-nginx
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ingress-nginx.labels" -}}
{{ include "ingress-nginx.selector" . }}
app.kubernetes.io/version: {{ .Values.controller.image.tag | quote }}
{{- end }}
