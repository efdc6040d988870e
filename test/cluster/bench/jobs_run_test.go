package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"muster.batch/test/cluster/harness"
)

var jobsWays = []harness.JobsWay{harness.PlainJobs, harness.WebhooksOnly, harness.NotAdmitted, harness.AllOfMuster}

// jobsRun is what a run of Jobs cost. Durations of stages are sorted.
type jobsRun struct {
	created, completed, wall time.Duration
	started, running         []time.Duration // each from the Job's creation; none where no Job starts
	server, muster           time.Duration   // CPU
	peakMiB                  int
	writes, conflicts        map[string]int // of all clients, by verb and resource
	reviews                  int            // calls of webhooks
}

// jobLives is when each Job of a run reached a stage, by this program's clock.
type jobLives struct {
	sent                       []time.Time
	started, running, complete map[string]time.Time
}

func (l *jobLives) sorted(stage map[string]time.Time) []time.Duration {
	var took []time.Duration
	for number, sent := range l.sent {
		took = append(took, stage[harness.BenchJobName(number)].Sub(sent))
	}
	slices.Sort(took)
	return took
}

// runJobs creates the Jobs, 32 at a time, and waits until all is over.
func runJobs(t *testing.T, cluster *harness.Cluster, way harness.JobsWay, count int) (run jobsRun) {
	var muster *harness.Muster
	var namespace string
	// Whatever this run leaves must not burden the next one.
	t.Cleanup(func() { awaitNamespaceGone(t, cluster, namespace) })
	switch way {
	case harness.PlainJobs:
		namespace = cluster.Namespace(t, nil)
	case harness.WebhooksOnly:
		muster = harness.StartAdmitter(t, cluster, true)
		namespace = cluster.Namespace(t, nil)
	case harness.NotAdmitted, harness.AllOfMuster:
		if os.Getenv("MUSTER_BENCH_LEAN") == "true" {
			harness.MakeWorkloadsLean(t, cluster)
		}
		muster = harness.StartAdmitter(t, cluster, false)
		if way == harness.NotAdmitted {
			namespace = cluster.Queues(t).Namespace
		} else {
			namespace = harness.OpenQueue(t, cluster).Namespace
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	lives := jobLives{make([]time.Time, count), map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}}
	resume := func(*batchv1.Job) {}
	if way == harness.WebhooksOnly {
		resume = resumer(ctx, t, cluster, namespace)
	}
	over := make(chan error, 1)
	stopProfile := profileServer(ctx, t, cluster)
	before, cpu := harness.APIServerMetrics(t, cluster), cpuOrNothing(t, muster)
	go func() {
		if way == harness.NotAdmitted {
			over <- followWaiting(ctx, cluster, namespace, count)
		} else {
			over <- followJobs(ctx, cluster, namespace, &lives, count, resume)
		}
	}()
	began := time.Now()
	outcome := harness.Load(ctx, 32, count, func(number int) error {
		lives.sent[number] = time.Now()
		_, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, harness.BenchJob(number, way), harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	run.created = time.Since(began)
	harness.Must(t, <-over)
	run.completed = time.Since(began)
	if way == harness.AllOfMuster {
		awaitFinished(t, cluster, namespace)
	}
	run.wall = time.Since(began)
	after := harness.APIServerMetrics(t, cluster)
	stopProfile()
	run.server, run.muster = processorTime(t, after)-processorTime(t, before), cpuOrNothing(t, muster)-cpu
	if muster != nil {
		run.peakMiB = muster.PeakKiB(t) / 1024
	}
	if way != harness.NotAdmitted {
		run.started, run.running = lives.sorted(lives.started), lives.sorted(lives.running)
	}
	run.writes = less(writesIn(after, answeredWith("20")), writesIn(before, answeredWith("20")))
	run.conflicts = less(writesIn(after, answeredWith("409")), writesIn(before, answeredWith("409")))
	run.reviews = reviewsIn(after) - reviewsIn(before)
	return run
}

func awaitNamespaceGone(t *testing.T, cluster *harness.Cluster, name string) {
	t.Helper()
	harness.Eventually(t, 10*time.Minute, "the namespace "+name+" is gone", func() error {
		_, err := cluster.Client.CoreV1().Namespaces().Get(context.Background(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

func cpuOrNothing(t *testing.T, muster *harness.Muster) time.Duration {
	if muster == nil {
		return 0
	}
	return muster.CPU(t)
}

func answeredWith(prefix string) func(string) bool {
	return func(code string) bool { return strings.HasPrefix(code, prefix) }
}

// reviewsIn metrics of the API server.
func reviewsIn(text string) (sum int) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "apiserver_admission_webhook_request_total{") {
			var value float64
			_, _ = fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value)
			sum += int(value)
		}
	}
	return sum
}

// resumer starts Jobs in muster's name, 32 at a time, without any question.
func resumer(ctx context.Context, t *testing.T, cluster *harness.Cluster, namespace string) func(*batchv1.Job) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	harness.Must(t, err)
	config.QPS, config.Impersonate.UserName = -1, musterUser
	client, err := kubernetes.NewForConfig(config)
	harness.Must(t, err)
	var once sync.Map
	free := make(chan struct{}, 32)
	return func(job *batchv1.Job) {
		if _, done := once.LoadOrStore(job.Name, true); done {
			return
		}
		go func() {
			free <- struct{}{}
			defer func() { <-free }()
			_, err := client.BatchV1().Jobs(namespace).Patch(ctx, job.Name, types.MergePatchType,
				[]byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{FieldManager: "muster"})
			if err != nil {
				t.Errorf("%s is not resumed: %v", job.Name, err)
			}
		}()
	}
}

// profileServer records where the API server's CPU goes, if MUSTER_BENCH_PROFILES names a
// folder, from now until it is stopped, and for at most ten minutes.
func profileServer(ctx context.Context, t *testing.T, cluster *harness.Cluster) (stop func()) {
	t.Helper()
	folder := os.Getenv("MUSTER_BENCH_PROFILES")
	if folder == "" {
		return func() {}
	}
	// The API server ends a profile when its time is over and at no other moment, so that it
	// is taken in slices.
	stopped, done := make(chan struct{}), make(chan struct{})
	client := cluster.Client.(*kubernetes.Clientset).RESTClient()
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())
	go func() {
		defer close(done)
		for slice := 0; slice < 120; slice++ {
			profile, err := client.Get().AbsPath("/debug/pprof/profile").Param("seconds", "5").DoRaw(ctx)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%03d.pprof", name, slice)), profile, 0o600)
			}
			if err != nil {
				t.Errorf("the API server's profile: %v", err)
				return
			}
			select {
			case <-stopped:
				return
			default:
			}
		}
	}()
	return func() { close(stopped); <-done }
}

// followJobs watches the Jobs of a namespace until all have completed, and calls resume for
// each Job that is. A watch that the API server ends is opened again: it tells of all Jobs once
// more, which changes nothing.
func followJobs(ctx context.Context, cluster *harness.Cluster, namespace string, lives *jobLives, count int, resume func(*batchv1.Job)) error {
	for ctx.Err() == nil {
		if err := followJobsOnce(ctx, cluster, namespace, lives, count, resume); err != nil || len(lives.complete) == count {
			return err
		}
	}
	return fmt.Errorf("%d of %d Jobs have started, %d have completed: %w", len(lives.started), count, len(lives.complete), ctx.Err())
}

func followJobsOnce(ctx context.Context, cluster *harness.Cluster, namespace string, lives *jobLives, count int, resume func(*batchv1.Job)) error {
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
		if harness.Suspended(job) {
			resume(job)
		}
		ran := job.Status.Succeeded > 0
		note(lives.started, job.Name, !harness.Suspended(job))
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

// followWaiting waits until this many Workloads say why they wait.
func followWaiting(ctx context.Context, cluster *harness.Cluster, namespace string, count int) error {
	waiting := 0
	for ctx.Err() == nil {
		list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		waiting = 0
		for i := range list.Items {
			if harness.HasCondition("QuotaReserved", "False", "")(&list.Items[i]) == nil {
				waiting++
			}
		}
		if waiting == count {
			return nil
		}
		time.Sleep(2 * time.Second)
	}
	return fmt.Errorf("%d of %d Workloads say why they wait: %w", waiting, count, ctx.Err())
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
