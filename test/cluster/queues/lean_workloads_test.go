package queues

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// With the policy that muster's manifests offer, Workloads that muster makes have no managed fields, from
// their creation to their end; those that others make keep theirs; and server-side apply works for both.
func TestLeanWorkloadsHaveNoManagedFields(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.NeedsKubernetes(t, 36, "a MutatingAdmissionPolicy in v1")
	cluster.HollowNodes(t)
	harness.MakeWorkloadsLean(t, cluster)
	harness.StartAdmitter(t, cluster, false)
	queues := harness.OpenQueue(t, cluster)
	cluster.Create(t, harness.Workloads, queues.Namespace, harness.JoblessWorkload("by-hand", harness.LocalQueueName, 1))

	workloads := cluster.Dynamic.Resource(harness.Workloads).Namespace(queues.Namespace)
	// The API server learns of a policy by a separate watch.
	var lean *unstructured.Unstructured
	for number := 0; lean == nil || len(lean.GetManagedFields()) > 0; number++ {
		if number == 20 {
			t.Fatalf("Workloads that muster makes have managed fields: %v", lean.GetManagedFields())
		}
		name := harness.BenchJobName(number)
		cluster.CreateJob(t, queues.Namespace, harness.BenchJob(number, harness.AllOfMuster))
		lean = cluster.WaitForWorkload(t, queues.Namespace, name, "has finished", harness.HasCondition("Finished", "True", "Succeeded"))
	}
	byHand, err := workloads.Get(harness.Context(t), "by-hand", metav1.GetOptions{})
	harness.Must(t, err)
	if len(byHand.GetManagedFields()) == 0 {
		t.Error("a Workload that somebody else made has no managed fields")
	}

	// What a controller of an admission check does.
	for _, name := range []string{lean.GetName(), "by-hand"} {
		body, err := json.Marshal(map[string]any{
			"apiVersion": byHand.GetAPIVersion(), "kind": "Workload", "metadata": map[string]any{"name": name},
			"status": map[string]any{"conditions": []any{map[string]any{
				"type": "Seen", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
			}}},
		})
		harness.Must(t, err)
		applied, err := workloads.Patch(harness.Context(t), name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: "check-controller"}, "status")
		harness.Must(t, err)
		harness.Must(t, harness.HasCondition("Seen", "True", "Test")(applied))
	}
}
