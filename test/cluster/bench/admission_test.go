package bench

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// mostStatusWrites is how many status writes of muster an admission can cost, of a Workload
// that was never evicted and of one that comes again. An eviction is one more.
const mostStatusWrites = 1.1

// musterUser is who muster is in a cluster. Webhooks know it, and leave its writes to
// Workloads alone.
const musterUser = "system:serviceaccount:muster-system:muster"

// admissionRun is a run of a shape and what it cost.
type admissionRun struct {
	harness.ShapeOutcome
	muster, engine, server time.Duration // CPU
	peakMiB                int
	lists                  int            // of Workloads, of all clients; pages count one each
	writes                 map[string]int // of all clients, by verb and resource
	conflicts              map[string]int
	took                   map[string]harness.Histogram // the API server, for requests about Workloads, by verb
	decided                []int                        // quota reservations of muster, by the second of the run, from its log
}

// own are muster's own status writes to Workloads.
func (r admissionRun) own() int {
	return r.writes["PATCH workloads/status"] + r.writes["APPLY workloads/status"] - r.StatusWrites
}

func (r admissionRun) ownPerAdmission() float64 {
	return float64(r.own()-r.Evictions) / float64(r.Admissions)
}

// openLoop is how many creates a second are sent without waiting for answers; 0: they wait.
func openLoop(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MUSTER_BENCH_CREATES_PER_SECOND")
	if text == "" {
		return 0
	}
	rate, err := strconv.Atoi(text)
	harness.Must(t, err)
	return rate
}

// runAdmission runs a shape with muster as its scheduler, or for the floor without any.
func runAdmission(t *testing.T, cluster *harness.Cluster, shape harness.Shape, floor bool) admissionRun {
	t.Helper()
	muster := harness.StartAdmitter(t, cluster, floor)
	queues := cluster.ShapeQueues(t, shape)
	if !floor {
		cluster.AwaitOpen(t, queues)
	}
	cluster.AwaitSteadyWatch(t, queues)
	conflict, done := answeredWith("409"), answeredWith("20")
	metricsBefore, musterBefore, engineBefore := harness.APIServerMetrics(t, cluster), muster.CPU(t), muster.EngineCPU(t)
	shapeRun := harness.ShapeRun{Shape: shape, Writers: 32, CreatesPerSecond: openLoop(t)}
	if floor {
		shapeRun.AdmitsAs = musterUser
	}
	if shapeRun.CreatesPerSecond > 0 && !harness.WithoutWebhooks() {
		shapeRun.CreatesAs = "load"
	}
	run := admissionRun{ShapeOutcome: shapeRun.Run(t, cluster, queues, time.Hour)}
	run.muster, run.engine, run.peakMiB = muster.CPU(t)-musterBefore, muster.EngineCPU(t)-engineBefore, muster.PeakKiB(t)/1024
	metricsAfter := harness.APIServerMetrics(t, cluster)
	run.server = processorTime(t, metricsAfter) - processorTime(t, metricsBefore)
	run.writes = less(writesIn(metricsAfter, done), writesIn(metricsBefore, done))
	run.conflicts = less(writesIn(metricsAfter, conflict), writesIn(metricsBefore, conflict))
	run.lists = listsIn(metricsAfter, "workloads") - listsIn(metricsBefore, "workloads")
	run.took = requestTimes(metricsBefore, metricsAfter)
	run.decided = decidedIn(t, muster.Log(t), run.Began)
	return run
}

// requestTimes of the API server for writes of Workloads, by verb, between two texts of its metrics.
func requestTimes(before, after string) map[string]harness.Histogram {
	const family = "apiserver_request_duration_seconds"
	times := map[string]harness.Histogram{}
	for _, verb := range []string{"POST", "PATCH", "APPLY"} {
		labels := []string{`resource="workloads"`, fmt.Sprintf("verb=%q", verb)}
		times[verb] = harness.HistogramIn(after, family, labels...).Since(harness.HistogramIn(before, family, labels...))
	}
	return times
}

// decidedIn counts the reservations of quota in a log of muster, by the second since began.
func decidedIn(t *testing.T, log string, began time.Time) (counts []int) {
	t.Helper()
	for line := range strings.Lines(log) {
		stamp, rest, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(rest, "info: quota reserved ") {
			continue
		}
		at, err := time.Parse(time.RFC3339, stamp)
		harness.Must(t, err)
		second := int(at.Sub(began) / time.Second)
		for len(counts) <= second {
			counts = append(counts, 0)
		}
		counts[max(second, 0)]++
	}
	return counts
}

// listsIn metrics of the API server counts lists of a resource.
func listsIn(text, resource string) (sum int) {
	for line := range strings.Lines(text) {
		labels, found := strings.CutPrefix(line, "apiserver_request_total{")
		labels = "," + labels
		if found && labelOf(labels, "verb") == "LIST" && labelOf(labels, "resource") == resource {
			var value float64
			_, _ = fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value)
			sum += int(value)
		}
	}
	return sum
}

func less(all, before map[string]int) map[string]int {
	for name := range all {
		all[name] -= before[name]
	}
	maps.DeleteFunc(all, func(_ string, count int) bool { return count == 0 })
	return all
}

// processorTime of the API server, from its metrics.
func processorTime(t *testing.T, metrics string) time.Duration {
	t.Helper()
	_, rest, found := strings.Cut(metrics, "\nprocess_cpu_seconds_total ")
	line, _, _ := strings.Cut(rest, "\n")
	seconds, err := strconv.ParseFloat(line, 64)
	if !found || err != nil {
		t.Fatalf("no process_cpu_seconds_total in the API server's metrics: %q", line)
	}
	return time.Duration(seconds * float64(time.Second))
}

// Kueue's scheduler benchmark with muster in Kueue's place, beside the floor of the same
// machine in the same minutes; prints a table for docs/benchmarks.md. MUSTER_BENCH_SHAPE is
// baseline or large-scale, MUSTER_BENCH_SCALE the part of its Workloads to run (1). Where one API
// server has no memory for both runs, -test.run '^TestBenchAdmission$/^floor$' and /^muster$ run
// one of them, with a separate table.
func TestBenchAdmission(t *testing.T) {
	name := os.Getenv("MUSTER_BENCH_SHAPE")
	if name == "" {
		t.Skip("a benchmark: set MUSTER_BENCH_SHAPE to baseline or large-scale")
	}
	shape, err := harness.ShapeOf(name)
	harness.Must(t, err)
	if text := os.Getenv("MUSTER_BENCH_SCALE"); text != "" {
		scale, err := strconv.ParseFloat(text, 64)
		harness.Must(t, err)
		shape = shape.Scaled(scale)
	}
	cluster := harness.Connect(t)
	var floor, run admissionRun
	t.Run("floor", func(t *testing.T) { floor = runAdmission(t, cluster, shape, true) })
	t.Run("muster", func(t *testing.T) { run = runAdmission(t, cluster, shape, false) })
	if t.Failed() {
		return
	}
	for _, over := range run.OverAdmitted {
		t.Error(over)
	}
	printAdmission(shape, floor, run)
}

// The baseline in small: what can be counted, and does not depend on the machine, holds in
// every run.
func TestSmallBaselineRunsToItsEnd(t *testing.T) {
	cluster := harness.Connect(t)
	shape, err := harness.ShapeOf("baseline")
	harness.Must(t, err)
	shape.Cohorts, shape.Queues = 2, 3
	shape = shape.Scaled(0.1)
	run := runAdmission(t, cluster, shape, false)
	for _, over := range run.OverAdmitted {
		t.Error(over)
	}
	if run.Admissions < run.Workloads {
		t.Errorf("%d admissions of %d Workloads", run.Admissions, run.Workloads)
	}
	// With so few, those that wait for a second and get the reason weigh more.
	if run.ownPerAdmission() > 1.25 {
		t.Errorf("%d admissions cost %d status writes of muster, with %d evictions; conflicts: %d of the runner's, %v of all",
			run.Admissions, run.own(), run.Evictions, run.Conflicts, run.conflicts)
	}
}
