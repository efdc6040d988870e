package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"muster.batch/test/cluster/harness"
)

// TestBenchCreates measures what the webhooks add to creating Jobs: a number of creates, 64 in parallel, without and
// with muster, in turns. It is run by hand:
//
//	MUSTER_BENCH=1 bench.test -test.run '^TestBenchCreates$' -test.v
//
// MUSTER_BENCH is the number of rounds; the table has the best round of each,
// since noise only adds. MUSTER_BENCH_JOBS sets the number of Jobs (1000).
func TestBenchCreates(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("MUSTER_BENCH"))
	if rounds == 0 {
		t.Skip("a benchmark: set MUSTER_BENCH to the number of rounds")
	}
	jobs := 1000
	if text := os.Getenv("MUSTER_BENCH_JOBS"); text != "" {
		var err error
		jobs, err = strconv.Atoi(text)
		harness.Must(t, err)
	}
	cluster := harness.Connect(t)
	createMany(t, cluster, jobs) // warm the server's caches and our connections
	var without, with harness.Outcome
	for round := range rounds {
		without = better(without, createMany(t, cluster, jobs))
		t.Run(fmt.Sprintf("round %d with muster", round+1), func(t *testing.T) {
			harness.StartMuster(t)
			createMany(t, cluster, jobs/10)
			with = better(with, createMany(t, cluster, jobs))
		})
	}
	row := func(name string, o harness.Outcome) {
		fmt.Printf("| %-15s | %6.1f | %6.1f |\n", name, milliseconds(o, 50), milliseconds(o, 99))
	}
	fmt.Printf("%d Job creates, 64 in parallel\n| ms              |    p50 |    p99 |\n|-----------------|--------|--------|\n", jobs)
	row("without muster", without)
	row("with muster", with)
	fmt.Printf("| ratio           | %6.2f | %6.2f |\n",
		milliseconds(with, 50)/milliseconds(without, 50), milliseconds(with, 99)/milliseconds(without, 99))
}

// createMany creates queued Jobs in a separate namespace. They are sent
// suspended, so that the Job controller's load is the same without muster.
func createMany(t *testing.T, cluster *harness.Cluster, count int) harness.Outcome {
	t.Helper()
	namespace := cluster.Namespace(t, nil)
	outcome := harness.Load(harness.Context(t), 64, count, func(number int) error {
		job := harness.Job(fmt.Sprintf("bench-%d", number), harness.Queue("some"))
		yes := true
		job.Spec.Suspend = &yes
		_, err := cluster.Client.BatchV1().Jobs(namespace).Create(context.Background(), job, harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatalf("creates failed: %s", outcome)
	}
	return outcome
}

// better is the outcome with the lower p99, or the one that is there.
func better(one, other harness.Outcome) harness.Outcome {
	if one.Total() == 0 || other.Percentile(99) < one.Percentile(99) {
		return other
	}
	return one
}

func milliseconds(o harness.Outcome, percent float64) float64 {
	return o.Percentile(percent).Seconds() * 1000
}
