package nodes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

const (
	// poolKey is the label of a pool's nodes, by which a flavor selects them, and the key of their taint, which keeps
	// the pods of other tests away.
	poolKey = "muster.batch/pool"
	// playedPrefix makes the lab's hollow kubelets run the pods on these nodes too (lab/hollow.go).
	playedPrefix = "hollow-"
	// beforeLost is between two renewals of a node's Lease: without them Kubernetes takes the node for lost after 50 s.
	beforeLost  = 10 * time.Second
	notReadyYet = "node.kubernetes.io/not-ready"
	fitOnNodes  = "muster.batch/fit-on-nodes"
	noScheduler = "example.test/none" // of pods that only the test binds
	podsOnANode = 1000
	// waiting is the reason of a Workload that nodes have no room for.
	waiting      = "WaitingForQuota"
	waitsForRoom = "insufficient room on the nodes of flavor "
)

// nodePool has queues whose flavors count the room on nodes, and these nodes: Node objects of a size that the test
// decides, whose pods run as on the lab's hollow nodes. The short names of flavors and nodes are as those of Teams.
type nodePool struct {
	*harness.Teams
	t        *testing.T
	cluster  *harness.Cluster
	made     []string // names of the nodes
	probes   int
	mustWait string // a Job that there is no room for now; empty: none
}

// newNodePool makes one without nodes. They are removed at the test's end, after the jobs.
func newNodePool(t *testing.T, cluster *harness.Cluster) *nodePool {
	t.Helper()
	p := &nodePool{t: t, cluster: cluster}
	t.Cleanup(p.remove)
	p.Teams = cluster.Teams(t)
	return p
}

func (p *nodePool) remove() {
	ctx := context.Background()
	for _, name := range p.made {
		// A test can have removed it.
		_ = p.cluster.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		_ = p.cluster.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// countingFlavor makes a flavor that counts the room on its nodes.
func (p *nodePool) countingFlavor(short string) {
	p.t.Helper()
	p.AnyNode(short)
	p.cluster.Patch(p.t, harness.ResourceFlavors, "", p.Name(short), harness.ToJSON(p.t, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{fitOnNodes: "true"}},
		"spec": map[string]any{
			"nodeLabels":  map[string]any{poolKey: p.Name(short)},
			"tolerations": []any{map[string]any{"key": poolKey, "operator": "Exists", "effect": "NoSchedule"}},
		},
	}))
}

// oneFlavor makes the flavor f and the queue q, with more quota than the nodes of any test have.
func (p *nodePool) oneFlavor() {
	p.t.Helper()
	p.countingFlavor("f")
	p.Queue("q", p.Cpus("f=1000000"))
}

// nodeName is how a node is really called.
func (p *nodePool) nodeName(short string) string { return playedPrefix + p.Name(short) }

// node makes a node of a flavor; `edit` can change it before. It returns when kube-scheduler, too, would use it, unless
// the node is not ready.
func (p *nodePool) node(flavor, short, cpu string, edit ...func(*corev1.Node)) {
	p.t.Helper()
	name := p.nodeName(short)
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods: *resource.NewQuantity(podsOnANode, resource.DecimalSI),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			poolKey: p.Name(flavor), corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
		}},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: poolKey, Value: p.Namespace, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []corev1.NodeCondition{readyCondition(corev1.ConditionTrue)}},
	}
	for _, each := range edit {
		each(node)
	}
	p.keepAlive(name)
	p.made = append(p.made, name)
	_, err := p.cluster.Client.CoreV1().Nodes().Create(harness.Context(p.t), node, harness.ForReal)
	harness.Must(p.t, err)
	if isReady(node) {
		p.awaitUsable(name)
	}
}

// awaitUsable waits until a new node is without the taint that every new node has until Kubernetes has seen that it is
// ready.
func (p *nodePool) awaitUsable(name string) {
	p.t.Helper()
	harness.Eventually(p.t, time.Minute, "node "+name+" can be used", func() error {
		node, err := p.cluster.Client.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, taint := range node.Spec.Taints {
			if taint.Key == notReadyYet {
				return fmt.Errorf("its taints are %v", node.Spec.Taints)
			}
		}
		return nil
	})
}

// keepAlive makes the Lease of a node, and renews it until the test ends.
func (p *nodePool) keepAlive(name string) {
	p.t.Helper()
	leases := p.cluster.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NowMicro(), int32(40)
	lease, err := leases.Create(harness.Context(p.t), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, harness.ForReal)
	harness.Must(p.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(beforeLost):
			}
			now := metav1.NowMicro()
			lease.Spec.RenewTime = &now
			// The next renewal comes in time after one that fails.
			if updated, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
				lease = updated
			}
		}
	}()
	p.t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func readyCondition(status corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: "Test", Message: "by the test",
		LastHeartbeatTime: now, LastTransitionTime: now}
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// States of a node, each for `node` and `change`.

func cordoned(node *corev1.Node)   { node.Spec.Unschedulable = true }
func uncordoned(node *corev1.Node) { node.Spec.Unschedulable = false }
func tainted(node *corev1.Node) {
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "example.test/broken", Effect: corev1.TaintEffectNoSchedule})
}
func untainted(node *corev1.Node) {
	var kept []corev1.Taint
	for _, taint := range node.Spec.Taints {
		if taint.Key != "example.test/broken" {
			kept = append(kept, taint)
		}
	}
	node.Spec.Taints = kept
}
func notReady(node *corev1.Node) { setReady(node, corev1.ConditionFalse) }
func ready(node *corev1.Node)    { setReady(node, corev1.ConditionTrue) }

func setReady(node *corev1.Node, status corev1.ConditionStatus) {
	node.Status.Conditions = []corev1.NodeCondition{readyCondition(status)}
}

// change writes a node's spec and status, again when another client has changed it since.
func (p *nodePool) change(short string, edit func(*corev1.Node)) {
	p.t.Helper()
	nodes := p.cluster.Client.CoreV1().Nodes()
	for what, update := range map[string]func(context.Context, *corev1.Node, metav1.UpdateOptions) (*corev1.Node, error){
		"spec": nodes.Update, "status": nodes.UpdateStatus,
	} {
		harness.Eventually(p.t, 30*time.Second, "changing the "+what+" of node "+short, func() error {
			node, err := nodes.Get(context.Background(), p.nodeName(short), metav1.GetOptions{})
			if err != nil {
				return err
			}
			edit(node)
			_, err = update(context.Background(), node, metav1.UpdateOptions{})
			return err
		})
	}
}

// removeNode deletes a node while the test goes on.
func (p *nodePool) removeNode(short string) {
	p.t.Helper()
	harness.Must(p.t, p.cluster.Client.CoreV1().Nodes().Delete(harness.Context(p.t), p.nodeName(short), metav1.DeleteOptions{}))
}

// foreignPod makes a pod of no queue that is on a node from the beginning, which no scheduler is asked about.
func (p *nodePool) foreignPod(name, node, cpu string) {
	p.t.Helper()
	harness.Must(p.t, p.tryForeignPod(harness.Context(p.t), name, node, cpu))
}

func (p *nodePool) tryForeignPod(ctx context.Context, name, node, cpu string) error {
	spec := harness.HollowPod(-1, 0).Spec
	spec.NodeSelector, spec.NodeName = nil, p.nodeName(node)
	// Deleted at once, without the node's answer.
	spec.TerminationGracePeriodSeconds = new(int64)
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	_, err := p.cluster.Client.CoreV1().Pods(p.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"foreign": node}}, Spec: spec,
	}, harness.ForReal)
	return err
}

func (p *nodePool) removePod(name string) {
	p.t.Helper()
	harness.Must(p.t, p.cluster.Client.CoreV1().Pods(p.Namespace).Delete(harness.Context(p.t), name, metav1.DeleteOptions{}))
}

// boundByTest makes a Job's pods wait until `bind`, as a slow scheduler would.
func boundByTest(job *batchv1.Job) { job.Spec.Template.Spec.SchedulerName = noScheduler }

// bind does what a scheduler does with the only pod of a Job.
func (p *nodePool) bind(job, node string) {
	p.t.Helper()
	pod := p.cluster.WaitForPods(p.t, p.Namespace, job, 1, time.Minute, "there", func(*corev1.Pod) bool { return true })[0]
	harness.Must(p.t, p.cluster.Client.CoreV1().Pods(p.Namespace).Bind(harness.Context(p.t), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: p.nodeName(node)},
	}, metav1.CreateOptions{}))
}

// knows waits until muster counts the nodes as `words` say, and no Job that must wait is admitted until then. So the test
// knows which events muster has seen. It asks by Jobs that no node can run: a message about nodes is not written again when
// only its numbers have changed.
func (p *nodePool) knows(words ...string) {
	p.t.Helper()
	harness.Eventually(p.t, 2*time.Minute, "muster knows the nodes", func() error {
		message := p.probe()
		for _, each := range words {
			if !strings.Contains(message, each) {
				return fmt.Errorf("it says %q and nothing of %q", message, each)
			}
		}
		return nil
	})
}

// probe is what muster says of a Job that is too large for every node.
func (p *nodePool) probe() (message string) {
	p.t.Helper()
	p.probes++
	name := fmt.Sprint("probe-", p.probes)
	// All of them different: of Jobs that are alike muster evaluates one.
	p.Job("q", name, 1, fmt.Sprint(100_000+p.probes))
	p.Await(name, "says why it waits", harness.HasCondition("QuotaReserved", "False", waiting), func(workload *unstructured.Unstructured) error {
		if p.mustWait != "" {
			p.stopIfAdmitted(p.mustWait)
		}
		message = fmt.Sprint(harness.ConditionOf(workload, "QuotaReserved")["message"])
		return nil
	})
	p.cluster.Delete(p.t, harness.Jobs, p.Namespace, name, metav1.DeletePropagationBackground)
	return message
}

// waitsStill fails if the Workload of a Job has quota. The test has seen an event that came after the reason to admit it.
func (p *nodePool) waitsStill(job string) {
	p.t.Helper()
	if _, err := p.cluster.WorkloadOf(p.Namespace, job, harness.FieldIs(nil, "status", "admission"),
		harness.HasCondition("QuotaReserved", "False", "")); err != nil {
		p.t.Errorf("%s does not wait: %v", job, err)
	}
}

// admittedBefore waits until a Job is admitted, and fails at once if the other one is.
func (p *nodePool) admittedBefore(job, other string) {
	p.t.Helper()
	p.Await(job, "is admitted", func(workload *unstructured.Unstructured) error {
		p.stopIfAdmitted(other)
		return harness.HasCondition("Admitted", "True", "")(workload)
	})
}

func (p *nodePool) stopIfAdmitted(job string) {
	p.t.Helper()
	workload, err := p.cluster.WorkloadOf(p.Namespace, job, harness.HasCondition("QuotaReserved", "True", ""))
	if err == nil {
		p.t.Fatalf("%s is admitted, and there is no room for it: %v; pods: %s", job, workload.Object["status"],
			p.Kubectl("get", "pods", "-o", "wide"))
	}
}

// checkRoom demands that on no node the pods request more cpu than it has, and that the pods of these Jobs all have a
// node.
func (p *nodePool) checkRoom(jobs ...string) {
	p.t.Helper()
	pods, err := p.cluster.Client.CoreV1().Pods(p.Namespace).List(harness.Context(p.t), metav1.ListOptions{})
	harness.Must(p.t, err)
	used, waiting := map[string]int64{}, map[string]int{}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if pod.Spec.NodeName == "" {
			waiting[pod.Labels[batchv1.JobNameLabel]]++
			continue
		}
		for _, container := range pod.Spec.Containers {
			used[pod.Spec.NodeName] += container.Resources.Requests.Cpu().MilliValue()
		}
	}
	for node, amount := range used {
		if most := p.cluster.AllocatableCPU(p.t, node); amount > most {
			p.t.Errorf("the pods on node %s request %d thousandths of a cpu, of which it has %d", node, amount, most)
		}
	}
	for _, job := range jobs {
		if waiting[job] > 0 {
			p.t.Errorf("%d pods of %s have no node", waiting[job], job)
		}
	}
}
