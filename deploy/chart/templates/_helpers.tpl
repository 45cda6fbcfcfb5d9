{{- define "fleetform.labels" -}}
app.kubernetes.io/name: fleetform
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
{{- define "fleetform.selector" -}}
app.kubernetes.io/name: fleetform
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "fleetform.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}{{ else }}{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}{{ end -}}
{{- end -}}
