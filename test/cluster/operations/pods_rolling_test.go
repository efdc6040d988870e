package operations

import (
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// Muster in two pods of its chart on a kubelet: the Deployment is rolled 20 times under 50 creates a second. No create is
// refused, each pod is replaced each time, and the pod of a running Job stays.
func TestSoakPodsAreRolledTwentyTimes(t *testing.T) {
	const rollouts, perSecond = 20, 50
	cluster := harness.OwnLab(t)
	seen, began := map[string]bool{}, time.Time{}
	outcome := harness.ReplacedUnderLoad(t, cluster, perSecond, func() {
		began = time.Now()
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
	})
	harness.Figure(t, "two pods replaced %d times in %.0f s at %d creates/s: %s", rollouts, time.Since(began).Seconds(), perSecond, outcome)
	if outcome.Failed > 0 || outcome.Total() < perSecond*rollouts {
		t.Errorf("creates: %s", outcome)
	}
}
