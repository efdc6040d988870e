package nodes

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Flavors with the annotation muster.batch/fit-on-nodes, with the scheduler of Kubernetes behind muster: what muster
// admits has room on the nodes, and kube-scheduler finds it.

// onlyJobs are flags of `muster manifests` and of `muster serve`, and onlyJobsConfig belongs to them: muster watches no pods
// for another reason than the room on nodes.
var onlyJobs = []string{"--jobset-controller=external", "--no-group-scheduling"}

const onlyJobsConfig = "integrations: {frameworks: [batch/job]}\n"

// watchNodes adds the setting to them.
var watchNodes = slices.Concat(onlyJobs, []string{"--watch-nodes"})

// nodeRights are those that --watch-nodes adds, as harness.Right prints them.
var nodeRights = []string{"list /nodes", "watch /nodes", "list /pods", "watch /pods"}

// fit is one thing that such a flavor does; all of a table share one muster and run side by side.
type fit struct {
	name string
	run  func(*nodePool)
}

// muster has no other rights than its manifests give it, and none is refused.
func TestJobsStartWhenAllTheirPodsHaveRoomOnNodes(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+onlyJobsConfig)
	rights := harness.ApplyRights(t, cluster, config, watchNodes...)
	requests := cluster.Requests(t, harness.AccountToken(t, cluster, "muster-system", "muster"))
	harness.StartMuster(t, append([]string{"--config", config, "--kubeconfig", requests.Kubeconfig}, watchNodes...)...)

	quota := cluster.WatchQuota(t)
	t.Run("side by side", func(t *testing.T) {
		for _, each := range slices.Concat(gangs, nodeStates, takenPlaces) {
			t.Run(each.name, func(t *testing.T) {
				t.Parallel()
				each.run(newNodePool(t, cluster))
			})
		}
	})
	quota.Check(t)
	quota.CheckAlternation(t)

	unused, others := requests.Unused(rights)
	for _, right := range nodeRights {
		if slices.Contains(unused, right) {
			t.Errorf("muster has not used the right to %s", right)
		}
	}
	if len(others) > 0 {
		t.Errorf("muster asked for what its manifests do not give: %q", others)
	}
	for _, answer := range requests.Refused() {
		// muster shows by a request that the policy of sessions refuses.
		if !strings.Contains(answer, harness.SessionPolicy) {
			t.Errorf("refused: %s", answer)
		}
	}
}

var gangs = []fit{
	{"a gang waits until a node joins", nodeJoins},
	{"a gang waits until a pod of another client leaves", foreignPodLeaves},
	{"a flavor without room is passed over for the next one", nextFlavor},
}

func nodeJoins(p *nodePool) {
	p.oneFlavor()
	p.node("f", "a", "3")
	p.node("f", "b", "3")
	p.knows("2 nodes have 3 free")
	p.Job("q", "gang", 3, "2")
	p.Waits("gang", waiting, waitsForRoom+p.Name("f"), "for 1 of 3 pods of 2 cpu: 2 nodes have enough for one or more")
	if pods := p.cluster.PodsOfJob(p.t, p.Namespace, "gang"); len(pods) > 0 {
		p.t.Errorf("it waits and has %d pods", len(pods))
	}
	p.node("f", "c", "3")
	p.RunsWith("gang", 3)
	p.checkRoom("gang")
	// Its pods leave room when they end.
	p.Job("q", "next", 3, "2")
	p.Waits("next", waiting, "for 3 of 3 pods of 2 cpu: 3 nodes have 1 free")
	p.End("gang")
	p.RunsWith("next", 3)
	p.checkRoom("next")
}

func foreignPodLeaves(p *nodePool) {
	p.oneFlavor()
	for _, node := range []string{"a", "b", "c"} {
		p.node("f", node, "3")
	}
	p.foreignPod("other", "c", "2")
	p.knows("2 nodes have 3 free, 1 node has 1 free")
	p.Job("q", "gang", 3, "2")
	p.Waits("gang", waiting, "for 1 of 3 pods of 2 cpu: 2 nodes have enough for one or more, 1 node has 1 free")
	p.removePod("other")
	p.RunsWith("gang", 3)
	p.checkRoom("gang")
}

func nextFlavor(p *nodePool) {
	p.countingFlavor("first")
	p.countingFlavor("next")
	p.Queue("q", p.Cpus("first=1000000", "next=1000000"))
	p.node("first", "a", "1")
	p.node("next", "b", "4")
	p.knows("1 node has 1 free", "1 node has 4 free")
	p.Job("q", "large", 2, "1")
	p.RunsWith("large", 2)
	p.Job("q", "small", 1, "1")
	p.RunsWith("small", 1)
	for job, flavor := range map[string]string{"large": "next", "small": "first"} {
		if got := p.FlavorOf(p.Await(job, "is there")); got != flavor {
			p.t.Errorf("%s has the flavor %s and not %s", job, got, flavor)
		}
	}
	p.checkRoom("large", "small")
	p.Job("q", "none", 3, "1")
	p.Waits("none", waiting, waitsForRoom+p.Name("first")+" for 3 of 3 pods", waitsForRoom+p.Name("next")+" for 1 of 3 pods")
}

var nodeStates = []fit{
	{"a cordoned node does not count until it is uncordoned", becomesUsable(cordoned, uncordoned, "1 are not ready or cordoned")},
	{"a node that is not ready does not count until it is", becomesUsable(notReady, ready, "1 are not ready or cordoned")},
	{"a tainted node does not count until the taint is removed", becomesUsable(tainted, untainted, "1 have a taint that they do not tolerate")},
}

// becomesUsable is a node with enough room that no pod gets to until it is repaired.
func becomesUsable(bad, good func(*corev1.Node), words string) func(*nodePool) {
	return func(p *nodePool) {
		p.oneFlavor()
		p.node("f", "a", "4", bad)
		p.knows("of 1 node of flavor " + p.Name("f") + " none takes the pods: " + words)
		p.Job("q", "job", 1, "1")
		p.Waits("job", waiting, "none takes the pods: "+words)
		p.change("a", good)
		p.RunsWith("job", 1)
	}
}

var takenPlaces = []fit{
	{"a pod of another client takes the place of an admitted pod", func(p *nodePool) {
		p.placeIsLost(func() { p.foreignPod("thief", "a", "3") })
		p.removePod("thief")
		p.secondStarts()
	}},
	{"the node with the place of an admitted pod is cordoned", func(p *nodePool) {
		p.placeIsLost(func() {
			p.change("a", cordoned)
			p.knows(": 1 node has 1 free")
		})
		p.change("a", uncordoned)
		p.secondStarts()
	}},
	{"the node with the place of an admitted pod is deleted", func(p *nodePool) {
		p.placeIsLost(func() {
			p.removeNode("a")
			p.knows(": 1 node has 1 free")
		})
		p.node("f", "a2", "4")
		p.secondStarts()
	}},
}

// placeIsLost admits "first", whose place is on node a, and which loses that place to what `lose` does before its pod has
// a node. muster must know of the loss before it knows of the next event of pods. Then node b gets room: for "first" and
// "third", or for "second", which came before "third". "first" is admitted, so "second" must wait.
func (p *nodePool) placeIsLost(lose func()) {
	p.t.Helper()
	p.oneFlavor()
	p.node("f", "a", "4")
	p.node("f", "b", "6")
	p.foreignPod("blocker", "b", "5")
	p.knows("1 node has 4 free, 1 node has 1 free")
	p.Job("q", "first", 1, "3", boundByTest)
	p.Admitted("first")
	p.Job("q", "second", 1, "4")
	p.Waits("second", waiting, "2 nodes have 1 free")
	p.Job("q", "third", 1, "3")
	p.Waits("third", waiting, "2 nodes have 1 free")
	lose()
	p.removePod("blocker")
	p.admittedBefore("third", "second")
	p.RunsWith("third", 1)
	p.bind("first", "b")
	p.RunsWith("first", 1)
	p.waitsStill("second")
	p.checkRoom("first", "third")
}

// secondStarts is when node a, or another one, has room again.
func (p *nodePool) secondStarts() {
	p.t.Helper()
	p.RunsWith("second", 1)
	p.checkRoom("first", "second", "third")
}

// A leader that starts admits nothing before it has read the nodes and their pods, and then knows the places of pods that
// have no node yet.
func TestALeaderThatStartsKnowsTheNodesBeforeItAdmits(t *testing.T) {
	for _, part := range []string{"nodes", "pods"} {
		t.Run("the "+part+" are late", func(t *testing.T) {
			cluster := harness.Connect(t)
			cluster.HollowNodes(t)
			cluster.EnsureMusterNamespace(t)
			wire := cluster.Wire(t)
			muster := harness.StartMuster(t, append([]string{"--kubeconfig", wire.Kubeconfig,
				"--config", harness.QuickLease(t, harness.UsualLease, onlyJobsConfig)}, watchNodes...)...)
			newNodePool(t, cluster).leaderStarts(muster, wire, part)
		})
	}
}

// leaderStarts restarts muster while one Job runs, one is admitted and its pod has no node, and one waits for two nodes,
// of which one is free. `late` is the kind that the new leader cannot read for some time.
func (p *nodePool) leaderStarts(muster *harness.Muster, wire *harness.Wire, late string) {
	p.t.Helper()
	p.oneFlavor()
	for _, node := range []string{"a", "b", "c"} {
		p.node("f", node, "3")
	}
	p.knows("3 nodes have 3 free")
	p.Job("q", "runs", 1, "3")
	p.RunsWith("runs", 1)
	p.Job("q", "starts", 1, "3", boundByTest)
	p.Admitted("starts")
	p.Job("q", "waits", 2, "3")
	p.Waits("waits", waiting, "for 1 of 2 pods of 3 cpu: 1 node has enough for one or more, 2 nodes have 0 free")

	muster.Kill(p.t)
	wire.AnswerWrongly(&harness.WrongAnswer{Status: http.StatusServiceUnavailable, Body: "{}"}, late)
	p.t.Cleanup(func() { wire.AnswerWrongly(nil) }) // if the test failed half way
	muster.Restart(p.t)
	p.Waits("waits", waiting, "the "+late+" of the cluster are not known yet")
	wire.AnswerWrongly(nil)
	p.mustWait = "waits"
	p.knows("1 node has 3 free, 2 nodes have 0 free")
	p.bind("starts", p.freeNode("a", "b", "c"))
	p.RunsWith("starts", 1)
	p.knows("1 node has 3 free, 2 nodes have 0 free")
	p.End("runs")
	p.RunsWith("waits", 2)
	p.checkRoom("starts", "waits")
}

// freeNode is one of the nodes without a pod.
func (p *nodePool) freeNode(nodes ...string) string {
	p.t.Helper()
	pods, err := p.cluster.Client.CoreV1().Pods(p.Namespace).List(harness.Context(p.t), metav1.ListOptions{})
	harness.Must(p.t, err)
	for _, node := range nodes {
		if !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.NodeName == p.nodeName(node) }) {
			return node
		}
	}
	p.t.Fatal("every node has a pod")
	return ""
}

// Without the setting muster has no rights to nodes, and such a flavor says why it admits nothing.
func TestWithoutWatchNodesAFlavorThatCountsNodesAdmitsNothing(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+onlyJobsConfig)
	for _, right := range harness.ApplyRights(t, cluster, config, onlyJobs...) {
		if right.Resource == "nodes" || right.Resource == "pods" && right.Verb == "watch" {
			t.Errorf("muster can %s", right)
		}
	}
	requests := cluster.Requests(t, harness.AccountToken(t, cluster, "muster-system", "muster"))
	harness.StartMuster(t, append([]string{"--config", config, "--kubeconfig", requests.Kubeconfig}, onlyJobs...)...)
	p := newNodePool(t, cluster)
	p.oneFlavor()
	p.node("f", "a", "4")
	p.Job("q", "job", 1, "1")
	p.Waits("job", "NoMatchingFlavor", "flavor "+p.Name("f")+" has the annotation "+fitOnNodes+", and muster does not watch nodes")
	// Another ClusterQueue can have the flavor without the annotation.
	p.cluster.Patch(t, harness.ResourceFlavors, "", p.Name("f"), `{"metadata":{"annotations":{"`+fitOnNodes+`":"false"}}}`)
	p.RunsWith("job", 1)
	for _, answer := range requests.Refused() {
		if strings.Contains(answer, "nodes") {
			t.Errorf("refused: %s", answer)
		}
	}
}

// MUSTER_SOAK=1: ten thousand pods of other clients.
func TestAGangWaitsForRoomAmongManyPods(t *testing.T) {
	others := harness.Size(500, 10_000)
	const nodes = 10
	onEach := others / nodes
	free := resource.NewQuantity(int64(onEach), resource.DecimalSI).String() // as muster writes it
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+onlyJobsConfig)
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartMuster(t, append([]string{"--config", config}, watchNodes...)...)
	p := newNodePool(t, cluster)
	p.oneFlavor()
	for node := range nodes {
		p.node("f", fmt.Sprint("n", node), fmt.Sprint(onEach))
	}
	p.knows(fmt.Sprintf("%d nodes have %s free", nodes, free))
	before := muster.ResidentKiB(t)
	ctx := harness.Context(t)
	outcome := harness.Load(ctx, 16, others, func(number int) error {
		return p.tryForeignPod(ctx, fmt.Sprint("other-", number), fmt.Sprint("n", number%nodes), "1")
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	p.knows(fmt.Sprintf("%d nodes have 0 free", nodes))
	harness.Figure(t, "%d pods of other clients: muster grew by %.1f MiB", others, float64(muster.ResidentKiB(t)-before)/1024)
	p.Job("q", "gang", int32(2*onEach), "1")
	p.Waits("gang", waiting, fmt.Sprintf("for %d of %d pods of 1 cpu: %d nodes have 0 free", 2*onEach, 2*onEach, nodes))
	p.removeForeign("n0")
	p.knows(fmt.Sprintf("1 node has %s free, %d nodes have 0 free", free, nodes-1))
	p.waitsStill("gang")
	began := time.Now()
	p.removeForeign("n1")
	p.Admitted("gang")
	harness.Figure(t, "a gang of %d pods is admitted %.1f s after the deletion of %d pods has begun", 2*onEach, time.Since(began).Seconds(), onEach)
	p.RunsWith("gang", 2*onEach)
	p.checkRoom("gang")
}

// removeForeign deletes the pods of other clients on a node.
func (p *nodePool) removeForeign(node string) {
	p.t.Helper()
	harness.Must(p.t, p.cluster.Client.CoreV1().Pods(p.Namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "foreign=" + node}))
}
