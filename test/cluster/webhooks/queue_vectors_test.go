package webhooks

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// queueVector is what Kueue's own webhook and CRDs were recorded to do with a new
// queue, flavor or Workload: here it is sent to a real API server with muster in
// their place.
type queueVector struct {
	ID    string `json:"id"`
	Input struct {
		Kind      string         `json:"kind"`
		Operation string         `json:"operation"`
		Object    map[string]any `json:"object"`
	} `json:"input"`
	Output struct {
		Accepted  bool          `json:"accepted"`
		CRDErrors []vectorError `json:"crdErrors"`
	} `json:"output"`
}

// wanted differs from what was recorded by two rules: what muster does not support is
// refused, and a namespace that an object does not name is that of the request.
func (v queueVector) wanted() bool {
	if v.usesUnsupported() {
		return false
	}
	other := false
	for _, one := range v.Output.CRDErrors {
		other = other || (one.Field != "metadata.namespace" && one.Field != "<nil>")
	}
	return v.Output.Accepted || (v.Input.Kind == "LocalQueue" && !other)
}

func (v queueVector) usesUnsupported() bool {
	spec, _, _ := unstructured.NestedMap(v.Input.Object, "spec")
	if v.Input.Kind == "LocalQueue" {
		return spec["fairSharing"] != nil
	}
	mode, _, _ := unstructured.NestedString(spec, "admissionScope", "admissionMode")
	gates, _, _ := unstructured.NestedSlice(spec, "preemptionGates")
	return mode == "UsageBasedAdmissionFairSharing" || spec["concurrentAdmissionPolicy"] != nil || spec["topologyName"] != nil || len(gates) > 0
}

func TestNewQueuesAndWorkloadsAreAcceptedAsByKueuesOwnWebhook(t *testing.T) {
	vectors := readVectors[queueVector](t, "validation")
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	bad := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
		"metadata": map[string]any{"name": "probe"},
		"spec":     map[string]any{"fairSharing": map[string]any{"weight": "-1"}},
	}}
	harness.Rejected(t, func(ctx context.Context) error {
		_, err := cluster.Resource(t, "kueue.x-k8s.io", "ClusterQueue", "").Create(ctx, bad, harness.DryRun)
		return err
	}, "spec.fairSharing")
	for _, vector := range vectors {
		if vector.Input.Operation != "CREATE" {
			continue
		}
		object := &unstructured.Unstructured{Object: vector.Input.Object}
		home := ""
		if vector.Input.Kind == "Workload" || vector.Input.Kind == "LocalQueue" {
			home = namespace
			object.SetNamespace(namespace)
		}
		client := cluster.Resource(t, "kueue.x-k8s.io", vector.Input.Kind, home)
		_, err := client.Create(harness.Context(t), object, harness.DryRun)
		judge(t, vector.ID, vector.wanted(), err)
	}
}
