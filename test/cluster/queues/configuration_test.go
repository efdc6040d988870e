package queues

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// becomes polls what a dry run of an unlabelled Job gives, until it is so.
// muster follows LocalQueues and its configuration, and the API server follows
// the webhook entries that muster writes: neither happens at once.
func becomes(t *testing.T, cluster *harness.Cluster, namespace, what string, holds func(*batchv1.Job) bool) {
	t.Helper()
	ctx := harness.Context(t)
	harness.Eventually(t, 15*time.Second, what, func() error {
		made, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, harness.Job("unlabelled", nil), harness.DryRun)
		if err == nil && !holds(made) {
			err = fmt.Errorf("suspend is %v, labels are %v", made.Spec.Suspend != nil && *made.Spec.Suspend, made.Labels)
		}
		return err
	})
}

func untouched(job *batchv1.Job) bool {
	return !harness.Suspended(job) && job.Labels[harness.QueueLabel] == ""
}

func TestDefaultLocalQueueTakesUnlabelledJobs(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	with, without := cluster.Namespace(t, nil), cluster.Namespace(t, nil)
	queues := cluster.Resource(t, harness.KueueGroup, "LocalQueue", with)
	ctx := harness.Context(t)
	becomes(t, cluster, with, "before the queue exists, the Job is left alone", untouched)

	queue := &unstructured.Unstructured{Object: map[string]any{
		"kind": "LocalQueue", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"clusterQueue": "everything"},
	}}
	queue.SetAPIVersion(cluster.Version(t, harness.KueueGroup, "LocalQueue"))
	_, err := queues.Create(ctx, queue, harness.ForReal)
	harness.Must(t, err)

	becomes(t, cluster, with, "the Job is put into the default queue and suspended", func(job *batchv1.Job) bool {
		return harness.Suspended(job) && job.Labels[harness.QueueLabel] == "default"
	})
	becomes(t, cluster, without, "another namespace is left alone", untouched)
	harness.Must(t, queues.Delete(ctx, "default", metav1.DeleteOptions{}))
	becomes(t, cluster, with, "when the queue is gone, the Job is left alone", untouched)
}

func TestManageJobsWithoutQueueNameSuspendsEveryJobOfItsNamespaces(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector:
  matchLabels:
    muster-test: managed
`)
	harness.StartMuster(t, "--config", config)
	managed := cluster.Namespace(t, map[string]string{"muster-test": "managed"})
	other := cluster.Namespace(t, nil)

	becomes(t, cluster, managed, "a managed namespace's Job is suspended", func(job *batchv1.Job) bool {
		return harness.Suspended(job) && job.Labels[harness.QueueLabel] == ""
	})
	becomes(t, cluster, other, "another namespace is left alone", untouched)
	made, err := cluster.Client.BatchV1().Jobs(managed).Create(harness.Context(t), harness.Job("real", nil), harness.ForReal)
	harness.Must(t, err)
	if !harness.Suspended(made) {
		t.Error("a real create was not suspended")
	}
}

func TestQueuedJobCannotBeUnsuspendedByHand(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t, "--config", suspendGuard(t, "enforce"))
	namespace := cluster.Namespace(t, nil)
	jobs := cluster.Client.BatchV1().Jobs(namespace)
	ctx := harness.Context(t)
	for name, labels := range map[string]map[string]string{"queued": harness.Queue("some"), "free": nil} {
		job := harness.Job(name, labels)
		job.Spec.Suspend = new(bool)
		*job.Spec.Suspend = true
		_, err := jobs.Create(ctx, job, harness.ForReal)
		harness.Must(t, err)
	}

	harness.Rejected(t, func(ctx context.Context) error {
		_, err := jobs.Patch(ctx, "queued", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), harness.DryRunPatch)
		return err
	}, "spec.suspend")
	_, err := cluster.TryKubectl("", "patch", "job", "queued", "-n", namespace, "-p", `{"spec":{"suspend":false}}`)
	if err == nil {
		t.Error("kubectl patch could start it")
	}
	if _, err := jobs.Patch(ctx, "free", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("a Job without a queue could not be started: %v", err)
	}
}

func TestObservingSuspendGuardLetsTheUserStartAJob(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t, "--config", suspendGuard(t, "observe"))
	jobs := cluster.Client.BatchV1().Jobs(cluster.Namespace(t, nil))
	ctx := harness.Context(t)
	_, err := jobs.Create(ctx, harness.Job("queued", harness.Queue("some")), harness.ForReal)
	harness.Must(t, err)

	started, err := jobs.Patch(ctx, "queued", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	harness.Must(t, err)
	if harness.Suspended(started) {
		t.Error("still suspended")
	}
}

// suspendGuard is a configuration file: Kueue's document, then muster's own.
func suspendGuard(t *testing.T, mode string) string {
	return harness.WriteFile(t, "config.yaml", `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
---
apiVersion: config.muster.batch/v1alpha1
kind: MusterConfiguration
suspendGuard: `+mode+"\n")
}

// The Job controller makes pods and no Jobs, so a Job below a queued Job is a forgery: it is
// counted by itself.
func TestJobOwnedByAQueuedJobIsQueuedByItself(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	ctx := harness.Context(t)
	owner, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, harness.Job("owner", harness.Queue("some")), harness.ForReal)
	harness.Must(t, err)
	child := harness.Job("child", harness.Queue("some"))
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}

	// muster sees the owner by a watch, so perhaps not at once.
	harness.Eventually(t, 10*time.Second, "the child is made", func() error {
		made, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, child, harness.DryRun)
		if err == nil && !harness.Suspended(made) {
			t.Error("the child runs although nothing was admitted")
		}
		return err
	})
}
