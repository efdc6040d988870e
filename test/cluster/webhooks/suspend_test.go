package webhooks

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

func TestQueuedJobIsCreatedSuspended(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	jobs := cluster.Client.BatchV1().Jobs(namespace)
	ctx := harness.Context(t)

	for _, how := range []metav1.CreateOptions{harness.DryRun, harness.ForReal} {
		made, err := jobs.Create(ctx, harness.Job("queued", harness.Queue("some")), how)
		harness.Must(t, err)
		if !harness.Suspended(made) {
			t.Errorf("created %v: not suspended", how.DryRun)
		}
	}
	stored, err := jobs.Get(ctx, "queued", metav1.GetOptions{})
	harness.Must(t, err)
	if !harness.Suspended(stored) {
		t.Error("as stored: not suspended")
	}
	listed, err := jobs.List(ctx, metav1.ListOptions{})
	harness.Must(t, err)
	if len(listed.Items) != 1 {
		t.Errorf("%d Jobs after one dry run and one create", len(listed.Items))
	}
	// Once the Job controller says so, it has seen the Job.
	cluster.WaitForJob(t, namespace, "queued", time.Minute, batchv1.JobSuspended)
	pods, err := cluster.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	harness.Must(t, err)
	if len(pods.Items) != 0 {
		t.Errorf("a suspended Job has %d pods", len(pods.Items))
	}
}

func TestJobWithoutQueueIsLeftAlone(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	jobs := cluster.Client.BatchV1().Jobs(cluster.Namespace(t, nil))

	for _, how := range []metav1.CreateOptions{harness.DryRun, harness.ForReal} {
		made, err := jobs.Create(harness.Context(t), harness.Job("free", nil), how)
		harness.Must(t, err)
		if harness.Suspended(made) {
			t.Errorf("created %v: suspended", how.DryRun)
		}
	}
}

func TestApplyingAQueuedJobAgainIsHarmless(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	manifest := harness.ToJSON(t, harness.Job("applied", harness.Queue("some")))

	cluster.Kubectl(t, manifest, "apply", "-n", namespace, "-f", "-")
	first := harness.KubectlGet(t, cluster, namespace, "job", "applied")
	said := cluster.Kubectl(t, manifest, "apply", "-n", namespace, "-f", "-")
	if !strings.Contains(said, "unchanged") {
		t.Errorf("the second apply said %q", said)
	}
	second := harness.KubectlGet(t, cluster, namespace, "job", "applied")
	if harness.Essence(t, first) != harness.Essence(t, second) {
		t.Errorf("the second apply changed\n%s\nto\n%s", harness.Essence(t, first), harness.Essence(t, second))
	}
	if first.Object["spec"].(map[string]any)["suspend"] != true {
		t.Error("not suspended")
	}
}

func TestServerSideApplyOfAQueuedJobAgainGivesNoDiff(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	manifest := harness.ToJSON(t, harness.Job("applied", harness.Queue("some")))
	apply := []string{"apply", "--server-side", "-n", namespace, "-f", "-"}

	cluster.Kubectl(t, manifest, apply...)
	first := harness.KubectlGet(t, cluster, namespace, "job", "applied")
	cluster.Kubectl(t, manifest, apply...)
	second := harness.KubectlGet(t, cluster, namespace, "job", "applied")
	if harness.Essence(t, first) != harness.Essence(t, second) {
		t.Errorf("the second apply changed\n%s\nto\n%s", harness.Essence(t, first), harness.Essence(t, second))
	}
	if second.Object["spec"].(map[string]any)["suspend"] != true {
		t.Error("not suspended")
	}
}

// Whoever goes over to server-side apply sends the same manifest as before.
// kubectl then gives the fields of the client-side apply to the new manager, with
// them the suspend that muster had set, and applies once more: the manifest does
// not name suspend, so the server removes it, and that starts the Job. Such an UPDATE has suspend
// false, and no manager in managedFields owns it; a user who starts a Job by hand always does own
// it.
func TestGoingOverToServerSideApplyKeepsAQueuedJobSuspended(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	manifest := harness.ToJSON(t, harness.Job("applied", harness.Queue("some")))

	cluster.Kubectl(t, manifest, "apply", "-n", namespace, "-f", "-")
	for range 2 {
		cluster.Kubectl(t, manifest, "apply", "--server-side", "--force-conflicts", "-n", namespace, "-f", "-")
	}
	stored := harness.KubectlGet(t, cluster, namespace, "job", "applied")
	if stored.Object["spec"].(map[string]any)["suspend"] != true {
		t.Error("the Job was started")
	}
}

func TestQueuedJobSetIsCreatedSuspended(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	jobSet := harness.JobSet("queued", "workers")
	jobSet.SetLabels(harness.Queue("some"))
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))

	made, err := client.Create(harness.Context(t), jobSet, harness.ForReal)
	harness.Must(t, err)
	if made.Object["spec"].(map[string]any)["suspend"] != true {
		t.Error("not suspended")
	}
}
