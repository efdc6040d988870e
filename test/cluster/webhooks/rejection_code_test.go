package webhooks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// Clients that tell 403 Forbidden from 422 Invalid see what they would see of Kueue: its webhooks
// forbid, its schemas find invalid.
func TestRefusalsAreForbiddenOrInvalidAsInKueue(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	queue := func(limits map[string]any) *unstructured.Unstructured {
		limits["name"], limits["nominalQuota"] = "cpu", "4"
		queue := harness.ClusterQueueOf("refused", "f")
		harness.Set(queue, []any{map[string]any{"coveredResources": []any{"cpu"}, "flavors": []any{
			map[string]any{"name": "f", "resources": []any{limits}}}}}, "spec", "resourceGroups")
		return queue
	}
	for name, one := range map[string]struct {
		queue *unstructured.Unstructured
		is    func(error) bool
	}{
		"a rule of Kueue's webhook":   {queue(map[string]any{"lendingLimit": "1"}), apierrors.IsForbidden},
		"a rule of Kueue's schema":    {queue(map[string]any{"borrowingLimit": "1"}), apierrors.IsInvalid},
		"a rule of each of the two":   {queue(map[string]any{"borrowingLimit": "1", "lendingLimit": "1"}), apierrors.IsInvalid},
		"a schema that muster shares": {queue(map[string]any{"lendingLimit": "one"}), apierrors.IsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Eventually(t, 5*time.Second, "the rejection", func() error {
				_, err := cluster.Dynamic.Resource(harness.ClusterQueues).Create(context.Background(), one.queue, harness.DryRun)
				if err == nil {
					return errors.New("it was allowed")
				}
				if !one.is(err) {
					return fmt.Errorf("it is another error: %w", err)
				}
				return nil
			})
		})
	}
}

// JobSet's webhook answers 422 to creations and to changes; muster's does where it has this role.
func TestRefusedJobSetsAreInvalidAsInJobSet(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	jobSet := func(name string) *unstructured.Unstructured {
		return harness.JobSetOf(name, harness.ReplicatedJob{Name: "w", Template: harness.HollowPod(-1, 0)})
	}
	cluster.CreateJobSet(t, namespace, jobSet("codes"))
	jobSets := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace)
	unknown := jobSet("unknown")
	harness.Set(unknown, map[string]any{"operator": "Any", "targetReplicatedJobs": []any{"other"}}, "spec", "successPolicy")
	_, created := jobSets.Create(harness.Context(t), unknown, metav1.CreateOptions{})
	_, replaced := jobSets.Patch(harness.Context(t), "codes", types.JSONPatchType,
		[]byte(`[{"op": "replace", "path": "/spec/replicatedJobs/0/replicas", "value": 7}]`), metav1.PatchOptions{})
	for field, err := range map[string]error{
		"spec.successPolicy.targetReplicatedJobs[0]": created, "spec.replicatedJobs[0].replicas": replaced} {
		var status apierrors.APIStatus
		if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
			t.Errorf("%s: %v", field, err)
			continue
		}
		if causes := status.Status().Details.Causes; len(causes) != 1 || causes[0].Field != field {
			t.Errorf("%s: the causes are %v", field, causes)
		}
	}
}
