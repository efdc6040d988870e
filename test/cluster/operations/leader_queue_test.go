package operations

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Leaders are killed by SIGKILL while they admit: nothing is admitted twice, never more
// than there is, and all comes to its end.

func TestQuotaHoldsAlthoughLeadersAreKilled(t *testing.T) {
	killLeaders{kills: 3, workloads: 400, lease: 2 * time.Second, within: 10 * time.Second, config: func(lease string) string { return harness.QuickLease(t, lease) }}.run(t)
}

// MUSTER_SOAK=1: the same with the lease that users have, for a quarter of an hour.
func TestSoakLeadersAreKilledFiftyTimes(t *testing.T) {
	if !harness.Soak() {
		t.Skip("takes a quarter of an hour: set MUSTER_SOAK")
	}
	// The lease; up to 2.4 s until a follower has seen its last renewal (retryPeriod with jitter); up to 3 s until the
	// watches of the new leader have proved that they are current.
	killLeaders{kills: 50, workloads: 10_000, lease: 15 * time.Second, within: 21 * time.Second, config: func(lease string) string {
		return harness.WriteFile(t, "config.yaml", "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"+
			"leaderElection: {leaderElect: true, resourceName: "+lease+"}\n")
	}}.run(t)
}

type killLeaders struct {
	kills, workloads int
	lease            time.Duration
	within           time.Duration // from a kill to the next admission
	config           func(lease string) string
}

func (k killLeaders) run(t *testing.T) {
	cluster := harness.Connect(t)
	replicas := harness.StartFleet(t, cluster, k.config)
	// What this leaves is removed before the last replicas end.
	t.Run("they admit", func(t *testing.T) { k.admit(t, cluster, replicas) })
}

func (k killLeaders) admit(t *testing.T, cluster *harness.Cluster, replicas *harness.Fleet) {
	teams, quota, runner := harness.TwoSharingTeams(t, cluster)
	var killed []time.Time
	for batch := range k.kills + 1 {
		from, to := k.workloads*batch/(k.kills+1), k.workloads*(batch+1)/(k.kills+1)
		harness.CreateForTwo(t, cluster, teams.Namespace, from, to)
		if batch < k.kills {
			// Most of the batch waits: 20 run at a time.
			runner.Await(t, from+(to-from)/4)
			killed = append(killed, time.Now())
			replicas.KillLeader()
		}
		runner.Await(t, to)
	}
	made := quota.Check(t)
	if len(made) != k.workloads {
		t.Errorf("%d reservations for %d Workloads that nobody evicted", len(made), k.workloads)
	}
	k.checkGaps(t, killed, made)
	list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(teams.Namespace).List(context.Background(), metav1.ListOptions{})
	harness.Must(t, err)
	if len(list.Items) != k.workloads {
		t.Errorf("%d of %d Workloads are there", len(list.Items), k.workloads)
	}
	harness.Must(t, cluster.RemoveWorkloads(teams.Namespace))
}

// checkGaps demands that the next leader admits in time.
func (k killLeaders) checkGaps(t *testing.T, killed []time.Time, made []harness.Reservation) {
	t.Helper()
	var gaps []time.Duration
	for i := range killed {
		next := slices.IndexFunc(made, func(one harness.Reservation) bool { return one.At.After(killed[i].Add(k.lease / 2)) })
		if next < 0 {
			t.Errorf("kill %d: nothing was admitted afterwards", i+1)
			continue
		}
		gaps = append(gaps, made[next].At.Sub(killed[i]))
	}
	slices.Sort(gaps)
	if len(gaps) == 0 {
		return
	}
	harness.Figure(t, "%d kills, %d Workloads: from a kill to the next admission %.1f s at the median, %.1f s at most",
		k.kills, k.workloads, gaps[len(gaps)/2].Seconds(), gaps[len(gaps)-1].Seconds())
	if worst := gaps[len(gaps)-1]; worst > harness.Size(harness.UnderLoad(k.within), k.within) {
		t.Errorf("%s from a kill to the next admission", worst)
	}
}
