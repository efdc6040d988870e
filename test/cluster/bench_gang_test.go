package cluster

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.batch/test/cluster/harness"
)

// Benchmarks of gangs and of the JobSet controller; they print tables for
// docs/benchmarks.md and run only when asked for, as each test says.

// sizeOf a benchmark, from the environment.
func sizeOf(t *testing.T, variable string) int {
	t.Helper()
	size, _ := strconv.Atoi(os.Getenv(variable))
	if size == 0 {
		t.Skip("a benchmark: set " + variable)
	}
	return size
}

// unlimited lets muster write as fast as the API server takes it.
func unlimited(t *testing.T) []string {
	return []string{"--jobset-controller", "native", "--waiter-image", harness.MusterImage, "--config", writeFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n")}
}

// firstLine is when a container wrote its first line, by the kubelet's clock.
func firstLine(t *testing.T, cluster *harness.Cluster, pod *corev1.Pod, container string) time.Time {
	t.Helper()
	log, err := cluster.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Timestamps: true,
	}).DoRaw(harness.Context(t))
	must(t, err)
	stamp, _, _ := strings.Cut(string(log), " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	must(t, err)
	return at
}

// From the last waiter's start to the last main container's, on the kubelet with
// its default syncFrequency. MUSTER_BENCH_RELEASE is the number of gangs of 10 pods.
func TestBenchRelease(t *testing.T) {
	rounds := sizeOf(t, "MUSTER_BENCH_RELEASE")
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	startGangMuster(t)
	var took []time.Duration
	for range rounds {
		namespace := cluster.Namespace(t, nil)
		cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("gang",
			harness.ReplicatedJob{Name: "workers", Pods: 10, Template: harness.RealPod("echo started; sleep 600")}), 300))
		pods := cluster.WaitForJobSetPods(t, namespace, "gang", 10, 3*time.Minute, "started", harness.MainStarted)
		var waits, runs time.Time
		for i := range pods {
			waits = later(waits, firstLine(t, cluster, &pods[i], harness.BarrierContainer))
			runs = later(runs, firstLine(t, cluster, &pods[i], "main"))
		}
		took = append(took, runs.Sub(waits))
		must(t, cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Delete(harness.Context(t), "gang", metav1.DeleteOptions{}))
		awaitNothingLeft(t, cluster, namespace, "gang")
	}
	slices.Sort(took)
	fmt.Printf("| gangs of 10 pods | p50 | p99 | max |\n| %d | %.2f s | %.2f s | %.2f s |\n", rounds,
		took[len(took)/2].Seconds(), took[min(len(took)-1, len(took)*99/100)].Seconds(), took[len(took)-1].Seconds())
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// One gang of MUSTER_BENCH_GANG pods on hollow nodes.
func TestBenchGang(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_GANG")
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartMuster(t, unlimited(t)...)
	namespace := cluster.Namespace(t, nil)
	seen := watchPods(t, cluster, namespace)
	job := hollowJob("gang", int32(count))
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "3600"}

	before := muster.CPU(t)
	began := time.Now()
	cluster.CreateJob(t, namespace, job)
	seen.await(t, "waiting", count)
	waited := time.Now()
	fmt.Printf("| %d waiters started | %.1f s |\n", count, waited.Sub(began).Seconds())
	seen.await(t, "nudged", count)
	fmt.Printf("| last waiter started to last pod nudged | %.1f s |\n", time.Since(waited).Seconds())
	seen.await(t, "running", count)
	fmt.Printf("| last waiter started to last pod running | %.1f s |\n", time.Since(waited).Seconds())
	fmt.Printf("| muster's CPU, all threads | %.2f s |\n| of it the engine's thread | %.2f s |\n| muster's memory | %d MiB |\n",
		(muster.CPU(t) - before).Seconds(), muster.EngineCPU(t).Seconds(), muster.ResidentKiB(t)/1024)
}

// MUSTER_BENCH_JOBSETS JobSets of two Jobs of 5 pods, created at once; before that, for the
// floor, as many Jobs and Services without JobSets and without muster.
func TestBenchJobSets(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_JOBSETS")
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	var floor, run jobSetsRun
	t.Run("plain", func(t *testing.T) { floor = runJobSets(t, cluster, plainJobs, count) })
	t.Run("muster", func(t *testing.T) { run = runJobSets(t, cluster, allOfMuster, count) })
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
	writes           map[string]int // of everybody, by verb and resource
}

func runJobSets(t *testing.T, cluster *harness.Cluster, way jobsWay, count int) (run jobSetsRun) {
	var muster *harness.Muster
	var namespace string
	// Whatever this run leaves must not burden the next one.
	t.Cleanup(func() { awaitNamespaceGone(t, cluster, namespace) })
	if way == allOfMuster {
		muster = harness.StartMuster(t, unlimited(t)...)
	}
	namespace = cluster.Namespace(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	create := func(number int) error { return createJobsOfASet(ctx, cluster, namespace, number) }
	if way == allOfMuster {
		create = func(number int) error {
			_, err := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Create(ctx, harness.JobSetOf(benchJobName(number),
				harness.ReplicatedJob{Name: "a", Pods: 5, Template: harness.HollowPod(-1, 0)},
				harness.ReplicatedJob{Name: "b", Pods: 5, Template: harness.HollowPod(-1, 0)}), harness.ForReal)
			return err
		}
	}
	seen := watchPods(t, cluster, namespace)
	before, cpu := metricsOf(t, cluster), cpuOrNothing(t, muster)
	began := time.Now()
	if outcome := harness.Load(ctx, 32, count, create); outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	run.created = time.Since(began)
	seen.awaitWithin(t, "running", count*10, 20*time.Minute)
	run.running = time.Since(began)
	if way == allOfMuster {
		awaitReadyJobs(t, cluster, namespace)
		run.residentMiB = muster.ResidentKiB(t) / 1024
	}
	after := metricsOf(t, cluster)
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

// createJobsOfASet creates what a JobSet of the benchmark consists of: two Jobs and a headless Service.
func createJobsOfASet(ctx context.Context, cluster *harness.Cluster, namespace string, number int) error {
	name := benchJobName(number)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"set": name}},
	}
	if _, err := cluster.Client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, replicated := range []string{"a", "b"} {
		job := hollowJob(name+"-"+replicated+"-0", 5)
		if job.Spec.Template.Labels == nil {
			job.Spec.Template.Labels = map[string]string{}
		}
		job.Spec.Template.Labels["set"] = name
		job.Spec.Template.Spec.Subdomain = name
		if _, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, job, harness.ForReal); err != nil {
			return err
		}
	}
	return nil
}

// writes counts the requests that the API server has answered well, by verb and resource.
func writes(t *testing.T, cluster *harness.Cluster) map[string]int {
	t.Helper()
	return writesIn(metricsOf(t, cluster), func(code string) bool { return strings.HasPrefix(code, "20") })
}

// metricsOf the API server.
func metricsOf(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	text, err := cluster.Client.(*kubernetes.Clientset).RESTClient().Get().AbsPath("/metrics").DoRaw(harness.Context(t))
	must(t, err)
	return string(text)
}

// writesIn metrics of the API server, of those that were answered with such a code.
func writesIn(text string, answered func(code string) bool) map[string]int {
	counts := map[string]int{}
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		labels, found := strings.CutPrefix(line, "apiserver_request_total{")
		labels = "," + labels
		if !found || !answered(labelOf(labels, "code")) {
			continue
		}
		verb, resource, sub := labelOf(labels, "verb"), labelOf(labels, "resource"), labelOf(labels, "subresource")
		if verb == "GET" || verb == "LIST" || verb == "WATCH" || resource == "leases" || resource == "" {
			continue
		}
		if sub != "" {
			resource += "/" + sub
		}
		value, _ := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		counts[verb+" "+resource] += int(value)
	}
	return counts
}

func labelOf(labels, name string) string {
	_, rest, _ := strings.Cut(labels, ","+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
