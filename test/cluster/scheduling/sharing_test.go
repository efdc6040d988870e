package scheduling

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Queues in which muster's own scheduler decides, on a real API server. All share one
// muster and run side by side; what is reserved in the whole cluster is watched.

// decision is one thing that the scheduler does.
type decision struct {
	name string
	run  func(*testing.T, *harness.Teams)
}

func runDecisions(t *testing.T, cluster *harness.Cluster, decisions []decision) {
	t.Helper()
	quota := cluster.WatchQuota(t)
	t.Run("side by side", func(t *testing.T) {
		for _, each := range decisions {
			t.Run(each.name, func(t *testing.T) {
				t.Parallel()
				each.run(t, cluster.Teams(t))
			})
		}
	})
	if len(quota.Check(t)) == 0 {
		t.Error("the watch saw no reservation")
	}
	quota.CheckAlternation(t)
}

func TestQuotaIsSharedAndGivenBack(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	runDecisions(t, cluster, slices.Concat(sharing, queueOrders, changedQueues, brokenQueues))
}

func TestQuotaIsSharedAlthoughEveryWriteMeetsANewerVersion(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	wire := cluster.Wire(t)
	harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig)
	wire.Touch()
	runDecisions(t, cluster, []decision{sharing[0], sharing[2], changedQueues[1], changedQueues[3]})
	if wire.Conflicts() < 20 {
		t.Errorf("there were only %d conflicts; muster wrote\n%v", wire.Conflicts(), wire.Writes())
	}
}

var sharing = []decision{
	{"two teams borrow from each other and give back when the other comes", borrowAndGiveBack},
	{"a queue preempts a borrower of lower priority to borrow itself", borrowByPreemption},
	{"in one queue the higher priority preempts the lower, the younger first", preemptByPriority},
	{"a team that may not preempt waits until the borrower has finished", waitForBorrower},
	{"the second flavor takes what the first has no room for", nextFlavor},
	{"a Job that may run with fewer pods gets what there is", fewerPods},
}

// anyBorrower is the policy of a team that takes back what it lent.
var anyBorrower = map[string]any{"preemption": map[string]any{"reclaimWithinCohort": "Any"}}

func borrowAndGiveBack(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	for _, team := range []string{"a", "b"} {
		teams.Queue(team, teams.InCohort("all"), teams.Cpus("f=2"), anyBorrower)
	}
	ofA := []string{"a1", "a2", "a3", "a4"}
	for _, job := range ofA {
		teams.Job("a", job, 1, "1")
	}
	teams.Admitted(ofA...)
	teams.NextSecond()
	teams.Job("a", "a5", 1, "1")
	teams.Waits("a5", "WaitingForQuota", "insufficient unused quota for cpu")

	teams.Job("b", "b1", 2, "1")
	teams.Admitted("b1")
	kept := teams.AwaitSome(2, ofA...)
	for _, job := range ofA {
		if !slices.Contains(kept, job) {
			teams.Await(job, "was preempted and is queued again", harness.HasCondition("Evicted", "True", "Preempted"),
				harness.HasCondition("Preempted", "True", "InCohortReclamation"), harness.HasCondition("Requeued", "True", "Preempted"))
		}
	}
	teams.End("b1")
	teams.Admitted(ofA...)
	teams.End(kept...)
	teams.Admitted("a5")
}

func borrowByPreemption(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Class("low", 10)
	teams.Class("high", 100)
	teams.Queue("lender", teams.InCohort("all"), teams.Cpus("f=2"))
	teams.Queue("a", teams.InCohort("all"), teams.Cpus("f=0"))
	teams.Queue("b", teams.InCohort("all"), teams.Cpus("f=0"), map[string]any{"preemption": map[string]any{
		"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": map[string]any{"policy": "LowerPriority"},
	}})
	teams.Job("a", "low1", 1, "1", teams.OfClass("low"))
	teams.Job("a", "low2", 1, "1", teams.OfClass("low"))
	teams.Admitted("low1", "low2")
	teams.Job("b", "high", 1, "1", teams.OfClass("high"))
	teams.Admitted("high")
	teams.AwaitSome(1, "low1", "low2")
	teams.Job("b", "equal", 1, "1", teams.OfClass("low"))
	teams.Waits("equal", "WaitingForQuota")
}

func preemptByPriority(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Class("high", 100)
	teams.Queue("q", teams.Cpus("f=2"), map[string]any{"preemption": map[string]any{"withinClusterQueue": "LowerPriority"}})
	teams.Job("q", "old", 1, "1")
	teams.Admitted("old")
	teams.NextSecond()
	teams.Job("q", "young", 1, "1")
	teams.Admitted("young")
	teams.Job("q", "high", 1, "1", teams.OfClass("high"))
	teams.Admitted("high")
	young := teams.Await("young", "was preempted", harness.HasCondition("Preempted", "True", "InClusterQueue"), harness.Released)
	teams.Told("high", "PreemptedWorkload: Preempted workload "+teams.Namespace+"/"+young.GetName(),
		"preemptor effective priority: 100 (base: 100, boost: 0)")
	teams.Admitted("old")
	teams.End("high")
	teams.Admitted("young")
}

func waitForBorrower(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("a", teams.InCohort("all"), teams.Cpus("f=1"))
	teams.Queue("b", teams.InCohort("all"), teams.Cpus("f=1+0"))
	teams.Job("a", "borrower", 2, "1")
	teams.Admitted("borrower")
	teams.Job("b", "owner", 1, "1")
	teams.Waits("owner", "WaitingForQuota", "insufficient unused quota for cpu")
	teams.Job("b", "greedy", 2, "1")
	teams.Waits("greedy", "ExceedsMaxQuota", "insufficient quota for cpu")
	teams.End("borrower")
	teams.Admitted("owner")
}

func nextFlavor(t *testing.T, teams *harness.Teams) {
	teams.Flavor("first")
	teams.Flavor("second")
	teams.Queue("q", teams.Cpus("first=1", "second=1"))
	for _, each := range []struct{ job, flavor string }{{"one", "first"}, {"two", "second"}} {
		teams.Job("q", each.job, 1, "1")
		workload := teams.Await(each.job, "is admitted", harness.HasCondition("Admitted", "True", ""))
		if flavor := teams.FlavorOf(workload); flavor != each.flavor {
			t.Errorf("%s got flavor %s", each.job, flavor)
		}
	}
	teams.Job("q", "three", 1, "1")
	teams.Waits("three", "WaitingForQuota", teams.Name("first"), teams.Name("second"))
}

func fewerPods(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=2"))
	teams.Job("q", "train", 4, "1", func(job *batchv1.Job) { job.Annotations = map[string]string{harness.MinParallelism: "1"} })
	workload := teams.Await("train", "is admitted", harness.HasCondition("Admitted", "True", ""))
	podSets, _, _ := unstructured.NestedSlice(workload.Object, "status", "admission", "podSetAssignments")
	if count := podSets[0].(map[string]any)["count"]; count != int64(2) {
		t.Errorf("it got %v pods", count)
	}
	teams.RunsWith("train", 2)
}

var queueOrders = []decision{
	{"behind a head that does not fit a strict queue admits nobody", strictOrder},
	{"behind a head that does not fit a best-effort queue admits who fits", bestEffortOrder},
}

// behindAHead leaves a small Job behind one that needs what another still uses.
func behindAHead(teams *harness.Teams, strategy string) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=2"), map[string]any{"queueingStrategy": strategy})
	teams.Job("q", "first", 1, "1")
	teams.Admitted("first")
	teams.Job("q", "large", 1, "2")
	teams.Waits("large", "WaitingForQuota", "1 more needed")
	teams.Job("q", "small", 1, "1")
}

func strictOrder(t *testing.T, teams *harness.Teams) {
	behindAHead(teams, "StrictFIFO")
	teams.Await("small", "is there")
	teams.End("first")
	teams.Admitted("large")
	teams.Waits("small", "WaitingForQuota")
	teams.End("large")
	teams.Admitted("small")
}

func bestEffortOrder(t *testing.T, teams *harness.Teams) {
	behindAHead(teams, "BestEffortFIFO")
	teams.Admitted("small")
	teams.End("first", "small")
	teams.Admitted("large")
}
