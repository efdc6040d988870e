package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// MUSTER_BENCH_JOBSETS JobSets of two Jobs of 5 pods, created at once; before that, for the
// floor, as many Jobs and Services without JobSets and without muster.
func TestBenchJobSets(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_JOBSETS")
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	var floor, run jobSetsRun
	t.Run("plain", func(t *testing.T) { floor = runJobSets(t, cluster, harness.PlainJobs, count) })
	t.Run("muster", func(t *testing.T) { run = runJobSets(t, cluster, harness.AllOfMuster, count) })
	if t.Failed() {
		return
	}
	seconds := func(of func(jobSetsRun) time.Duration) string {
		return fmt.Sprintf("%.1f s | %.1f s | %.2f", of(floor).Seconds(), of(run).Seconds(), of(run).Seconds()/of(floor).Seconds())
	}
	fmt.Printf("\n| %d JobSets of two Jobs of 5 pods | plain | muster | to plain |\n|---|---|---|---|\n", count)
	fmt.Printf("| created after | %s |\n", seconds(func(r jobSetsRun) time.Duration { return r.created }))
	fmt.Printf("| all pods run after | %s |\n", seconds(func(r jobSetsRun) time.Duration { return r.running }))
	fmt.Printf("| API server's CPU, all | %s |\n", seconds(func(r jobSetsRun) time.Duration { return r.server }))
	fmt.Printf("| muster's CPU | | %.1f s | |\n| muster's memory | | %d MiB | |\n\n", run.muster.Seconds(), run.residentMiB)
	fmt.Println("| write, of everybody, per JobSet | plain | muster |\n|---|---|---|")
	for _, name := range slices.Sorted(maps.Keys(run.writes)) {
		if run.writes[name]*20 > count {
			fmt.Printf("| %s | %.2f | %.2f |\n", name, float64(floor.writes[name])/float64(count), float64(run.writes[name])/float64(count))
		}
	}
}

// jobSetsRun is what a run of JobSets, or of their Jobs alone, cost.
type jobSetsRun struct {
	created, running time.Duration
	server, muster   time.Duration // CPU
	residentMiB      int
	writes           map[string]int // of all clients, by verb and resource
}

func runJobSets(t *testing.T, cluster *harness.Cluster, way harness.JobsWay, count int) (run jobSetsRun) {
	var muster *harness.Muster
	var namespace string
	// Whatever this run leaves must not burden the next one.
	t.Cleanup(func() { awaitNamespaceGone(t, cluster, namespace) })
	if way == harness.AllOfMuster {
		muster = harness.StartMuster(t, unlimited(t)...)
	}
	namespace = cluster.Namespace(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	create := createJobsOfASet
	if way == harness.AllOfMuster {
		create = createJobSet
	}
	seen := watchPods(t, cluster, namespace)
	before, cpu := harness.APIServerMetrics(t, cluster), cpuOrNothing(t, muster)
	began := time.Now()
	outcome := harness.Load(ctx, 32, count, func(number int) error { return create(ctx, cluster, namespace, number) })
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	run.created = time.Since(began)
	seen.awaitWithin(t, "running", count*10, 20*time.Minute)
	run.running = time.Since(began)
	// What follows the last pod belongs to both: the Job controller writes its counts a second later.
	awaitReadyPods(t, cluster, namespace)
	if way == harness.AllOfMuster {
		awaitReadyJobs(t, cluster, namespace)
		run.residentMiB = muster.ResidentKiB(t) / 1024
	}
	after := harness.APIServerMetrics(t, cluster)
	run.server, run.muster = processorTime(t, after)-processorTime(t, before), cpuOrNothing(t, muster)-cpu
	run.writes = less(writesIn(after, answeredWith("20")), writesIn(before, answeredWith("20")))
	return run
}

// awaitReadyJobs waits until the status of every JobSet says that both of its Jobs are ready: the
// last counts follow within the status interval.
func awaitReadyJobs(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	harness.Eventually(t, 2*time.Minute, "every status tells of ready Jobs", func() error {
		list, err := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, jobSet := range list.Items {
			if text := fmt.Sprint(jobSet.Object["status"]); strings.Count(text, "ready:1") != 2 {
				return fmt.Errorf("%s: %s", jobSet.GetName(), text)
			}
		}
		return nil
	})
}

// awaitReadyPods waits until the status of every Job says that its pods are ready.
func awaitReadyPods(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	harness.Eventually(t, 2*time.Minute, "every Job tells of ready pods", func() error {
		list, err := cluster.Client.BatchV1().Jobs(namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, job := range list.Items {
			if job.Status.Ready == nil || *job.Status.Ready != *job.Spec.Parallelism {
				return fmt.Errorf("%s: %v", job.Name, job.Status)
			}
		}
		return nil
	})
}

func createJobSet(ctx context.Context, cluster *harness.Cluster, namespace string, number int) error {
	jobSet := harness.JobSetOf(harness.BenchJobName(number),
		harness.ReplicatedJob{Name: "a", Pods: 5, Template: harness.HollowPod(-1, 0)},
		harness.ReplicatedJob{Name: "b", Pods: 5, Template: harness.HollowPod(-1, 0)})
	_, err := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Create(ctx, jobSet, harness.ForReal)
	return err
}

// createJobsOfASet creates what a JobSet of the benchmark consists of: two Jobs and a headless Service.
func createJobsOfASet(ctx context.Context, cluster *harness.Cluster, namespace string, number int) error {
	name := harness.BenchJobName(number)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"set": name}},
	}
	if _, err := cluster.Client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, replicated := range []string{"a", "b"} {
		job := harness.HollowJob(name+"-"+replicated+"-0", 5)
		job.Spec.Template.Labels = map[string]string{"set": name}
		job.Spec.Template.Spec.Subdomain = name
		if _, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, job, harness.ForReal); err != nil {
			return err
		}
	}
	return nil
}
