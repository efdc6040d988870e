package scheduling

import (
	"fmt"
	"testing"

	"muster.batch/test/cluster/harness"
)

// KEP-1282: to whom the quota of a late Workload goes, and where in the queue and on which
// flavor it comes back.

func TestLateWorkloadsThatKeepTheirPlace(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	its := measurePace(t, cluster)
	startPodsReadyMuster(t, its.late, fmt.Sprintf("requeuingStrategy: {timestamp: Creation, backoffBaseSeconds: %d}", its.backoff))
	runDecisions(t, cluster, []decision{
		{"a late Workload comes back before who has waited since and on the flavor that has become free", func(t *testing.T, teams *harness.Teams) {
			lateComesBack(t, cluster, teams, "late", "other")
		}},
	})
}

// lateComesBack is the KEP's story 1: there are no nodes of the second flavor, and while
// the Workload that got it waits for its next try, the first one becomes free.
func lateComesBack(t *testing.T, cluster *harness.Cluster, teams *harness.Teams, first, second string) {
	timeline := cluster.Timeline(t, teams.Namespace)
	teams.Flavor("first")
	teams.SoldOut("second")
	teams.Queue("q", teams.Cpus("first=1", "second=1"))
	teams.Job("q", "runs", 1, "1")
	teams.RunsWith("runs", 1)
	teams.Job("q", "late", 1, "1")
	late := teams.Await("late", "is admitted", harness.HasCondition("PodsReady", "False", "WaitForStart"), harness.HasCondition("Admitted", "True", ""))
	if flavor := teams.FlavorOf(late); flavor != "second" {
		t.Errorf("it got the flavor %s", flavor)
	}
	// So that no other Workload tries the second flavor during that time.
	teams.Change("q", teams.Cpus("first=1", "second=0"))
	teams.NextSecond()
	// Not of the same size: of those that are alike only the first gets the reason why it waits.
	teams.Job("q", "other", 1, "900m")
	teams.Waits("other", "WaitingForQuota", teams.Name("first"), teams.Name("second"))

	evicted := teams.Await("late", "is evicted", harness.HasCondition("Evicted", "True", "PodsReadyTimeout"),
		harness.HasCondition("Requeued", "False", "PodsReadyTimeout"), harness.Released, tries(1))
	if evictions(evicted, "PodsReadyTimeout", "WaitForStart") != 1 {
		t.Errorf("its evictions are counted as %v", evicted.Object["status"])
	}
	teams.Await("late", "comes back after its backoff", harness.HasCondition("Requeued", "True", "BackoffFinished"), tries(1))
	teams.Waits("late", "WaitingForQuota")
	teams.Waits("other", "WaitingForQuota")
	teams.End("runs")
	teams.RunsWith(first, 1)
	teams.Waits(second, "WaitingForQuota")
	// A Job that ends before its ready pods are counted was never ready.
	teams.Await(first, "is ready", harness.HasCondition("PodsReady", "True", "Started"))
	teams.End(first)
	teams.RunsWith(second, 1)
	for _, job := range []string{"late", "other"} {
		workload := teams.Await(job, "was ready", harness.HasCondition("PodsReady", "True", "Started"))
		if flavor := teams.FlavorOf(workload); flavor != "first" {
			t.Errorf("%s got the flavor %s", job, flavor)
		}
	}
	timeline.Check(t)
}

// lateQuotaGoesOn: the pods that no node takes are many, and the next Job needs the quota of
// all of them.
func lateQuotaGoesOn(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	timeline, quota := cluster.Timeline(t, teams.Namespace), cluster.WatchQuota(t)
	const pods = 10
	teams.SoldOut("f")
	teams.Queue("q", teams.Cpus("f=10"))
	teams.Job("q", "late", pods, "1")
	teams.Admitted("late")
	teams.Job("q", "next", pods, "1")
	teams.Waits("next", "WaitingForQuota", "insufficient unused quota for cpu")
	teams.Await("late", "is evicted", harness.HasCondition("Evicted", "True", "PodsReadyTimeout"), harness.Released, tries(1))
	teams.Await("next", "has the quota", harness.HasCondition("QuotaReserved", "True", ""))
	timeline.Check(t)
	if made := quota.Check(t); len(made) < 2 {
		t.Errorf("the watch saw the reservations %v", made)
	}
}
