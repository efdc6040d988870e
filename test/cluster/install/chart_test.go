package install

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.batch/test/cluster/harness"
)

// rendered are the chart's objects for these values.
func rendered(t *testing.T, values string) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := harness.Helm(t, values, "template", "muster", harness.Chart, "--namespace", "muster-system")
	if err != nil {
		t.Fatalf("helm template: %v", err)
	}
	return byName(t, text)
}

func byName(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for _, object := range harness.Documents(t, text) {
		objects[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object
	}
	return objects
}

// asManifest takes away what the chart alone has.
func asManifest(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	labels := object.GetLabels()
	for _, own := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
		delete(labels, own)
	}
	if len(labels) == 0 {
		labels = nil
	}
	object.SetLabels(labels)
	annotations := object.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	if len(annotations) == 0 {
		annotations = nil
	}
	object.SetAnnotations(annotations)
	switch object.GetKind() {
	case "Deployment":
		unstructured.RemoveNestedField(object.Object, "spec", "template", "metadata", "annotations")
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		delete(containers[0].(map[string]any), "imagePullPolicy")
		harness.Must(t, unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers"))
	case "ConfigMap":
		text, _, _ := unstructured.NestedString(object.Object, "data", "config.yaml")
		var parsed []any
		for _, part := range strings.Split(text, "---\n") {
			var document any
			harness.Must(t, yaml.Unmarshal([]byte(part), &document))
			parsed = append(parsed, document)
		}
		object.Object["data"] = parsed
	case "ClusterRole":
		if _, found := object.Object["rules"]; found {
			object.Object["rules"] = sortedRights(object)
		}
	}
	return object.Object
}

// sortedRights has one text for each group, resource, verb and name.
func sortedRights(role *unstructured.Unstructured) any {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	rights := map[string]bool{}
	for _, rule := range rules {
		rule := rule.(map[string]any)
		if urls, found := rule["nonResourceURLs"]; found {
			rights[fmt.Sprint(urls, rule["verbs"])] = true
			continue
		}
		names, _ := rule["resourceNames"].([]any)
		if names == nil {
			names = []any{""}
		}
		for _, group := range rule["apiGroups"].([]any) {
			for _, resource := range rule["resources"].([]any) {
				for _, verb := range rule["verbs"].([]any) {
					for _, name := range names {
						rights[fmt.Sprintf("%s %s/%s %s", verb, group, resource, name)] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(rights))
}

// The chart installs what `muster manifests` prints, by default and with each setting that changes both.
func TestChartInstallsWhatTheManifestsDo(t *testing.T) {
	kueue := func(settings string) string {
		return "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\ninternalCertManagement: {webhookServiceName: muster-webhook, webhookSecretName: muster-webhook-cert}\n" +
			"manageJobsWithoutQueueName: false\nintegrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n" + settings +
			"---\napiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\nsuspendGuard: enforce\n"
	}
	for name, one := range map[string]struct {
		values    string
		config    string // for muster manifests; empty: none
		flags     []string
		manifests []string // that are compared; empty: all
	}{
		"as it is":              {},
		"v1beta1":               {values: "crds: {v1beta1: true}", flags: []string{"--serve-v1beta1"}},
		"another image":         {values: "image: {repository: registry.example/muster, tag: v9}", flags: []string{"--image=registry.example/muster:v9"}},
		"native":                {values: "configuration: {muster: {jobSetController: native}}", config: kueue("") + "jobSetController: native\n"},
		"external":              {values: "configuration: {muster: {jobSetController: external}}", config: kueue("") + "jobSetController: external\n"},
		"no groups":             {values: "configuration: {muster: {groupScheduling: false}}", config: kueue("") + "groupScheduling: false\n"},
		"no JobSet CRD":         {values: "configuration: {muster: {patchJobSetDefinition: false}}", config: kueue("") + "patchJobSetDefinition: false\n"},
		"deny":                  {values: "configuration: {muster: {unqueuedKinds: Deny}}", config: kueue("") + "unqueuedKinds: Deny\n"},
		"no pod reasons":        {values: "configuration: {muster: {podReasons: false}}", config: kueue("") + "podReasons: false\n"},
		"watch nodes":           {values: "configuration: {muster: {watchNodes: true}}", config: kueue("") + "watchNodes: true\n"},
		"no waiting for pods":   {values: "configuration: {kueue: {featureGates: {DisableWaitForPodsReady: true}}}", config: kueue("featureGates: {DisableWaitForPodsReady: true}\n")},
		"fair sharing":          {values: "configuration: {kueue: {fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}}}", config: kueue("fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n")},
		"aggregated visibility": {values: "configuration: {muster: {aggregatedVisibility: true}}", config: kueue("") + "aggregatedVisibility: true\n"},
		"aggregated visibility at another port": {values: "configuration: {kueue: {visibilityServer: {bindPort: 9082}}, muster: {aggregatedVisibility: true, jobSetController: native}}",
			config: kueue("visibilityServer: {bindPort: 9082}\n") + "aggregatedVisibility: true\njobSetController: native\n"},
		"another Secret": {values: "configuration: {kueue: {internalCertManagement: {webhookSecretName: other}}}", config: strings.Replace(kueue(""), "muster-webhook-cert", "other", 1)},
		"another Lease":  {values: "configuration: {kueue: {leaderElection: {resourceName: other}}}", config: kueue("leaderElection: {leaderElect: true, resourceName: other}\n")},
		"described kinds": {values: "configuration: {kueue: {integrations: {frameworks: [batch/job, ray.io/rayjob, trainer.kubeflow.org/trainjob]}}}",
			config: strings.Replace(kueue(""), "jobset.x-k8s.io/jobset", "ray.io/rayjob, trainer.kubeflow.org/trainjob", 1)},
		"described kinds and pods and what serves": {values: "configuration: {kueue: {integrations: {frameworks: [batch/job, pod, deployment, statefulset, leaderworkerset.x-k8s.io/leaderworkerset]}}}",
			config: strings.Replace(kueue(""), "jobset.x-k8s.io/jobset", "pod, deployment, statefulset, leaderworkerset.x-k8s.io/leaderworkerset", 1)},
		"described kinds that are deleted": {values: "configuration: {kueue: {integrations: {frameworks: [kubeflow.org/mpijob]}, objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1h}}}}",
			config: strings.Replace(kueue("objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1h}}\n"), "batch/job, jobset.x-k8s.io/jobset", "kubeflow.org/mpijob", 1)},
		"retention": {values: "configuration: {kueue: {objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1h}}}}",
			config: kueue("objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1h}}\n")},
	} {
		t.Run(name, func(t *testing.T) {
			flags := one.flags
			if one.config != "" {
				flags = append(flags, "--config", harness.WriteFile(t, "config.yaml", one.config))
			}
			wanted, made := byName(t, harness.Manifests(t, flags...)), rendered(t, one.values)
			delete(wanted, "Namespace /muster-system") // is Helm's --create-namespace
			for name, object := range wanted {
				if made[name] == nil {
					t.Errorf("the chart has no %s", name)
					continue
				}
				if object.GetKind() == "ValidatingAdmissionPolicyBinding" && strings.HasPrefix(t.Name(), "TestChartInstallsWhatTheManifestsDo/described") {
					delete(made, name)
					continue // which kinds it passes over is what muster writes when it starts
				}
				want, have := asManifest(t, object), asManifest(t, made[name])
				if object.GetKind() == "ConfigMap" && one.config != "" {
					continue // the file's text; the values are in it as they are
				}
				if !reflect.DeepEqual(want, have) {
					t.Errorf("%s is\n%s\nand not\n%s", name, asYAML(t, have), asYAML(t, want))
				}
				delete(made, name)
			}
			delete(made, "ConfigMap muster-system/muster-config")
			for name := range made {
				t.Errorf("only the chart has %s", name)
			}
		})
	}
}

func asYAML(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	harness.Must(t, err)
	return string(text)
}

// Every value acts: what it changes in which object.
func TestChartValuesAct(t *testing.T) {
	const deployment = "Deployment muster-system/muster"
	for values, want := range map[string]struct{ object, text string }{
		"replicas: 3": {deployment, "replicas: 3"},
		"image: {digest: \"sha256:" + strings.Repeat("a", 64) + "\"}":                        {deployment, "image: muster@sha256:aaaa"},
		"image: {pullPolicy: Always}":                                                        {deployment, "imagePullPolicy: Always"},
		"image: {pullSecrets: [one]}":                                                        {deployment, "imagePullSecrets:\n      - name: one"},
		"resources: {limits: {memory: 128Mi}}":                                               {deployment, "memory: 128Mi"},
		"nodeSelector: {a: b}":                                                               {deployment, "nodeSelector:\n        a: b"},
		"tolerations: [{operator: Exists}]":                                                  {deployment, "tolerations:\n      - operator: Exists"},
		"affinity: {podAntiAffinity: {}}":                                                    {deployment, "affinity:\n        podAntiAffinity: {}"},
		"topologySpreadConstraints: [{maxSkew: 7}]":                                          {deployment, "maxSkew: 7"},
		"priorityClassName: system-cluster-critical":                                         {deployment, "priorityClassName: system-cluster-critical"},
		"podAnnotations: {a: c}":                                                             {deployment, "a: c"},
		"podLabels: {a: d}":                                                                  {deployment, "a: d"},
		"extraEnv: [{name: A, value: e}]":                                                    {deployment, "- name: A\n          value: e"},
		"shutdownDelay: 9s":                                                                  {deployment, "--shutdown-delay=9s"},
		"certManager: {enabled: true}":                                                       {"Certificate muster-system/muster", "muster-webhook.muster-system.svc"},
		"certManager: {enabled: true, issuerRef: {kind: ClusterIssuer, name: f}}":            {"Certificate muster-system/muster", "kind: ClusterIssuer\n    name: f"},
		"{certManager: {enabled: true}, podLabels: {}}":                                      {deployment, "secretName: muster-webhook-cert"},
		"crds: {jobset: true}":                                                               {"CustomResourceDefinition /jobsets.jobset.x-k8s.io", "helm.sh/resource-policy: keep"},
		"{crds: {jobset: true, keep: true}, replicas: 1}":                                    {"CustomResourceDefinition /workloads.kueue.x-k8s.io", "helm.sh/resource-policy: keep"},
		"serviceMonitor: {enabled: true}":                                                    {"ServiceMonitor muster-system/muster", "honorLabels: true"},
		"serviceMonitor: {enabled: true, labels: {g: h}, interval: 7s}":                      {"ServiceMonitor muster-system/muster", "interval: 7s"},
		"{serviceMonitor: {enabled: true, labels: {g: h}}}":                                  {"ServiceMonitor muster-system/muster", "g: h"},
		"prometheusRule: {enabled: true, labels: {i: j}}":                                    {"PrometheusRule muster-system/muster", "i: j"},
		"prometheusRule: {enabled: true}":                                                    {"PrometheusRule muster-system/muster", "alert: MusterNoLeader"},
		"dashboards: {enabled: true}":                                                        {"ConfigMap muster-system/muster-dashboard-queues", "grafana_dashboard: \"1\""},
		"dashboards: {enabled: true, labels: {k: l}}":                                        {"ConfigMap muster-system/muster-dashboard-team", "k: l"},
		"configuration: {kueue: {manageJobsWithoutQueueName: true}}":                         {"ConfigMap muster-system/muster-config", "manageJobsWithoutQueueName: true"},
		"configuration: {muster: {logFormat: text}}":                                         {"ConfigMap muster-system/muster-config", "logFormat: text"},
		"{certManager: {enabled: true}, configuration: {kueue: {webhook: {host: 0.0.0.0}}}}": {"ConfigMap muster-system/muster-config", "certDir: /etc/muster-certificates\n      host: 0.0.0.0"},
	} {
		object := rendered(t, values)[want.object]
		if object == nil || !strings.Contains(asYAML(t, object.Object), want.text) {
			t.Errorf("%s: %s has no %q", values, want.object, want.text)
		}
	}
	usual := rendered(t, "")
	for values, gone := range map[string]string{
		"crds: {enabled: false}":                "CustomResourceDefinition /workloads.kueue.x-k8s.io",
		"userRoles: {enabled: false}":           "ClusterRole /muster-batch-user",
		"networkPolicy: {enabled: false}":       "NetworkPolicy muster-system/muster",
		"podDisruptionBudget: {enabled: false}": "PodDisruptionBudget muster-system/muster",
		"webhooks: {enabled: false}":            "MutatingWebhookConfiguration /muster",
		"{webhooks: {enabled: false}}":          "ValidatingWebhookConfiguration /muster",
	} {
		if usual[gone] == nil || rendered(t, values)[gone] != nil {
			t.Errorf("%s changes nothing about %s", values, gone)
		}
	}
	const aggregated = "configuration: {muster: {aggregatedVisibility: true}}\n"
	const api = "APIService /v1beta2.visibility.kueue.x-k8s.io"
	if rendered(t, aggregated)[api] == nil || rendered(t, aggregated+"webhooks: {enabled: false}")[api] != nil {
		t.Error("webhooks.enabled: false changes nothing about the aggregated API")
	}
	const flow, limits = "FlowSchema /muster-visibility", "visibilityFlowControl: {enabled: true}"
	if rendered(t, aggregated)[flow] != nil || rendered(t, limits)[flow] != nil || rendered(t, aggregated+limits)[flow] == nil {
		t.Error("visibilityFlowControl does not add the FlowSchema of the aggregated API, or adds it alone")
	}
	const crd = "CustomResourceDefinition /workloads.kueue.x-k8s.io"
	if usual[crd].GetAnnotations()["helm.sh/resource-policy"] != "keep" {
		t.Error("by default the CRDs are not kept")
	}
	if kept, found := rendered(t, "crds: {keep: false}")[crd].GetAnnotations()["helm.sh/resource-policy"]; found {
		t.Errorf("crds.keep: false has the policy %q", kept)
	}
	// With cert-manager muster needs no right on Secrets.
	own := rendered(t, "certManager: {enabled: true}")["Role muster-system/muster"]
	if text := asYAML(t, own.Object); strings.Contains(text, "secrets") || !strings.Contains(text, "leases") {
		t.Errorf("with cert-manager its Role is\n%s", text)
	}
	// Another configuration is another set of pods.
	if reflect.DeepEqual(usual[deployment].Object, rendered(t, "configuration: {muster: {logFormat: text}}")[deployment].Object) {
		t.Error("another configuration is the same Deployment")
	}
}

// The NetworkPolicy opens each port to all addresses, because the API server's is no pod's in general, and narrows exactly the
// port that a value names. TestTheNetworkPolicyIsEnforced has a network enforce it.
func TestChartNarrowsTheNetworkPolicy(t *testing.T) {
	const webhookFrom, metricsFrom = "webhookFrom: [{ipBlock: {cidr: 10.0.0.0/28}}]",
		"metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]"
	const all, webhook, metrics = "all", "[map[ipBlock:map[cidr:10.0.0.0/28]]]",
		"[map[namespaceSelector:map[matchLabels:map[kubernetes.io/metadata.name:monitoring]]]]"
	const aggregated = "configuration: {muster: {aggregatedVisibility: true}}\n"
	for values, want := range map[string]map[string]string{
		"":                                     {"webhook": all, "metrics": all},
		"networkPolicy: {" + webhookFrom + "}": {"webhook": webhook, "metrics": all},
		"networkPolicy: {" + metricsFrom + "}": {"webhook": all, "metrics": metrics},
		aggregated + "networkPolicy: {" + metricsFrom + "}":                {"webhook": all, "metrics": metrics, "visibility": all},
		aggregated + "networkPolicy: {" + webhookFrom + "}":                {"webhook": webhook, "metrics": all, "visibility": webhook},
		"networkPolicy: {" + webhookFrom + ", " + metricsFrom + "}":        {"webhook": webhook, "metrics": metrics},
		"networkPolicy: {webhookFrom: [], metricsFrom: []}":                {"webhook": all, "metrics": all},
		aggregated + "networkPolicy: {enabled: true, " + metricsFrom + "}": {"webhook": all, "metrics": metrics, "visibility": all},
	} {
		policy := rendered(t, values)["NetworkPolicy muster-system/muster"]
		rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "ingress")
		harness.Must(t, err)
		open := map[string]string{}
		for _, rule := range rules {
			rule := rule.(map[string]any)
			from := all
			if peers, found := rule["from"]; found {
				from = fmt.Sprint(peers)
			}
			for _, port := range rule["ports"].([]any) {
				open[fmt.Sprint(port.(map[string]any)["port"])] = from
			}
		}
		if !maps.Equal(open, want) {
			t.Errorf("%q opens %v and not %v", values, open, want)
		}
	}
}

func TestChartRefusesWrongValues(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: two":                      "replicas",
		"replicas: 0":                        "replicas",
		"replica: 2":                         "replica",
		"image: {name: muster}":              "name",
		"image: {digest: sha256:1}":          "digest",
		"crds: {keep: yes please}":           "keep",
		"networkPolicy: {metricsFrom: [{}]}": "metricsFrom",
		"networkPolicy: {webhookFrom: [{namespace: monitoring}]}":      "namespace",
		"networkPolicy: {webhookFrom: {ipBlock: {cidr: 10.0.0.0/28}}}": "webhookFrom",
		"shutdownDelay: soon":                                                                                       "shutdownDelay",
		"webhooks: {enabled: later}":                                                                                "enabled",
		"certManager: {enabled: 1}":                                                                                 "enabled",
		"configuration: {muster: {unqueuedKinds: Refuse}}":                                                          "unqueuedKinds",
		"configuration: {muster: {suspendguard: enforce}}":                                                          "suspendguard",
		"configuration: {muster: {jobSetController: both}}":                                                         "jobSetController",
		"configuration: {kueue: {kind: Configuration}}":                                                             "kind",
		"configuration: {kueue: {leaderElection: {resourceNamespace: elsewhere}}}":                                  "muster has its rights in the namespace of the release, muster-system, and not in elsewhere",
		"configuration: {kueue: {internalCertManagement: {webhookServiceName: kueue}}}":                             "must be muster-webhook, the Service of the release",
		"configuration: {kueue: {internalCertManagement: {enable: false}}}":                                         "set certManager.enabled",
		"configuration: {kueue: {metrics: {bindAddress: \":9999\"}}}":                                               "the Services and probes of the release want port 8443",
		"configuration: {kueue: {health: {healthProbeBindAddress: \":9999\"}}}":                                     "the Services and probes of the release want port 8081",
		"configuration: {kueue: {webhook: {port: 9999}}}":                                                           "the Services of the release want port 9443",
		"configuration: {muster: {aggregatedVisibility: 1}}":                                                        "aggregatedVisibility",
		"configuration: {kueue: {featureGates: {VisibilityOnDemand: false}}, muster: {aggregatedVisibility: true}}": "the feature gate VisibilityOnDemand is false",
		"configuration: {muster: {webhookClientCAFile: /ca.crt}}":                                                   "the chart mounts no such file",
		"configuration: {muster: {metricsCertDir: /metrics}}":                                                       "the chart mounts no such folder",
	} {
		_, err := harness.Helm(t, values, "template", "muster", harness.Chart, "--namespace", "muster-system")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: helm says %v and not %q", values, err, want)
		}
	}
}

func TestChartHasNoFindingOfHelmsLint(t *testing.T) {
	for _, values := range []string{"", "{certManager: {enabled: true}, serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboards: {enabled: true}, crds: {jobset: true}}"} {
		output, err := harness.Helm(t, values, "lint", "--strict", harness.Chart)
		if err != nil {
			t.Errorf("helm lint: %v\n%s", err, output)
		}
	}
}
