package cluster

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// quickLease is a configuration with which a silent leader is replaced after two
// seconds; Kueue's default is fifteen.
func quickLease(t *testing.T, lease string) string {
	return writeFile(t, "config.yaml", `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
leaderElection: {leaderElect: true, leaseDuration: 2s, renewDeadline: 1500ms, retryPeriod: 300ms, resourceName: `+lease+`}
`)
}

const usualLease = "c1f6bfd2.kueue.x-k8s.io"

// leaseHolder is who leads; empty: nobody.
func leaseHolder(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	lease, err := cluster.Client.CoordinationV1().Leases("muster-system").Get(harness.Context(t), usualLease, metav1.GetOptions{})
	must(t, err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestLeaderGivesUpItsLeaseWhenItEnds(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.LaunchMuster(t, "--config", quickLease(t, usualLease))
	harness.Eventually(t, 20*time.Second, "a leader", func() error {
		if leaseHolder(t, cluster) == "" {
			return fmt.Errorf("nobody leads")
		}
		return nil
	})
	muster.Stop(t)
	if holder := leaseHolder(t, cluster); holder != "" {
		t.Errorf("the lease still belongs to %s", holder)
	}
}

// neverFree makes a Lease that stays with somebody else for the time of a test.
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

// A gang whose leader is killed at every stage: the barrier holds, opens once, and
// nothing is left over.
func TestGangStartsAlthoughLeadersAreKilled(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	flags := []string{"--jobset-controller", "native", "--waiter-image", harness.MusterImage}
	// One replica stays and serves the webhooks; it never leads.
	cluster.EnsureMusterNamespace(t)
	webhooks := harness.StartMuster(t, append(flags, "--config", quickLease(t, neverFree(t, cluster)))...)
	candidates := append(flags, "--config", quickLease(t, usualLease), "--webhook-url", webhooks.URL, "--no-keep-webhook-configurations")
	replicas := map[*harness.Muster]bool{}
	launch := func() { replicas[harness.LaunchMuster(t, candidates...)] = true }
	leader := func() *harness.Muster {
		t.Helper()
		var found *harness.Muster
		harness.Eventually(t, 20*time.Second, "a leader", func() error {
			for replica := range replicas {
				if replica.Leads(t) {
					found = replica
					return nil
				}
			}
			return fmt.Errorf("none of %d leads", len(replicas))
		})
		return found
	}
	killLeader := func() {
		t.Helper()
		found := leader()
		found.Kill(t)
		delete(replicas, found)
		launch()
	}
	launch()
	launch()
	leader()

	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: gated(harness.RealPod("sleep 600"), namespace)}), 300))
	killLeader() // while it makes the Jobs
	cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "waiting", harness.WaiterRuns)
	killLeader() // while the gang waits
	for _, pod := range cluster.PodsOfJobSet(t, namespace, "train") {
		if harness.MainStarted(&pod) {
			t.Errorf("%s did not wait", pod.Name)
		}
	}
	open(t, cluster, namespace)
	killLeader() // while it opens the barrier
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 3, time.Minute, "started", harness.MainStarted)
	checkStartedTogether(t, pods)
	must(t, cluster.Resource(t, harness.JobSetGroup, "JobSet", namespace).Delete(harness.Context(t), "train", metav1.DeleteOptions{}))
	awaitNothingLeft(t, cluster, namespace, "train")
}

func TestPodsOutsideOfGangsNeverReachMuster(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	before := muster.ResidentKiB(t)
	const foreign = 2000
	outcome := harness.Load(harness.Context(t), 32, foreign, func(number int) error {
		pod := harness.HollowPod(-1, 0)
		_, err := cluster.Client.CoreV1().Pods(namespace).Create(harness.Context(t), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("foreign-", number), Labels: map[string]string{"app": "foreign"}},
			Spec:       pod.Spec,
		}, metav1.CreateOptions{})
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	// A pod in JSON is some 5 kB; kept or only read, two thousand would show.
	if grown := muster.ResidentKiB(t) - before; grown > 2048 {
		t.Errorf("%d pods made muster grow by %d KiB", foreign, grown)
	}
}
