{{/* Fits the Deployment of `muster manifests` to the values. Takes the object and the root context; prints nothing. */}}
{{- define "muster.fitDeployment" -}}
{{- $values := .root.Values -}}
{{- $template := .object.spec.template -}}
{{- $pod := $template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set .object.spec "replicas" $values.replicas -}}
{{- $_ := set $container "image" (include "muster.image" .root) -}}
{{- $_ := set $container "imagePullPolicy" $values.image.pullPolicy -}}
{{- $_ := set $container "resources" $values.resources -}}
{{- $args := list -}}
{{- range $container.args -}}
{{- $args = append $args (hasPrefix "--shutdown-delay=" . | ternary (printf "--shutdown-delay=%s" $values.shutdownDelay) .) -}}
{{- end -}}
{{- $_ := set $container "args" $args -}}
{{- if $values.extraEnv -}}{{- $_ := set $container "env" (concat $container.env $values.extraEnv) -}}{{- end -}}
{{- /* A new configuration is a new set of pods: muster reads it when it starts. */ -}}
{{- $annotations := dict "checksum/config" (include "muster.configuration" .root | sha256sum) -}}
{{- $_ := set $template.metadata "annotations" (merge $annotations $values.podAnnotations) -}}
{{- $_ := set $template.metadata "labels" (merge $template.metadata.labels $values.podLabels) -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" -}}
{{- if index $values $field -}}{{- $_ := set $pod $field (index $values $field) -}}{{- end -}}
{{- end -}}
{{- if $values.image.pullSecrets -}}
{{- $secrets := list -}}
{{- range $values.image.pullSecrets -}}{{- $secrets = append $secrets (dict "name" .) -}}{{- end -}}
{{- $_ := set $pod "imagePullSecrets" $secrets -}}
{{- end -}}
{{- if $values.certManager.enabled -}}
{{- $mount := dict "name" "certificates" "mountPath" (include "muster.certDir" .root) "readOnly" true -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) -}}
{{- $volume := dict "name" "certificates" "secret" (dict "secretName" (include "muster.secretName" .root)) -}}
{{- $_ := set $pod "volumes" (append $pod.volumes $volume) -}}
{{- end -}}
{{- end }}
