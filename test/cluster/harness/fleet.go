package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TwoSharingTeams are a and b, with ten cpus each that they lend to each other; what is
// admitted there runs for 300 ms, and what is reserved is watched.
func TwoSharingTeams(t *testing.T, cluster *Cluster) (*Teams, *Quota, *Runner) {
	t.Helper()
	teams := cluster.Teams(t)
	teams.Flavor("f")
	for _, team := range []string{"a", "b"} {
		teams.Queue(team, teams.InCohort("all"), teams.Cpus("f=10"))
	}
	return teams, cluster.WatchQuota(t), cluster.RunAdmitted(t, teams.Namespace, 300*time.Millisecond)
}

// CreateForTwo makes the Workloads of these numbers, for the teams a and b.
func CreateForTwo(t *testing.T, cluster *Cluster, namespace string, from, to int) {
	t.Helper()
	outcome := Load(context.Background(), 8, to-from, func(number int) error {
		workload := JoblessWorkload(fmt.Sprint("w-", from+number), []string{"a", "b"}[number%2], 1)
		_, err := cluster.Dynamic.Resource(Workloads).Namespace(namespace).Create(context.Background(), workload, ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
}

// QuickLease is a configuration with which a silent leader is replaced after two
// seconds; Kueue's default is fifteen. `more` is a further part of it.
func QuickLease(t *testing.T, lease string, more ...string) string {
	return WriteFile(t, "config.yaml", `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
leaderElection: {leaderElect: true, leaseDuration: 2s, renewDeadline: 1500ms, retryPeriod: 300ms, resourceName: `+lease+`}
`+strings.Join(more, "\n"))
}

// QueuedJobSetsConfig is the part of a configuration that queues Jobs and JobSets alone.
const QueuedJobSetsConfig = "integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n"

// UsualLease is the lease that muster holds if its configuration names no other.
const UsualLease = "c1f6bfd2.kueue.x-k8s.io"

// NeverFreeLease makes a Lease that stays with another holder for the time of a test.
func NeverFreeLease(t *testing.T, cluster *Cluster) string {
	t.Helper()
	holder, hour, now := "nobody", int32(3600), metav1.NowMicro()
	_, err := cluster.Client.CoordinationV1().Leases("muster-system").Create(Context(t), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "never-free"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &hour, RenewTime: &now},
	}, metav1.CreateOptions{})
	Must(t, err)
	return "never-free"
}

// Fleet is two replicas of which one leads, and a third that never leads and serves the
// webhooks.
type Fleet struct {
	t        *testing.T
	flags    []string
	Replicas map[*Muster]bool
}

// StartFleet starts the replicas; `config` makes the configuration for a lease of that name.
func StartFleet(t *testing.T, cluster *Cluster, config func(lease string) string, flags ...string) *Fleet {
	t.Helper()
	cluster.EnsureMusterNamespace(t)
	webhooks := StartQueueMuster(t, append(flags, "--config", config(NeverFreeLease(t, cluster)))...)
	f := &Fleet{t, append(flags, "--jobset-controller", "native", "--config", config(UsualLease), "--webhook-url", webhooks.URL,
		"--no-keep-webhook-configurations"), map[*Muster]bool{}}
	f.launch()
	f.launch()
	f.leader()
	return f
}

func (f *Fleet) launch() { f.Replicas[LaunchMuster(f.t, f.flags...)] = true }

func (f *Fleet) leader() *Muster {
	f.t.Helper()
	var found *Muster
	Eventually(f.t, time.Minute, "a leader", func() error {
		for replica := range f.Replicas {
			if replica.Leads(f.t) {
				found = replica
				return nil
			}
		}
		return fmt.Errorf("none of %d leads", len(f.Replicas))
	})
	return found
}

// KillLeader kills it with SIGKILL and starts another replica.
func (f *Fleet) KillLeader() {
	f.t.Helper()
	found := f.leader()
	found.Kill(f.t)
	delete(f.Replicas, found)
	f.launch()
}
