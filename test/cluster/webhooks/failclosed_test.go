package webhooks

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"muster.batch/test/cluster/harness"
)

// Requests that must pass muster fail closed; no other request ever depends on it.

func TestUnlabelledObjectsDoNotNeedMuster(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	muster.Kill(t)

	ctx := harness.Context(t)
	creators := map[string]struct {
		count  int
		create func(context.Context, kubernetes.Interface, string, string) error
	}{
		"Jobs":       {1000, createJob},
		"ConfigMaps": {200, harness.CreateConfigMap},
		"Pods":       {200, harness.CreatePod},
	}
	for kind, one := range creators {
		outcome := harness.Load(ctx, 16, one.count, func(number int) error {
			return one.create(ctx, cluster.Client, namespace, fmt.Sprintf("free-%d", number))
		})
		harness.Figure(t, "without muster, unlabelled %s: %s", kind, outcome)
		if len(outcome.Latencies) != one.count {
			t.Errorf("%d of %d %s were created", len(outcome.Latencies), one.count, kind)
		}
	}

	// An update of an unlabelled object, and the delete, neither.
	_, err := cluster.Client.BatchV1().Jobs(namespace).Patch(ctx, "free-0", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"team":"blue"}}}`), metav1.PatchOptions{})
	harness.Must(t, err)
	harness.Must(t, cluster.Client.BatchV1().Jobs(namespace).Delete(ctx, "free-0", metav1.DeleteOptions{}))
}

func TestLabelledObjectsAreRefusedWithoutMuster(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	ctx := harness.Context(t)
	jobSets := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace)
	existing, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, harness.Job("existing", harness.Queue("some")), harness.ForReal)
	harness.Must(t, err)
	muster.Kill(t)

	if _, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, harness.Job("queued", harness.Queue("some")), harness.ForReal); err == nil {
		t.Error("a queued Job was created")
	}
	if _, err := jobSets.Create(ctx, harness.GroupScheduling(harness.JobSet("gang", "workers"), 300), harness.ForReal); err == nil {
		t.Error("a gang JobSet was created")
	}
	// Taking the label off is not a way around.
	if _, err := cluster.Client.BatchV1().Jobs(namespace).Patch(ctx, existing.Name, types.MergePatchType,
		[]byte(fmt.Sprintf(`{"metadata":{"labels":{%q:null}},"spec":{"suspend":false}}`, harness.QueueLabel)), metav1.PatchOptions{}); err == nil {
		t.Error("a queued Job lost its label and was started")
	}
	// But what exists can be cleaned up.
	harness.Must(t, cluster.Client.BatchV1().Jobs(namespace).Delete(ctx, existing.Name, metav1.DeleteOptions{}))
}

func createJob(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.BatchV1().Jobs(namespace).Create(ctx, harness.Job(name, nil), harness.ForReal)
	return err
}
