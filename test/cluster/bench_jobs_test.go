package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// jobLives is when each Job of a run reached a stage, by this program's clock.
type jobLives struct {
	started, running, complete map[string]time.Time
}

// followJobs watches the Jobs of a namespace until all have completed. A watch that the API
// server ends is begun anew: it tells of all Jobs once more, which changes nothing.
func followJobs(ctx context.Context, cluster *harness.Cluster, namespace string, lives *jobLives, count int) error {
	for ctx.Err() == nil {
		if err := followJobsOnce(ctx, cluster, namespace, lives, count); err != nil || len(lives.complete) == count {
			return err
		}
	}
	return fmt.Errorf("%d of %d Jobs have started, %d have completed: %w", len(lives.started), count, len(lives.complete), ctx.Err())
}

func followJobsOnce(ctx context.Context, cluster *harness.Cluster, namespace string, lives *jobLives, count int) error {
	watch, err := cluster.Client.BatchV1().Jobs(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watch.Stop()
	note := func(stage map[string]time.Time, name string, reached bool) {
		if _, known := stage[name]; reached && !known {
			stage[name] = time.Now()
		}
	}
	for event := range watch.ResultChan() {
		job, ok := event.Object.(*batchv1.Job)
		if !ok {
			return fmt.Errorf("the watch broke: %v", event.Object)
		}
		ran := job.Status.Succeeded > 0
		note(lives.started, job.Name, !suspended(job))
		note(lives.running, job.Name, ran || job.Status.Ready != nil && *job.Status.Ready > 0)
		note(lives.complete, job.Name, slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
			return condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue
		}))
		if len(lives.complete) == count {
			return nil
		}
	}
	return nil
}

// openQueue makes a LocalQueue for hollow nodes whose quota is enough for all.
func openQueue(t *testing.T, cluster *harness.Cluster) harness.Queues {
	t.Helper()
	queues := cluster.Queues(t)
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, `{"spec":{"stopPolicy":"None"}}`)
	harness.Eventually(t, time.Minute, "the queue is open", func() error {
		queue, err := cluster.Dynamic.Resource(harness.LocalQueues).Namespace(queues.Namespace).Get(
			harness.Context(t), harness.LocalQueueName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return harness.HasCondition("Active", "True", "")(queue)
	})
	return queues
}

// MUSTER_BENCH_JOBS Jobs of one pod that runs for a second, through webhooks, Workload,
// admission, start and end; prints tables for docs/benchmarks.md.
func TestBenchJobsEndToEnd(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_JOBS")
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := startAdmitter(t, cluster, false)
	queues := openQueue(t, cluster)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	lives := jobLives{map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}}
	sent := make([]time.Time, count)
	over := make(chan error, 1)
	before, processor := writes(t, cluster), muster.CPU(t)
	go func() { over <- followJobs(ctx, cluster, queues.Namespace, &lives, count) }()
	began := time.Now()
	outcome := harness.Load(ctx, 32, count, func(number int) error {
		job := queuedJob(fmt.Sprint("bench-", number), 1)
		job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: "1"}
		job.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1m")
		sent[number] = time.Now()
		_, err := cluster.Client.BatchV1().Jobs(queues.Namespace).Create(ctx, job, harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	created := time.Since(began)
	must(t, <-over)
	completed := time.Since(began)
	awaitFinished(t, cluster, queues.Namespace)
	wall := time.Since(began)
	made := less(writes(t, cluster), before)

	fmt.Printf("\n| %d Jobs of one pod, end to end | |\n|---|---|\n", count)
	row := func(name, value string) { fmt.Printf("| %s | %s |\n", name, value) }
	row("created after", fmt.Sprintf("%.1f s", created.Seconds()))
	row("all complete after", fmt.Sprintf("%.1f s", completed.Seconds()))
	row("all Workloads finished and let go after", fmt.Sprintf("%.1f s", wall.Seconds()))
	stage := func(name string, reached map[string]time.Time) {
		var took []time.Duration
		for number := range count {
			took = append(took, reached[fmt.Sprint("bench-", number)].Sub(sent[number]))
		}
		slices.Sort(took)
		row(name+": p50, p99", fmt.Sprintf("%.2f s, %.2f s", took[count/2].Seconds(), took[count*99/100].Seconds()))
	}
	stage("creation to start (unsuspended)", lives.started)
	stage("creation to running pod", lives.running)
	row("muster's CPU", fmt.Sprintf("%.1f s, %.1f %% of a core", (muster.CPU(t)-processor).Seconds(),
		100*(muster.CPU(t)-processor).Seconds()/wall.Seconds()))
	row("muster's peak memory", fmt.Sprintf("%d MiB", muster.PeakKiB(t)/1024))
	fmt.Printf("\n| write, of everybody | per Job |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(made)) {
		row(name, fmt.Sprintf("%.3f", float64(made[name])/float64(count)))
	}
}

func awaitFinished(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	harness.Eventually(t, 5*time.Minute, "all Workloads have finished and are let go", func() error {
		list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			for _, condition := range []func(*unstructured.Unstructured) error{
				harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo,
			} {
				if err := condition(&list.Items[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
