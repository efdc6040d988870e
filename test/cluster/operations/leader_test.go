package operations

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// leaseHolder is who leads; empty: no replica.
func leaseHolder(cluster *harness.Cluster) (string, error) {
	lease, err := cluster.Client.CoordinationV1().Leases("muster-system").Get(context.Background(), harness.UsualLease, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

func TestLeaderGivesUpItsLeaseWhenItEnds(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.LaunchMuster(t, "--config", harness.QuickLease(t, harness.UsualLease))
	harness.Eventually(t, 20*time.Second, "a leader", func() error {
		holder, err := leaseHolder(cluster)
		if err == nil && holder == "" {
			err = fmt.Errorf("nobody leads")
		}
		return err
	})
	muster.Stop(t)
	holder, err := leaseHolder(cluster)
	harness.Must(t, err)
	if holder != "" {
		t.Errorf("the lease still belongs to %s", holder)
	}
}

// A gang whose leader is killed at every stage: the barrier holds, opens once, and
// nothing is left over.
func TestGangStartsAlthoughLeadersAreKilled(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	replicas := harness.StartFleet(t, cluster, func(lease string) string { return harness.QuickLease(t, lease) },
		"--waiter-image", harness.MusterImage)
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.RealPod("sleep 600"), namespace)}), 300))
	replicas.KillLeader() // while it makes the Jobs
	cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "waiting", harness.WaiterRuns)
	replicas.KillLeader() // while the gang waits
	for _, pod := range cluster.PodsOfJobSet(t, namespace, "train") {
		if harness.MainStarted(&pod) {
			t.Errorf("%s did not wait", pod.Name)
		}
	}
	harness.OpenGate(t, cluster, namespace)
	replicas.KillLeader() // while it opens the barrier
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 3, time.Minute, "started", harness.MainStarted)
	harness.CheckStartedTogether(t, pods)
	harness.Must(t, cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Delete(harness.Context(t), "train", metav1.DeleteOptions{}))
	harness.AwaitNothingLeft(t, cluster, namespace, "train")
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
