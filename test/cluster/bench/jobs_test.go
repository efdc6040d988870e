package bench

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// jobRounds is how often each way of running Jobs is measured; the tables have medians.
func jobRounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MUSTER_BENCH_ROUNDS")
	if text == "" {
		return 3
	}
	rounds, err := strconv.Atoi(text)
	harness.Must(t, err)
	return rounds
}

// kueueBesidePlain are Kueue's wall time and the API server's CPU, in multiples of plain Jobs:
// 1,500 Jobs of one pod on a machine of 2 cores, only its integration of batch/job enabled, no
// client limit.
const kueueBesidePlain, kueueServerBesidePlain = 4.1, 3.9

// MUSTER_BENCH_JOBS Jobs of one pod that runs for a second: without a queue, with muster's
// webhooks only, with Workloads that are not admitted, and with all of muster, in turns; prints tables for
// docs/benchmarks-admission.md. MUSTER_BENCH_LEAN=true installs the policy for lean Workloads,
// MUSTER_BENCH_PODS_READY=true sets waitForPodsReady. MUSTER_BENCH_PROFILES names a folder for
// CPU profiles of the API server, one of each run.
func TestBenchJobsEndToEnd(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_JOBS")
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	runs := map[harness.JobsWay][]jobsRun{}
	t.Run("warm-up", func(t *testing.T) { runJobs(t, cluster, harness.PlainJobs, count/10) })
	for round := range jobRounds(t) {
		for _, way := range jobsWays {
			t.Run(fmt.Sprintf("%s %d", way, round+1), func(t *testing.T) {
				runs[way] = append(runs[way], runJobs(t, cluster, way, count))
			})
		}
	}
	if t.Failed() {
		return
	}
	printJobs(count, runs)
	printJobWrites(count, runs)
}

func printJobs(count int, runs map[harness.JobsWay][]jobsRun) {
	fmt.Printf("\n| %d Jobs of one pod, end to end; medians of %d |", count, len(runs[harness.PlainJobs]))
	for _, way := range jobsWays {
		fmt.Printf(" %s |", way)
	}
	fmt.Print(" to plain | Kueue to plain, 1,500 Jobs | bound |\n|---|---|---|---|---|---|---|---|\n")
	row := func(name, format, kueue, bound string, of func(jobsRun) float64) {
		fmt.Printf("| %s |", name)
		for _, way := range jobsWays {
			if value := median(runs[way], of); math.IsNaN(value) {
				fmt.Print(" |")
			} else {
				fmt.Printf(" "+format+" |", value)
			}
		}
		ratio := ""
		if floor := median(runs[harness.PlainJobs], of); floor > 0 {
			ratio = fmt.Sprintf("%.2f", median(runs[harness.AllOfMuster], of)/floor)
		}
		fmt.Printf(" %s | %s | %s |\n", ratio, kueue, bound)
	}
	// Of a run in which Jobs start.
	part := func(took []time.Duration, percent int) float64 {
		if len(took) == 0 {
			return math.NaN()
		}
		return took[count*percent/100].Seconds()
	}
	each := func(duration time.Duration) float64 { return duration.Seconds() * 1000 / float64(count) }
	row("all created after", "%.1f s", "", "", func(r jobsRun) float64 { return r.created.Seconds() })
	row("all complete (without admission: all Workloads say why they wait) after", "%.1f s", fmt.Sprint(kueueBesidePlain), "1.6", func(r jobsRun) float64 { return r.completed.Seconds() })
	row("all Workloads finished and let go after", "%.1f s", "", "", func(r jobsRun) float64 { return r.wall.Seconds() })
	row("creation to start, p50", "%.2f s", "", "", func(r jobsRun) float64 { return part(r.started, 50) })
	row("creation to start, p99", "%.2f s", "", "", func(r jobsRun) float64 { return part(r.started, 99) })
	row("creation to running pod, p50", "%.2f s", "", "", func(r jobsRun) float64 { return part(r.running, 50) })
	row("API server's CPU per Job", "%.1f ms", fmt.Sprint(kueueServerBesidePlain), "1.8", func(r jobsRun) float64 { return each(r.server) })
	row("reviews per Job", "%.2f", "", "", func(r jobsRun) float64 { return float64(r.reviews) / float64(count) })
	row("writes per Job", "%.2f", "", "", func(r jobsRun) float64 { return float64(total(r.writes)) / float64(count) })
	row("conflicts per Job", "%.2f", "", "", func(r jobsRun) float64 { return float64(total(r.conflicts)) / float64(count) })
	row("muster's CPU per Job", "%.1f ms", "", "", func(r jobsRun) float64 { return each(r.muster) })
	row("muster's peak memory", "%.0f MiB", "", "", func(r jobsRun) float64 { return float64(r.peakMiB) })
}

// printJobWrites is what all clients have written; the cluster's own few writes are left out.
func printJobWrites(count int, runs map[harness.JobsWay][]jobsRun) {
	names := map[string]bool{}
	for _, way := range jobsWays {
		for name, writes := range runs[way][0].writes {
			if writes*200 >= count {
				names[name] = true
			}
		}
	}
	fmt.Print("\n| write, of everybody, per Job |")
	for _, way := range jobsWays {
		fmt.Printf(" %s |", way)
	}
	fmt.Print("\n|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Printf("| %s |", name)
		for _, way := range jobsWays {
			fmt.Printf(" %.3f |", median(runs[way], func(r jobsRun) float64 { return float64(r.writes[name]) / float64(count) }))
		}
		fmt.Println()
	}
}

func median(runs []jobsRun, of func(jobsRun) float64) float64 {
	var values []float64
	for _, run := range runs {
		values = append(values, of(run))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func total(counts map[string]int) (sum int) {
	for _, count := range counts {
		sum += count
	}
	return sum
}
