package bench

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Benchmarks of gangs; they print tables for
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
	return []string{"--jobset-controller", "native", "--waiter-image", harness.MusterImage, "--config", harness.WriteFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n")}
}

// firstLine is when a container wrote its first line, by the kubelet's clock.
func firstLine(t *testing.T, cluster *harness.Cluster, pod *corev1.Pod, container string) time.Time {
	t.Helper()
	log, err := cluster.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Timestamps: true,
	}).DoRaw(harness.Context(t))
	harness.Must(t, err)
	stamp, _, _ := strings.Cut(string(log), " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	harness.Must(t, err)
	return at
}

// From the last waiter's start to the last main container's, on the kubelet with
// its default syncFrequency. MUSTER_BENCH_RELEASE is the number of gangs of 10 pods.
func TestBenchRelease(t *testing.T) {
	rounds := sizeOf(t, "MUSTER_BENCH_RELEASE")
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
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
		harness.Must(t, cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Delete(harness.Context(t), "gang", metav1.DeleteOptions{}))
		harness.AwaitNothingLeft(t, cluster, namespace, "gang")
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
	job := harness.HollowJob("gang", int32(count))
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
