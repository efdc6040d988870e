package operations

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// The API server is killed by SIGKILL while muster admits, and comes back on the same data:
// muster goes on by itself, nothing is admitted twice, and all comes to its end.

func TestQueuesSurviveAnApiServerRestart(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	for _, each := range []struct {
		name   string
		config string
	}{
		{"a leader that keeps its lease goes on", harness.WriteFile(t, "config.yaml",
			"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"+
				"leaderElection: {leaderElect: true, resourceName: "+harness.UsualLease+"}\n")},
		{"a leader that has lost its lease meanwhile leads again", harness.QuickLease(t, harness.UsualLease)},
	} {
		t.Run(each.name, func(t *testing.T) {
			muster := harness.StartQueueMuster(t, "--config", each.config)
			admitThroughACrash(t, cluster, muster)
		})
	}
}

func admitThroughACrash(t *testing.T, cluster *harness.Cluster, muster *harness.Muster) {
	const workloads, within = 300, 20 * time.Second
	teams, quota, runner := harness.TwoSharingTeams(t, cluster)
	harness.CreateForTwo(t, cluster, teams.Namespace, 0, workloads)
	runner.Await(t, workloads/10)

	away := cluster.CrashAPIServer(t)
	back := time.Now()
	left, err := neverAdmitted(cluster, teams.Namespace)
	harness.Must(t, err)
	if left == 0 {
		t.Fatal("nothing was left to admit")
	}
	harness.Eventually(t, within, "muster admits again", func() error {
		now, err := neverAdmitted(cluster, teams.Namespace)
		if err == nil && now == left {
			err = fmt.Errorf("%d still wait", now)
		}
		return err
	})
	t.Logf("%d of %d Workloads waited while the API server was away for %.1f s; %.1f s later the next was admitted",
		left, workloads, away.Seconds(), time.Since(back).Seconds())

	runner.Await(t, workloads)
	if made := quota.Check(t); len(made) != workloads {
		t.Errorf("%d reservations for %d Workloads that nobody evicted", len(made), workloads)
	}
	harness.Must(t, cluster.RemoveWorkloads(teams.Namespace))
	// A Job needs all watches of muster's, its webhooks, and the cluster's own controllers,
	// which the next test needs too.
	teams.Job("a", "afterwards", 1, "1")
	teams.RunsWith("afterwards", 1)
	teams.End("afterwards")
	if muster.Slain() {
		t.Error("muster has ended")
	}
}

// neverAdmitted counts the Workloads that have had no quota yet.
func neverAdmitted(cluster *harness.Cluster, namespace string) (count int, err error) {
	list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range list.Items {
		if harness.HasCondition("QuotaReserved", "True", "")(&list.Items[i]) != nil &&
			harness.HasCondition("Finished", "True", "")(&list.Items[i]) != nil {
			count++
		}
	}
	return count, nil
}
