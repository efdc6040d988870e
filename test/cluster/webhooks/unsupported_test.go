package webhooks

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// What objects ask for and muster does not do is answered: a Workload waits with the reason, or
// the object is refused, by kubectl and by clients that do not validate strictly.
func TestWhatMusterDoesNotDoIsAnswered(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=10"))
	teams.Job("a", "rack", 1, "1", func(job *batchv1.Job) {
		job.Spec.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": "cloud.com/rack"}
	})
	teams.Job("a", "device", 1, "1", func(job *batchv1.Job) {
		claim := "gpu"
		job.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &claim}}
		job.Spec.Template.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	})
	teams.Waits("rack", "NoMatchingFlavor", `Flavor "`+teams.Name("f")+`" does not support TopologyAwareScheduling`)
	teams.Waits("device", "Misconfigured", "the pods claim devices (resourceClaims), and muster does not count devices")
	teams.Job("a", "plain", 1, "1")
	teams.Admitted("plain")

	t.Run("refused", func(t *testing.T) { refusedInBothVersions(t, cluster, teams) })
}

func refusedInBothVersions(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	groups := teams.Cpus("f=1")["resourceGroups"]
	queue := func(field string, value any, path ...string) map[string]any {
		spec := map[string]any{"resourceGroups": groups}
		harness.Must(t, unstructured.SetNestedField(spec, value, append(path, field)...))
		return spec
	}
	policy := map[string]any{"migration": map[string]any{"mode": "TryPreferredFlavors"}}
	scope := map[string]any{"admissionMode": "UsageBasedAdmissionFairSharing"}
	share := map[string]any{"clusterQueue": teams.Name("a"), "fairSharing": map[string]any{"weight": "2"}}
	for _, row := range []struct {
		name, version, kind, resource, field string
		spec                                 map[string]any
	}{
		{"scope", harness.OldVersion, "ClusterQueue", "clusterqueues", "spec.admissionScope", queue("admissionScope", scope)},
		{"scope", harness.NewVersion, "ClusterQueue", "clusterqueues", "spec.admissionScope", queue("admissionScope", scope)},
		{"policy", harness.OldVersion, "ClusterQueue", "clusterqueues", "spec.concurrentAdmissionPolicy",
			queue("concurrentAdmissionPolicy", policy)},
		{"policy", harness.NewVersion, "ClusterQueue", "clusterqueues", "spec.concurrentAdmissionPolicy",
			queue("concurrentAdmissionPolicy", policy)},
		{"share", harness.OldVersion, "LocalQueue", "localqueues", "spec.fairSharing", share},
		{"share", harness.NewVersion, "LocalQueue", "localqueues", "spec.fairSharing", share},
	} {
		namespace := ""
		if row.kind == "LocalQueue" {
			namespace = teams.Namespace
		}
		object := harness.QueueObjectIn(row.version, row.kind, teams.Name(row.name), row.spec)
		_, err := harness.InVersion(cluster, row.version, row.resource, namespace).Create(context.Background(), object, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), row.field) {
			t.Errorf("%s of %s by a client: %v", row.name, row.version, err)
		}
		object.SetNamespace(namespace)
		if _, err := cluster.TryKubectl(harness.ToJSON(t, object.Object), "apply", "-f", "-"); err == nil || !strings.Contains(err.Error(), row.field) {
			t.Errorf("%s of %s by kubectl: %v", row.name, row.version, err)
		}
	}
	job := harness.Job("elsewhere", harness.Queue("a"))
	manager := "kueue.x-k8s.io/multikueue"
	job.Spec.ManagedBy = &manager
	_, err := cluster.Client.BatchV1().Jobs(teams.Namespace).Create(harness.Context(t), job, harness.ForReal)
	if err == nil || !strings.Contains(err.Error(), "muster does not send jobs to other clusters") {
		t.Errorf("a Job for another cluster: %v", err)
	}
	// Without a share a LocalQueue passes no webhook.
	cluster.Create(t, harness.LocalQueues, teams.Namespace, harness.LocalQueueOf("plain", teams.Name("a")))
}

// The pods of an elastic Job run on a real kubelet, so they have no gate that would stay; a Job can grow only if the
// same request suspends it, and is queued again.
func TestElasticJobsRunAndQueueAgainWhenTheyGrow(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartQueueMuster(t)
	teams := cluster.Teams(t)
	teams.RealFlavor("f")
	teams.Queue("a", teams.Cpus("f=20m"))
	teams.Job("a", "train", 1, "10m", func(job *batchv1.Job) {
		job.Annotations = map[string]string{"kueue.x-k8s.io/elastic-job": "true"}
		job.Spec.Completions = nil
		resources := job.Spec.Template.Spec.Containers[0].Resources
		job.Spec.Template = harness.RealPod("sleep 600")
		job.Spec.Template.Spec.Containers[0].Resources = resources
	})
	pods := cluster.WaitForPods(t, teams.Namespace, "train", 1, time.Minute, "running", harness.Phase(corev1.PodRunning))
	if gates := pods[0].Spec.SchedulingGates; len(gates) > 0 {
		t.Errorf("its pod has the gates %v", gates)
	}
	jobs := cluster.Client.BatchV1().Jobs(teams.Namespace)
	_, err := jobs.Patch(harness.Context(t), "train", types.MergePatchType, []byte(`{"spec":{"parallelism":2}}`), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), "to requeue it") {
		t.Errorf("it grows while it runs: %v", err)
	}
	resize := func(parallelism string) {
		t.Helper()
		teams.Kubectl("patch", "job", "train", "--type", "merge", "-p", `{"spec":{"suspend":true,"parallelism":`+parallelism+`}}`)
	}
	resize("2")
	cluster.WaitForPods(t, teams.Namespace, "train", 2, time.Minute, "running, after it has queued again", func(pod *corev1.Pod) bool {
		return harness.IsRunning(pod) && pod.DeletionTimestamp == nil && pod.UID != pods[0].UID
	})
	teams.Await("train", "counts both pods", harness.HasCondition("Admitted", "True", ""), func(workload *unstructured.Unstructured) error {
		return harness.FieldIs(int64(2), "count")(&unstructured.Unstructured{Object: harness.ObjectsAt(workload.Object, "spec", "podSets")[0]})
	})
	resize("3")
	teams.Waits("train", "ExceedsMaxQuota")
	cluster.WaitForPods(t, teams.Namespace, "train", 0, time.Minute, "gone", harness.IsRunning)
}
