package operations

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.batch/test/cluster/harness"
)

// Muster in two pods of its chart on a kubelet: the Deployment is rolled 20 times under 50 creates a second. No create is
// refused, each pod is replaced each time, and the pod of a running Job stays.
func TestSoakPodsAreRolledTwentyTimes(t *testing.T) {
	const rollouts, perSecond = 20, 50
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	harness.FollowPage(t, cluster, "install.md", "With Helm", "First queue and first Job")
	running := harness.RealJob("running", 1, "sleep 3600")
	running.Labels = harness.Queue("main")
	cluster.CreateJob(t, "default", running)
	before := cluster.WaitForPods(t, "default", "running", 1, time.Minute, "running", harness.Phase(corev1.PodRunning))[0].UID

	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()
	var outcome harness.Outcome
	var load sync.WaitGroup
	load.Go(func() { outcome = harness.OpenLoad(ctx, perSecond, -1, harness.CreateQueued(ctx, cluster, "default")) })
	seen, began := map[string]bool{}, time.Now()
	for range rollouts {
		for _, pod := range harness.MusterPods(t, cluster) {
			seen[pod.Name] = true
		}
		if said, err := cluster.Shell(t, `kubectl -n muster-system rollout restart deployment/muster
kubectl -n muster-system rollout status deployment/muster --timeout 2m`); err != nil {
			t.Fatalf("%v\n%s\n%s", err, said, harness.ClusterState(cluster))
		}
		for _, pod := range harness.MusterPods(t, cluster) {
			if seen[pod.Name] && pod.DeletionTimestamp == nil {
				t.Fatalf("%s was not replaced", pod.Name)
			}
		}
	}
	cancel()
	load.Wait()
	harness.Figure(t, "two pods replaced %d times in %.0f s at %d creates/s: %s", rollouts, time.Since(began).Seconds(), perSecond, outcome)
	if outcome.Failed > 0 || outcome.Total() < perSecond*rollouts {
		t.Errorf("creates: %s", outcome)
	}
	if after := cluster.PodsOfJob(t, "default", "running"); len(after) != 1 || after[0].UID != before {
		t.Error("the running Job's pod is another one")
	}
}
