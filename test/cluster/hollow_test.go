package cluster

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"muster.batch/test/cluster/harness"
)

// hollowJob is a Job of that size on the hollow nodes.
func hollowJob(name string, pods int32) *batchv1.Job {
	job := harness.Job(name, nil)
	job.Spec.Parallelism, job.Spec.Completions = &pods, &pods
	harness.OnHollowNodes(&job.Spec.Template.Spec)
	return job
}

func TestHollowNodesRunAJob(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	namespace := cluster.Namespace(t, nil)
	job := hollowJob("fifty", 50)
	job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: "0"}

	cluster.CreateJob(t, namespace, job)
	cluster.WaitForPods(t, namespace, "fifty", 50, time.Minute, "succeeded", harness.Phase(corev1.PodSucceeded))
	cluster.WaitForJob(t, namespace, "fifty", time.Minute, batchv1.JobComplete)
}

func TestHollowPodEndsAsAnnotated(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	namespace := cluster.Namespace(t, nil)
	job := hollowJob("failing", 1)
	job.Spec.BackoffLimit = new(int32)
	job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: "1", harness.HollowExitCode: "3"}

	cluster.CreateJob(t, namespace, job)
	pod := cluster.WaitForPods(t, namespace, "failing", 1, time.Minute, "failed", harness.Phase(corev1.PodFailed))[0]
	if code := harness.ExitCode(t, &pod, "main"); code != 3 {
		t.Errorf("exit code %d", code)
	}
	cluster.WaitForJob(t, namespace, "failing", time.Minute, batchv1.JobFailed)
}

func TestHollowPodsKeepTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	for key, end := range barrierEnds {
		t.Run(key, func(t *testing.T) {
			namespace := cluster.Namespace(t, nil)
			job := hollowJob("gang", end.pods)
			job.Spec.BackoffLimit = new(int32)
			wait(&job.Spec.Template, "gate")
			cluster.CreateJob(t, namespace, job)
			pods := cluster.WaitForPods(t, namespace, "gang", int(end.pods), time.Minute, "waiting", harness.WaiterRuns)

			decide(t, cluster, namespace, "gate", map[string]string{key: token})
			nudge(t, cluster, namespace, pods)
			for _, pod := range cluster.WaitForPods(t, namespace, "gang", int(end.pods), time.Minute, "past the barrier", end.reached) {
				if code := harness.ExitCode(t, &pod, harness.BarrierContainer); code != end.exitCode {
					t.Errorf("the waiter of %s ended with %d", pod.Name, code)
				}
				if ran := !harness.StartedAt(&pod, "main").IsZero(); ran != (end.exitCode == 0) {
					t.Errorf("the main container of %s ran: %t", pod.Name, ran)
				}
			}
		})
	}
}

func TestDeletedHollowPodIsReplacedAndWaits(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	namespace := cluster.Namespace(t, nil)
	job := hollowJob("gang", 2)
	wait(&job.Spec.Template, "gate")
	cluster.CreateJob(t, namespace, job)
	first := cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "waiting", harness.WaiterRuns)[0]

	must(t, cluster.Client.CoreV1().Pods(namespace).Delete(harness.Context(t), first.Name, metav1.DeleteOptions{}))
	cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "waiting, the deleted one not among them", func(pod *corev1.Pod) bool {
		return harness.WaiterRuns(pod) && pod.UID != first.UID
	})
}

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
	job := hollowJob("gang", int32(count))
	wait(&job.Spec.Template, "gate")

	began := time.Now()
	cluster.CreateJob(t, namespace, job)
	for _, stage := range []string{"created", "bound", "waiting"} {
		seen.await(t, stage, count)
		fmt.Printf("%d pods %s after %.1f s\n", count, stage, time.Since(began).Seconds())
	}
	began = time.Now()
	decide(t, cluster, namespace, "gate", map[string]string{"started": token})
	nudge(t, cluster, namespace, cluster.PodsOfJob(t, namespace, "gang"))
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
		if pod.Annotations[nudgeAnnotation] != "" {
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
	must(t, err)
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
