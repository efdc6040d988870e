{{/* What `muster manifests --only chart` has printed. */}}
{{- define "muster.tables" -}}
{{ .Files.Get "files/tables.yaml" | replace "release-namespace" .Release.Namespace }}
{{- end }}

{{- define "muster.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* Prints an object with Helm's labels. Takes the object and the root context. */}}
{{- define "muster.object" -}}
{{- $labels := dict "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/managed-by" .root.Release.Service
      "app.kubernetes.io/version" .root.Chart.AppVersion "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- $_ := set .object.metadata "labels" (merge (default dict .object.metadata.labels) $labels) -}}
---
{{ toYaml .object }}
{{ end }}

{{/* Port of the aggregated visibility API; empty: it is not aggregated. */}}
{{- define "muster.visibilityPort" -}}
{{- if .Values.configuration.muster.aggregatedVisibility -}}
{{ dig "visibilityServer" "bindPort" 8082 .Values.configuration.kueue | int }}
{{- end -}}
{{- end }}

{{/* Key of the rules and webhooks that go with muster's configuration. */}}
{{- define "muster.mode" -}}
{{- $muster := .Values.configuration.muster -}}
{{ $muster.jobSetController | default "auto" }}{{ if not (dig "groupScheduling" true $muster) }}-without-groups{{ end }}
{{- end }}

{{- define "muster.secretName" -}}
{{ dig "internalCertManagement" "webhookSecretName" "kueue-webhook-server-cert" .Values.configuration.kueue }}
{{- end }}

{{- define "muster.leaseName" -}}
{{ dig "leaderElection" "resourceName" "c1f6bfd2.kueue.x-k8s.io" .Values.configuration.kueue }}
{{- end }}

{{/* Folder of the certificates of cert-manager, in the container. */}}
{{- define "muster.certDir" -}}/etc/muster-certificates{{- end }}

{{/* muster's configuration file: Kueue's Configuration and muster's own. */}}
{{- define "muster.configuration" -}}
{{- $kueue := deepCopy .Values.configuration.kueue -}}
{{- if .Values.certManager.enabled -}}
{{- $_ := set $kueue "internalCertManagement" (dict "enable" false) -}}
{{- $_ := set $kueue "webhook" (merge (dict "certDir" (include "muster.certDir" .)) (default dict $kueue.webhook)) -}}
{{- end -}}
{{ merge (dict "apiVersion" "config.kueue.x-k8s.io/v1beta2" "kind" "Configuration") $kueue | toYaml }}
---
{{ merge (dict "apiVersion" "config.muster.batch/v1alpha1" "kind" "MusterConfiguration") .Values.configuration.muster | toYaml }}
{{- end }}

{{/* Settings that would contradict the objects of the release. */}}
{{- define "muster.check" -}}
{{- $kueue := .Values.configuration.kueue -}}
{{- with dig "leaderElection" "resourceNamespace" "" $kueue -}}
{{- if ne . $.Release.Namespace -}}
{{- fail (printf "configuration.kueue.leaderElection.resourceNamespace: muster has its rights in the namespace of the release, %s, and not in %s (leave the setting out)" $.Release.Namespace .) -}}
{{- end -}}
{{- end -}}
{{- $service := dig "internalCertManagement" "webhookServiceName" "kueue-webhook-service" $kueue -}}
{{- if and (ne $service "muster-webhook") (not .Values.certManager.enabled) -}}
{{- fail (printf "configuration.kueue.internalCertManagement.webhookServiceName: must be muster-webhook, the Service of the release, and is %s" $service) -}}
{{- end -}}
{{- if and (not (dig "internalCertManagement" "enable" true $kueue)) (not .Values.certManager.enabled) -}}
{{- fail "configuration.kueue.internalCertManagement.enable: with false somebody else makes the certificates (set certManager.enabled)" -}}
{{- end -}}
{{- range $port := list (list "health" "healthProbeBindAddress" ":8081") (list "metrics" "bindAddress" ":8443") -}}
{{- $address := dig (index $port 0) (index $port 1) (index $port 2) $kueue -}}
{{- if not (hasSuffix (index $port 2) $address) -}}
{{- fail (printf "configuration.kueue.%s.%s: the Services and probes of the release want port %s, and it is %q (leave the setting out)" (index $port 0) (index $port 1) (trimPrefix ":" (index $port 2)) $address) -}}
{{- end -}}
{{- end -}}
{{- if ne (toString (dig "webhook" "port" 9443 $kueue)) "9443" -}}
{{- fail "configuration.kueue.webhook.port: the Services of the release want port 9443 (leave the setting out)" -}}
{{- end -}}
{{- $gates := default dict $kueue.featureGates -}}
{{- $off := or (eq (get $gates "VisibilityOnDemand" | toString) "false") (and (not (hasKey $gates "VisibilityOnDemand")) (eq (get $gates "AllBeta" | toString) "false")) -}}
{{- if and .Values.configuration.muster.aggregatedVisibility $off -}}
{{- fail "configuration.muster.aggregatedVisibility: the feature gate VisibilityOnDemand is false, so there is no visibility API (set the gate to true or leave the setting out)" -}}
{{- end -}}
{{- if .Values.configuration.muster.webhookClientCAFile -}}
{{- fail "configuration.muster.webhookClientCAFile: the chart mounts no such file" -}}
{{- end -}}
{{- if .Values.configuration.muster.metricsCertDir -}}
{{- fail "configuration.muster.metricsCertDir: the chart mounts no such folder" -}}
{{- end -}}
{{- end }}

{{/* Of rules for webhooks or rights those for kinds whose integration is enabled, as JSON. Takes the rules and the root context. */}}
{{- define "muster.enabledRules" -}}
{{- $frameworks := dig "integrations" "frameworks" list .root.Values.configuration.kueue -}}
{{- $described := (include "muster.tables" .root | fromYaml).describedResources -}}
{{- $kept := list -}}
{{- range $rule := .rules -}}
{{- if not (hasKey $rule "resources") -}}
{{- $kept = append $kept $rule -}}
{{- else -}}
{{- $group := first $rule.apiGroups -}}
{{- $resources := list -}}
{{- range $resource := $rule.resources -}}
{{- $framework := get $described (printf "%s/%s" $group (first (splitList "/" $resource))) -}}
{{- if or (not $framework) (has $framework $frameworks) -}}
{{- $resources = append $resources $resource -}}
{{- end -}}
{{- end -}}
{{- if $resources -}}
{{- $kept = append $kept (merge (dict "resources" $resources) (omit $rule "resources")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ toJson $kept }}
{{- end }}

{{/* "true" where pods are queued by themselves. */}}
{{- define "muster.queuesPods" -}}
{{- if has "pod" (dig "integrations" "frameworks" list .Values.configuration.kueue) -}}true{{- end -}}
{{- end }}

{{/* "true" where an integration of another kind than Jobs and JobSets is enabled. */}}
{{- define "muster.describes" -}}
{{- $frameworks := dig "integrations" "frameworks" list .Values.configuration.kueue -}}
{{- include "muster.queuesPods" . -}}
{{- range $framework := (include "muster.tables" . | fromYaml).describedResources | values | uniq -}}
{{- if has $framework $frameworks -}}true{{- end -}}
{{- end -}}
{{- end }}
