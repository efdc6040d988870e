package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"muster.batch/test/cluster/harness"
)

// TestBenchHollowGang measures the floor under every figure about large gangs:
// one Job of MUSTER_BENCH_PODS pods with hand-written waiters, without muster.
func TestBenchHollowGang(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("MUSTER_BENCH_PODS"))
	if count == 0 {
		t.Skip("a benchmark: set MUSTER_BENCH_PODS to the size of the gang")
	}
	cluster := harness.Connect(t)
	if nodes := cluster.HollowNodes(t); nodes*1000 < count {
		t.Fatalf("%d hollow nodes take 1000 pods each", nodes)
	}
	namespace := cluster.Namespace(t, nil)
	seen := watchPods(t, cluster, namespace)
	job := harness.HollowJob("gang", int32(count))
	harness.AddWaiter(&job.Spec.Template, "gate")

	began := time.Now()
	cluster.CreateJob(t, namespace, job)
	for _, stage := range []string{"created", "bound", "waiting"} {
		seen.await(t, stage, count)
		fmt.Printf("%d pods %s after %.1f s\n", count, stage, time.Since(began).Seconds())
	}
	began = time.Now()
	harness.WriteDecision(t, cluster, namespace, "gate", map[string]string{"started": harness.WaiterToken})
	harness.NudgePods(t, cluster, namespace, cluster.PodsOfJob(t, namespace, "gang"))
	fmt.Printf("all nudged %.1f s after the decision\n", time.Since(began).Seconds())
	seen.await(t, "running", count)
	fmt.Printf("all running %.1f s after the decision\n", time.Since(began).Seconds())
}

// podStages counts the pods of a namespace that have come to a stage of life.
type podStages struct {
	mutex  sync.Mutex
	counts map[string]map[types.UID]bool
}

func watchPods(t *testing.T, cluster *harness.Cluster, namespace string) *podStages {
	t.Helper()
	s := &podStages{counts: map[string]map[types.UID]bool{"created": {}, "bound": {}, "waiting": {}, "nudged": {}, "running": {}}}
	note := func(object any) {
		pod := object.(*corev1.Pod)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.counts["created"][pod.UID] = true
		if pod.Spec.NodeName != "" {
			s.counts["bound"][pod.UID] = true
		}
		if harness.WaiterRuns(pod) {
			s.counts["waiting"][pod.UID] = true
		}
		if pod.Annotations[harness.NudgeAnnotation] != "" {
			s.counts["nudged"][pod.UID] = true
		}
		if pod.Status.Phase == corev1.PodRunning {
			s.counts["running"][pod.UID] = true
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(cluster.Client, 0, informers.WithNamespace(namespace))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    note,
		UpdateFunc: func(_, after any) { note(after) },
	})
	harness.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return s
}

func (s *podStages) await(t *testing.T, stage string, count int) {
	t.Helper()
	s.awaitWithin(t, stage, count, 5*time.Minute)
}

func (s *podStages) awaitWithin(t *testing.T, stage string, count int, within time.Duration) {
	t.Helper()
	harness.Eventually(t, within, "pods "+stage, func() error {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if reached := len(s.counts[stage]); reached < count {
			return fmt.Errorf("%d of %d", reached, count)
		}
		return nil
	})
}
