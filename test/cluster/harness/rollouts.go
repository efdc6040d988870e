package harness

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ReplacedUnderLoad installs muster as its page says, lets a Job run, and creates Jobs at a rate while `replace` replaces
// muster's pods. It fails if the pod of the running Job is another one afterwards; the creates are for the caller.
func ReplacedUnderLoad(t *testing.T, cluster *Cluster, perSecond int, replace func()) (creates Outcome) {
	t.Helper()
	cluster.RealNode(t)
	FollowPage(t, cluster, "install.md", "With Helm", "First queue and first Job")
	running := RealJob("running", 1, "sleep 3600")
	running.Labels = Queue("main")
	cluster.CreateJob(t, "default", running)
	before := cluster.WaitForPods(t, "default", "running", 1, time.Minute, "running", Phase(corev1.PodRunning))[0].UID

	ctx, cancel := context.WithCancel(Context(t))
	defer cancel()
	var load sync.WaitGroup
	load.Go(func() { creates = OpenLoad(ctx, perSecond, -1, CreateQueued(ctx, cluster, "default")) })
	replace()
	cancel()
	load.Wait()
	if after := cluster.PodsOfJob(t, "default", "running"); len(after) != 1 || after[0].UID != before {
		t.Error("the running Job's pod is another one")
	}
	return creates
}
