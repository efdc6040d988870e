package operations

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// muster's watches are held while Workloads come and end, and then the API server has
// forgotten the versions at which they stood: muster lists each kind again, at most once a
// second, admits what waits soon after, and reserves nothing twice.
func TestWatchesThatWereCompactedAreListedAnew(t *testing.T) {
	const batch = 10
	rounds, within := harness.Size(3, 50), harness.Bound(2*time.Second)
	cluster := harness.Connect(t)
	wire := cluster.Wire(t)
	harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig)
	teams, quota, runner := harness.TwoSharingTeams(t, cluster)
	harness.CreateForTwo(t, cluster, teams.Namespace, 0, batch)
	runner.Await(t, batch)

	relisted := map[string][]time.Time{}
	for round := 1; round <= rounds; round++ {
		wire.HoldWatches()
		harness.CreateForTwo(t, cluster, teams.Namespace, round*batch, (round+1)*batch)
		before := len(wire.Lists()["workloads"])
		wire.Expire()
		harness.Eventually(t, time.Minute, "muster lists Workloads again", func() error {
			if len(wire.Lists()["workloads"]) == before {
				return fmt.Errorf("%d kinds are yet to be watched", wire.Unexpired())
			}
			return nil
		})
		runner.Await(t, (round+1)*batch)
	}
	for kind, lists := range wire.Lists() {
		for i := range lists {
			relisted[kind] = append(relisted[kind], lists[i].Ended)
			if i > 0 && lists[i].Began.Sub(lists[i-1].Began) < 950*time.Millisecond {
				t.Errorf("%s were listed twice within %s", kind, lists[i].Began.Sub(lists[i-1].Began))
			}
		}
	}
	made := quota.Check(t)
	if len(made) != batch*(rounds+1) {
		t.Errorf("%d reservations for %d Workloads that nobody evicted", len(made), batch*(rounds+1))
	}
	checkConverged(t, relisted["workloads"], made, within)
	harness.Must(t, cluster.RemoveWorkloads(teams.Namespace))
}

// checkConverged demands that each reservation was made soon after the last list before it
// had ended. Those of a list that was no relist, the first, do not count.
func checkConverged(t *testing.T, relisted []time.Time, made []harness.Reservation, within time.Duration) {
	t.Helper()
	var took []time.Duration
	for _, one := range made {
		last := slices.IndexFunc(relisted, func(at time.Time) bool { return at.After(one.At) })
		if last < 0 {
			last = len(relisted)
		}
		if last >= 2 {
			took = append(took, one.At.Sub(relisted[last-1]))
		}
	}
	slices.Sort(took)
	if len(took) == 0 {
		t.Fatal("nothing was admitted after a relist")
	}
	harness.Figure(t, "%d relists, %d admissions after one: %s at the median, %s at most", len(relisted)-1, len(took),
		took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	if most := took[len(took)-1]; most > within {
		t.Errorf("%s from a relist to an admission, %s are allowed", most, within)
	}
}
