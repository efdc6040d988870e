package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"muster.batch/test/cluster/harness"
)

func printAdmission(shape harness.Shape, floor, run admissionRun) {
	each := func(d time.Duration, r admissionRun) string {
		return fmt.Sprintf("%.2f ms", d.Seconds()*1000/float64(r.Workloads))
	}
	rate := func(r admissionRun) string { return fmt.Sprintf("%.0f/s", float64(r.Workloads)/r.Wall.Seconds()) }
	share := func(d time.Duration) string { return fmt.Sprintf("%.1f %%", 100*d.Seconds()/run.Wall.Seconds()) }
	bound := max(floor.Wall, shape.QuotaBound())
	fmt.Printf("\n| %s: %d Workloads, %d ClusterQueues | floor | muster | Kueue | bound |\n|---|---|---|---|---|\n",
		shape.Name, shape.Workloads(), shape.Cohorts*shape.Queues)
	row := func(cells ...string) {
		for column, r := range []admissionRun{floor, run} {
			if r.Workloads == 0 { // this run was not asked for
				cells[column+1] = ""
			}
		}
		fmt.Println("| " + strings.Join(cells, " | ") + " |")
	}
	row("wall", inSeconds(floor.Wall), inSeconds(run.Wall), inSeconds(shape.Kueue.Wall)+", unlimited "+inSeconds(shape.Uncapped), "")
	if floor.Workloads > 0 {
		row("wall to the larger of floor and quota bound", "", fmt.Sprintf("%.2f", run.Wall.Seconds()/bound.Seconds()), "", "1.25")
	}
	row("quota bound", inSeconds(shape.QuotaBound()), "", "", "")
	row("last create answered after", inSeconds(floor.Created), inSeconds(run.Created), "", "")
	row("admitted", rate(floor), rate(run), "", "")
	for _, set := range slices.Backward(shape.Sets) {
		row("mean wait, "+set.Class, inSeconds(floor.Waits[set.Class]), inSeconds(run.Waits[set.Class]),
			inSeconds(shape.Kueue.Waits[set.Class]), inSeconds(shape.Kueue.Waits[set.Class]/2))
	}
	printPauses(floor, run, row)
	row("evictions", fmt.Sprint(floor.Evictions), fmt.Sprint(run.Evictions), "", "")
	row("pod-seconds that evictions threw away", "", fmt.Sprintf("%.0f", run.LostSeconds), "", "")
	row("quota exceeded", "", fmt.Sprint(len(run.OverAdmitted)), "", "0")
	row("API server's CPU per Workload", each(floor.server, floor), each(run.server, run), "", "")
	row("muster's CPU, all threads", inSeconds(floor.muster), inSeconds(run.muster)+", "+share(run.muster), "", "15 % of a core")
	row("of it the engine's thread", inSeconds(floor.engine), inSeconds(run.engine)+", "+share(run.engine), "", "")
	row("muster's peak memory", fmt.Sprintf("%d MiB", floor.peakMiB), fmt.Sprintf("%d MiB", run.peakMiB),
		fmt.Sprintf("%d MB", shape.UncappedMB), "150 MiB")
	row("conflicts of the runner's writes", fmt.Sprint(floor.Conflicts), fmt.Sprint(run.Conflicts), "", "")
	row("muster's status writes per Workload", "", fmt.Sprintf("%.3f", float64(run.own())/float64(run.Workloads)), "", "")
	row("the same per admission, without evictions", "", fmt.Sprintf("%.3f", run.ownPerAdmission()), "", fmt.Sprint(mostStatusWrites))
	fmt.Printf("\n| writes of everybody, per Workload | floor | muster |\n|---|---|---|\n")
	printWrites := func(what string, of func(admissionRun) map[string]int) {
		for _, name := range slices.Sorted(maps.Keys(of(run))) {
			if of(run)[name]*200 < run.Workloads {
				continue // the cluster's own
			}
			row(name+what, fmt.Sprintf("%.3f", float64(of(floor)[name])/float64(floor.Workloads)),
				fmt.Sprintf("%.3f", float64(of(run)[name])/float64(run.Workloads)))
		}
	}
	printWrites("", func(r admissionRun) map[string]int { return r.writes })
	printWrites(", conflicts", func(r admissionRun) map[string]int { return r.conflicts })
	fmt.Println()
	printSeconds(run)
}

// printPauses prints how evenly Workloads were admitted, and what kept the API server busy.
func printPauses(floor, run admissionRun, row func(cells ...string)) {
	row("waited for 120 s and more", fmt.Sprint(floor.WaitedLong), fmt.Sprint(run.WaitedLong), "", "")
	row("longest time without an admission while a Workload waits", inSeconds(floor.LongestPause), inSeconds(run.LongestPause), "", "2 s in an open loop")
	pause := func(r admissionRun) string {
		return fmt.Sprintf("%s after the start; %s", inSeconds(r.PauseBegan), inSeconds(r.PauseSilence))
	}
	row("when it began; silence of the runner's watch in it", pause(floor), pause(run), "", "")
	row("the same, after the last create was answered", inSeconds(floor.QuietPause), inSeconds(run.QuietPause), "", "")
	took := func(r admissionRun, verb string) string {
		return fmt.Sprintf("%s, %s", inSeconds(r.took[verb].Percentile(50)), inSeconds(r.took[verb].Percentile(99)))
	}
	row("the API server's time for a create: p50, p99", took(floor, "POST"), took(run, "POST"), "", "")
	row("for a status that a scheduler writes", took(floor, "PATCH"), took(run, "PATCH"), "", "")
	row("for a status that a finished Workload gets, in an open loop", took(floor, "APPLY"), took(run, "APPLY"), "", "")
	row("lists of Workloads, of everybody", fmt.Sprint(floor.lists), fmt.Sprint(run.lists), "", "")
	row("creates that were sent back (429)", fmt.Sprint(floor.Throttled), fmt.Sprint(run.Throttled), "", "")
	row("writes of the runner that the API server did not answer", fmt.Sprint(floor.Unanswered), fmt.Sprint(run.Unanswered), "", "")
	row("lists of the runner, its watch being behind", fmt.Sprint(floor.Relists), fmt.Sprint(run.Relists), "", "")
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// printSeconds shows the seconds around the longest time without an admission.
func printSeconds(run admissionRun) {
	if len(run.Seconds) == 0 {
		return // this run was not asked for
	}
	const around = 5
	first := max(int(run.PauseBegan/time.Second)-around, 0)
	last := min(int((run.PauseBegan+run.LongestPause)/time.Second)+around, len(run.Seconds)-1)
	fmt.Println("| second | created | appeared | quota reserved by muster | admissions seen | run times over | ends answered; slowest | ends seen |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for number := first; number <= last; number++ {
		second, decided := run.Seconds[number], 0
		if number < len(run.decided) {
			decided = run.decided[number]
		}
		fmt.Printf("| %d | %d | %d | %d | %d | %d | %d; %.1f s | %d |\n", number, second.Created, second.Appeared, decided,
			second.Admitted, second.Over, second.Ended, second.Slowest.Seconds(), second.Finished)
	}
	fmt.Println()
}
