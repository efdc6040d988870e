package operations

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Two replicas of 0.5 CPU and 128 MiB take a thousand queued Jobs. Then their node is drained while more are created: one
// replica goes, the other stays, because it is the last, and no create is refused.
func TestTwoSmallReplicasSurviveADrain(t *testing.T) {
	cluster := harness.OwnLab(t)
	node := cluster.RealNode(t)
	if said, err := cluster.Shell(t, harness.HelmWith("install", "--set resources.limits.cpu=500m --set resources.limits.memory=128Mi")+harness.PageCommands(t, "install.md")["With Helm"]); err != nil {
		t.Fatalf("%v\n%s\n%s", err, said, harness.ClusterState(cluster))
	}
	harness.FollowPage(t, cluster, "install.md", "First queue and first Job")
	const jobs = 1000
	outcome := harness.Load(harness.Context(t), harness.Fewer(8), jobs, func(number int) error {
		job := harness.Job(fmt.Sprintf("many-%d", number), harness.Queue("main"))
		_, err := cluster.Client.BatchV1().Jobs("default").Create(harness.Context(t), job, harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatalf("creates: %s", outcome)
	}
	harness.Eventually(t, 2*time.Minute, "every Job has a Workload", func() error {
		list, err := harness.InVersion(cluster, harness.NewVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
		if err == nil && len(list.Items) < jobs {
			err = fmt.Errorf("%d Workloads", len(list.Items))
		}
		return err
	})
	if count := harness.ReadyMusterPods(t, cluster); count != 2 {
		t.Fatalf("%d replicas are ready", count)
	}

	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()
	var load sync.WaitGroup
	perSecond := harness.Fewer(20)
	load.Go(func() { outcome = harness.OpenLoad(ctx, perSecond, -1, harness.CreateQueued(ctx, cluster, "default")) })
	said, err := cluster.TryKubectl("", "drain", node, "--pod-selector=app.kubernetes.io/name=muster", "--timeout=15s", "--ignore-daemonsets")
	if err == nil || !strings.Contains(said+err.Error(), "disruption budget") {
		t.Errorf("the drain ends with %v\n%s", err, said)
	}
	if count := harness.ReadyMusterPods(t, cluster); count != 1 {
		t.Errorf("%d replicas are ready on a node that is drained", count)
	}
	cluster.Kubectl(t, "", "uncordon", node)
	harness.Eventually(t, time.Minute, "two replicas are ready again", func() error {
		if count := harness.ReadyMusterPods(t, cluster); count != 2 {
			return fmt.Errorf("%d are", count)
		}
		return nil
	})
	cancel()
	load.Wait()
	if outcome.Failed > 0 || outcome.Total() < 5*perSecond {
		t.Errorf("creates during the drain: %s", outcome)
	}
	for _, pod := range harness.MusterPods(t, cluster) {
		if limit := pod.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]; limit.String() != "128Mi" {
			t.Errorf("%s may use %s", pod.Name, limit.String())
		}
	}
}
