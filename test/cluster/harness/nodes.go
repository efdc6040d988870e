package harness

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Images that every lab with a real node has, so that nothing is pulled.
const (
	MusterImage  = "muster:dev"
	BusyboxImage = "busybox:latest"
)

// NodeLabel distinguishes real and hollow nodes. Hollow nodes have a taint of the same key and value, so that
// no pod runs on one by accident.
const NodeLabel = "muster.batch/node"

// Annotations of a pod that a hollow node understands; see lab/hollowpod.go.
const (
	HollowRunSeconds = "lab.muster.batch/run-seconds"
	HollowExitCode   = "lab.muster.batch/exit-code"
)

// RealNode returns the name of the cluster's real node. The test fails without a real node: a test that needs a
// kubelet must not be skipped unseen.
func (c *Cluster) RealNode(t testing.TB) string {
	t.Helper()
	nodes := c.nodes(t, "real")
	if len(nodes) == 0 {
		t.Fatal("the cluster has no kubelet: start the lab with --kubelet, as root")
	}
	return nodes[0].Name
}

// HollowNodes returns the number of hollow nodes; the test fails if it is 0.
func (c *Cluster) HollowNodes(t testing.TB) int {
	t.Helper()
	nodes := c.nodes(t, "hollow")
	if len(nodes) == 0 {
		t.Fatal("the cluster has no hollow nodes: start the lab with --hollow-nodes 10")
	}
	return len(nodes)
}

func (c *Cluster) nodes(t testing.TB, sort string) []corev1.Node {
	t.Helper()
	nodes, err := c.Client.CoreV1().Nodes().List(Context(t), metav1.ListOptions{LabelSelector: NodeLabel + "=" + sort})
	if err != nil {
		t.Fatalf("listing nodes: %v", err)
	}
	return nodes.Items
}

// OnRealNode makes the pods run on the kubelet.
func OnRealNode(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{NodeLabel: "real"} }

// OnHollowNodes makes the pods run on nodes that only report that the pods run.
func OnHollowNodes(spec *corev1.PodSpec) {
	spec.NodeSelector = map[string]string{NodeLabel: "hollow"}
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
		Key: NodeLabel, Value: "hollow", Effect: corev1.TaintEffectNoSchedule,
	})
}

// AllocatableCPU is the CPU that pods can request on a node, in thousandths.
func (c *Cluster) AllocatableCPU(t testing.TB, node string) int64 {
	t.Helper()
	found, err := c.Client.CoreV1().Nodes().Get(Context(t), node, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("reading node %s: %v", node, err)
	}
	return found.Status.Allocatable.Cpu().MilliValue()
}
