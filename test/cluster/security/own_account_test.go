package security

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"muster.batch/test/cluster/harness"
)

// With muster's own service account, as the manifests make it, no user becomes an administrator.

// gangMap is a ConfigMap as muster makes it, but for what differs.
func gangMap(name, namespace, labels, owner string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q, "namespace": %q, "labels": {%s},
		"ownerReferences": [{"apiVersion": "batch/v1", "kind": %q, "name": "gone", "uid": "gone", "controller": true}]}}`, name, namespace, labels, owner)
}

func childJob(namespace, owner, account string) string {
	return fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "child", "namespace": %q, "ownerReferences": [
		{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": %q, "name": "gone", "uid": "gone", "controller": true}]}, "spec": {"suspend": true, "template":
		{"spec": {"serviceAccountName": %q, "restartPolicy": "Never", "containers": [{"name": "c", "image": "c"}]}}}}`, namespace, owner, account)
}

// plainJob is in no queue, and stays until its finalizer is removed.
func plainJob(name string) string {
	return fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": %q, "finalizers": ["example.com/held"]}, "spec": {"suspend": true,
		"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c"}]}}}}`, name)
}

func childService(namespace, address string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "child", "namespace": %q, "ownerReferences": [
		{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "gone", "uid": "gone", "controller": true}]},
		"spec": {%s "selector": {"a": "b"}, "ports": [{"port": 80}]}}`, namespace, address)
}

func claimOf(namespace, labels string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "claim", "namespace": %q, "labels": {%s}},
		"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}`, namespace, labels)
}

// secondRule adds a rule to the first webhook.
func secondRule(group, resource, operation string) string {
	return fmt.Sprintf(`[{"op": "add", "path": "/webhooks/0/rules/-", "value": {"apiGroups": [%q], "apiVersions": ["*"],
		"resources": [%q], "operations": [%q], "scope": "*"}}]`, group, resource, operation)
}

// request is what a user sends with muster's rights.
type request struct{ verb, path, body string }

func (r request) try(t *testing.T, muster kubernetes.Interface) error {
	t.Helper()
	kinds := map[string]string{"POST": "application/json", "PATCH": "application/merge-patch+json", "DELETE": "application/json"}
	kind := kinds[r.verb]
	if strings.HasPrefix(r.body, "[") {
		kind = "application/json-patch+json"
	}
	return muster.CoreV1().RESTClient().Verb(r.verb).AbsPath(r.path).Param("dryRun", "All").SetHeader("Content-Type", kind).
		Body([]byte(r.body)).Do(harness.Context(t)).Error()
}

// attacks by the name of what they are after. The namespace has a ConfigMap and a pod of a user.
func attacks(ns string) map[string]request {
	const label = `"muster.batch/group-scheduling": "true"`
	const system, hooks = "/api/v1/namespaces/kube-system/", "/apis/admissionregistration.k8s.io/v1/"
	core, jobs := "/api/v1/namespaces/"+ns+"/", "/apis/batch/v1/namespaces/"
	return map[string]request{
		"the API server's authentication": {"PATCH", system + "configmaps/extension-apiserver-authentication", `{"data":{"a":"b"}}`},
		"a map of administrators":         {"POST", system + "configmaps", gangMap("aws-auth", "kube-system", label, "Job")},
		"a gang in kube-system":           {"POST", system + "configmaps", gangMap("a-group-scheduling", "kube-system", label, "Job")},
		"a ConfigMap of any name":         {"POST", core + "configmaps", gangMap("settings", ns, label, "Job")},
		"one without the label":           {"POST", core + "configmaps", gangMap("a-group-scheduling", ns, "", "Job")},
		"one of no job":                   {"POST", core + "configmaps", gangMap("a-group-scheduling", ns, label, "Deployment")},
		"a user's ConfigMap":              {"PATCH", core + "configmaps/mine-group-scheduling", `{"metadata":{"labels":{` + label + `}}}`},
		"its end":                         {"DELETE", core + "configmaps/mine-group-scheduling", "{}"},
		"a Job in kube-system":            {"POST", jobs + "kube-system/jobs", childJob("kube-system", "JobSet", "clusterrole-aggregation-controller")},
		"a Job of no JobSet":              {"POST", jobs + ns + "/jobs", childJob(ns, "Other", "default")},
		"a Service with an address":       {"POST", core + "services", childService(ns, "")},
		"a user's Job in no queue":        {"DELETE", jobs + ns + "/jobs/plain", "{}"},
		"a claim of no JobSet":            {"POST", core + "persistentvolumeclaims", claimOf(ns, "")},
		"a user's pod":                    {"PATCH", core + "pods/plain", `{"metadata":{"labels":{` + label + `}}}`},
		"its status":                      {"PATCH", core + "pods/plain/status", `{"status":{"message":"m"}}`},
		"its deletion":                    {"DELETE", core + "pods/plain", "{}"},
		"Secrets to its webhook":          {"PATCH", hooks + "validatingwebhookconfigurations/muster", secondRule("", "secrets", "CREATE")},
		"everything to its webhook":       {"PATCH", hooks + "mutatingwebhookconfigurations/muster", secondRule("*", "*", "CREATE")},
		"roles to its webhook":            {"PATCH", hooks + "validatingwebhookconfigurations/muster", secondRule("rbac.authorization.k8s.io", "clusterroles", "UPDATE")},
		"deletions to its webhook":        {"PATCH", hooks + "validatingwebhookconfigurations/muster", secondRule("batch", "jobs", "DELETE")},
	}
}

func TestATokenOfMusterMakesNobodyAnAdministrator(t *testing.T) {
	cluster := harness.Connect(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml",
		harness.NamesOfTheManifests+"integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, pod]}\n"),
		"--jobset-controller=native")
	policy := harness.Manifests(t, "--only=policies")
	cluster.Kubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, policy, "delete", "-f", "-") })
	harness.StartMuster(t, "--jobset-controller", "native")
	ns := cluster.Namespace(t, nil)
	harness.Must(t, harness.CreatePod(harness.Context(t), cluster.Client, ns, "plain"))
	harness.Must(t, harness.CreateConfigMap(harness.Context(t), cluster.Client, ns, "mine-group-scheduling"))
	for _, job := range []string{"plain", "going"} {
		cluster.Kubectl(t, plainJob(job), "create", "-n", ns, "-f", "-")
	}
	cluster.Kubectl(t, "", "delete", "job", "going", "-n", ns, "--wait=false")
	t.Cleanup(func() {
		cluster.Kubectl(t, "", "patch", "job", "plain", "going", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	})

	muster := harness.Impersonate(t, cluster, "system:serviceaccount:muster-system:muster", "system:serviceaccounts", "system:authenticated")
	harness.Eventually(t, 30*time.Second, "the policy acts", func() error {
		if attacks(ns)["a map of administrators"].try(t, muster) == nil {
			return fmt.Errorf("a ConfigMap in kube-system can be created")
		}
		return nil
	})
	for name, attack := range attacks(ns) {
		if err := attack.try(t, muster); err == nil || !strings.Contains(err.Error(), "the service account of muster can") {
			t.Errorf("%s: %v", name, err)
		}
	}
	core := "/api/v1/namespaces/" + ns + "/"
	for name, needed := range map[string]request{
		"a gang's ConfigMap":        {"POST", core + "configmaps", gangMap("a-group-scheduling", ns, `"muster.batch/group-scheduling": "true"`, "JobSet")},
		"a JobSet's Job":            {"POST", "/apis/batch/v1/namespaces/" + ns + "/jobs", childJob(ns, "JobSet", "default")},
		"a Job that a user deleted": {"DELETE", "/apis/batch/v1/namespaces/" + ns + "/jobs/going", `{"propagationPolicy": "Foreground"}`},
		"its Service":               {"POST", core + "services", childService(ns, `"clusterIP": "None",`)},
		"its claim":                 {"POST", core + "persistentvolumeclaims", claimOf(ns, `"jobset.sigs.k8s.io/jobset-name": "a"`)},
		"a kind that a configuration describes": {"PATCH", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/muster",
			secondRule("example.test", "jobs", "CREATE")},
	} {
		if err := needed.try(t, muster); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Others are not meant.
	cluster.Kubectl(t, gangMap("settings", ns, "", "Deployment"), "create", "--dry-run=server", "-f", "-")
}
