{{- define "cert-manager.labels" -}}
app.kubernetes.io/name: cert-manager
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
{{- end }}

{{/* Scheduling is the same for all three workloads. */}}
{{- define "cert-manager.scheduling" -}}
priorityClassName: {{ .Values.global.priorityClassName }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
