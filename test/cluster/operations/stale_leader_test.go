package operations

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// A replica whose watches are silent becomes the leader. It cannot know what the leader before it admitted, so it
// admits no Workload; and since its watches do not catch up, it gives the Lease to a replica that sees the cluster.
func TestALeaderWhoseWatchesAreSilentDecidesNothing(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	cluster.EnsureMusterNamespace(t)
	webhooks := harness.StartQueueMuster(t, "--config", harness.QuickLease(t, harness.NeverFreeLease(t, cluster)))
	flags := []string{"--config", harness.QuickLease(t, harness.UsualLease), "--webhook-url", webhooks.URL,
		"--no-keep-webhook-configurations", "--no-metrics-authorization"}
	first := harness.LaunchMuster(t, append(flags, "--kubeconfig", cluster.Kubeconfig)...)
	awaitLeader(t, first)
	wire := cluster.Wire(t)
	blind := harness.LaunchMuster(t, append(flags, "--kubeconfig", wire.Kubeconfig)...)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=1"), nil)

	wire.HoldWatches()
	teams.Job("a", "early", 1, "1")
	teams.Admitted("early")
	teams.Job("a", "late", 1, "1")
	first.Stop(t)
	awaitLeader(t, blind)
	harness.Eventually(t, 30*time.Second, "the replica gives up", func() error {
		if !strings.Contains(blind.Log(t), "this replica gives up leadership") {
			return errors.New("it does not")
		}
		return nil
	})
	onlyEarly := func() {
		t.Helper()
		admitted, err := teams.AdmittedOf("early", "late")
		harness.Must(t, err)
		if !slices.Equal(admitted, []string{"early"}) {
			t.Fatalf("admitted: %v", admitted)
		}
	}
	onlyEarly()

	third := harness.LaunchMuster(t, append(flags, "--kubeconfig", cluster.Kubeconfig)...)
	awaitLeader(t, third)
	if blind.Leads(t) {
		t.Error("a replica whose watches are silent leads again")
	}
	teams.Waits("late", "WaitingForQuota")
	onlyEarly()
	third.Stop(t)
	// Its watches break at last, so that it lists, and takes part again.
	wire.Expire()
	awaitLeader(t, blind)
	teams.Change("a", teams.Cpus("f=2"))
	teams.Admitted("early", "late")
}
