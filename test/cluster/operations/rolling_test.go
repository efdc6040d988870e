package operations

import (
	"context"
	"sync"
	"testing"

	"muster.batch/test/cluster/harness"
)

// Replicas are replaced as a rolling update of the shipped Deployment does it (one more, then
// one less), while Jobs are created: none is refused. The endpoints follow a pod's deletion a
// second late, as they do in a cluster; until then new connections come to a replica that has
// got SIGTERM.
func TestRollingUpdateRefusesNoJob(t *testing.T) {
	replacements, perSecond := harness.Size(3, 40), harness.Size(50, 200)
	cluster := harness.Connect(t)
	flags := harness.DeploymentFlags(t)
	service, replicas := harness.StartBehind(t, cluster, 2, flags...)
	namespace := cluster.Namespace(t, nil)
	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()

	var outcome harness.Outcome
	var load sync.WaitGroup
	load.Go(func() { outcome = harness.OpenLoad(ctx, perSecond, -1, harness.CreateQueued(ctx, cluster, namespace)) })
	var deleted []*harness.Muster
	for range replacements {
		replicas = append(replicas, harness.LaunchBehind(t, service, flags...))
		service.Delete(t, replicas[0])
		deleted, replicas = append(deleted, replicas[0]), replicas[1:]
	}
	for _, replica := range deleted {
		replica.WaitEnded(t)
	}
	cancel()
	load.Wait()
	harness.Figure(t, "%d replicas replaced at %d creates/s: %s", replacements, perSecond, outcome)
	if outcome.Failed > 0 {
		t.Errorf("%d creates failed: %s", outcome.Failed, outcome)
	}
}
