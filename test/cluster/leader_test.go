package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// quickLease is a configuration with which a silent leader is replaced after two
// seconds; Kueue's default is fifteen. `more` is a further part of it.
func quickLease(t *testing.T, lease string, more ...string) string {
	return writeFile(t, "config.yaml", `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
leaderElection: {leaderElect: true, leaseDuration: 2s, renewDeadline: 1500ms, retryPeriod: 300ms, resourceName: `+lease+`}
`+strings.Join(more, "\n"))
}

const queuedJobSets = "integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n"

const usualLease = "c1f6bfd2.kueue.x-k8s.io"

// leaseHolder is who leads; empty: no replica.
func leaseHolder(cluster *harness.Cluster) (string, error) {
	lease, err := cluster.Client.CoordinationV1().Leases("muster-system").Get(context.Background(), usualLease, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

func TestLeaderGivesUpItsLeaseWhenItEnds(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.LaunchMuster(t, "--config", quickLease(t, usualLease))
	harness.Eventually(t, 20*time.Second, "a leader", func() error {
		holder, err := leaseHolder(cluster)
		if err == nil && holder == "" {
			err = fmt.Errorf("nobody leads")
		}
		return err
	})
	muster.Stop(t)
	holder, err := leaseHolder(cluster)
	must(t, err)
	if holder != "" {
		t.Errorf("the lease still belongs to %s", holder)
	}
}

// neverFree makes a Lease that stays with another holder for the time of a test.
func neverFree(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	holder, hour, now := "nobody", int32(3600), metav1.NowMicro()
	_, err := cluster.Client.CoordinationV1().Leases("muster-system").Create(harness.Context(t), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "never-free"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &hour, RenewTime: &now},
	}, metav1.CreateOptions{})
	must(t, err)
	return "never-free"
}

// fleet is two replicas of which one leads, and a third that never leads and serves the
// webhooks.
type fleet struct {
	t        *testing.T
	flags    []string
	replicas map[*harness.Muster]bool
}

// startFleet starts it; `config` makes the configuration for a lease of that name.
func startFleet(t *testing.T, cluster *harness.Cluster, config func(lease string) string, flags ...string) *fleet {
	t.Helper()
	cluster.EnsureMusterNamespace(t)
	webhooks := startQueueMuster(t, append(flags, "--config", config(neverFree(t, cluster)))...)
	f := &fleet{t, append(flags, "--jobset-controller", "native", "--config", config(usualLease), "--webhook-url", webhooks.URL,
		"--no-keep-webhook-configurations"), map[*harness.Muster]bool{}}
	f.launch()
	f.launch()
	f.leader()
	return f
}

func (f *fleet) launch() { f.replicas[harness.LaunchMuster(f.t, f.flags...)] = true }

func (f *fleet) leader() *harness.Muster {
	f.t.Helper()
	var found *harness.Muster
	harness.Eventually(f.t, time.Minute, "a leader", func() error {
		for replica := range f.replicas {
			if replica.Leads(f.t) {
				found = replica
				return nil
			}
		}
		return fmt.Errorf("none of %d leads", len(f.replicas))
	})
	return found
}

// killLeader kills it with SIGKILL and starts another replica.
func (f *fleet) killLeader() {
	f.t.Helper()
	found := f.leader()
	found.Kill(f.t)
	delete(f.replicas, found)
	f.launch()
}

// A gang whose leader is killed at every stage: the barrier holds, opens once, and
// nothing is left over.
func TestGangStartsAlthoughLeadersAreKilled(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	replicas := startFleet(t, cluster, func(lease string) string { return quickLease(t, lease) }, "--waiter-image", harness.MusterImage)
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: gated(harness.RealPod("sleep 600"), namespace)}), 300))
	replicas.killLeader() // while it makes the Jobs
	cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "waiting", harness.WaiterRuns)
	replicas.killLeader() // while the gang waits
	for _, pod := range cluster.PodsOfJobSet(t, namespace, "train") {
		if harness.MainStarted(&pod) {
			t.Errorf("%s did not wait", pod.Name)
		}
	}
	open(t, cluster, namespace)
	replicas.killLeader() // while it opens the barrier
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 3, time.Minute, "started", harness.MainStarted)
	checkStartedTogether(t, pods)
	must(t, cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Delete(harness.Context(t), "train", metav1.DeleteOptions{}))
	awaitNothingLeft(t, cluster, namespace, "train")
}

func TestPodsOutsideOfGangsNeverReachMuster(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	before := muster.ResidentKiB(t)
	foreign, most := harness.Size(3000, 100_000), harness.Size(2, 10)
	ctx := harness.Context(t)
	outcome := harness.Load(ctx, 32, foreign, func(number int) error {
		pod := harness.HollowPod(-1, 0)
		pod.Spec.SchedulerName = "nobody"
		_, err := cluster.Client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("foreign-", number), Labels: map[string]string{"app": "foreign"}},
			Spec:       pod.Spec,
		}, metav1.CreateOptions{})
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	// A pod in JSON is some 5 kB; kept or only read, three thousand would show.
	grown := muster.ResidentKiB(t) - before
	harness.Figure(t, "%d foreign pods: muster grew by %.1f MiB", foreign, float64(grown)/1024)
	if grown > most*1024 {
		t.Errorf("%d pods made muster grow by %d KiB", foreign, grown)
	}
}
