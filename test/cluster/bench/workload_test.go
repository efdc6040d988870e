package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// mostWrites is what one Job can cost a user's API server in muster's writes on it and
// on its Workload, from its creation to its end.
const mostWrites = 6

// runAll creates Jobs, which the scheduler admits, and waits until all Workloads have
// finished and are let go. It returns the writes of the muster at the other end of the wire.
func runAll(t *testing.T, cluster *harness.Cluster, queues harness.Queues, wire *harness.Wire, count int) map[string]int {
	t.Helper()
	harness.LetIn(t, cluster, queues)
	before := wire.Writes()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	outcome := harness.Load(ctx, 16, count, func(number int) error {
		job := harness.QueuedJob(fmt.Sprint("bench-", number), 1)
		job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: "1"}
		_, err := cluster.Client.BatchV1().Jobs(queues.Namespace).Create(ctx, job, harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	harness.Eventually(t, 5*time.Minute, "all have finished and are let go", func() error {
		list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(queues.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := harness.HasCondition("Finished", "True", "Succeeded")(&list.Items[i]); err != nil {
				return err
			}
			if err := harness.LetGo(&list.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	made := wire.Writes()
	for name := range made {
		made[name] -= before[name]
	}
	return made
}

// table is what this many Jobs cost by kind of write, and the sum of those on Jobs and
// Workloads.
func table(writes map[string]int, count int) (text string, own int) {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(writes)) {
		if writes[name] == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("| %s | %.2f |", name, float64(writes[name])/float64(count)))
		kind, _, _ := strings.Cut(strings.Fields(name)[1], "/")
		if kind == "jobs" || kind == "workloads" {
			own += writes[name]
		}
	}
	return "| write | per Job |\n|---|---|\n" + strings.Join(lines, "\n"), own
}

// To wait for pods costs a write when they are ready; that they are not yet is said on the
// write that admits.
func TestJobCostsFewWrites(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	for _, block := range []string{"{enable: false}", "{enable: true, blockAdmission: false}"} {
		t.Run(block, func(t *testing.T) {
			wire := cluster.Wire(t)
			harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig, "--config", harness.WriteFile(t, "config.yaml",
				"apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nwaitForPodsReady: "+block+"\n"))
			queues := cluster.Queues(t)
			const count = 20
			text, own := table(runAll(t, cluster, queues, wire, count), count)
			if own > mostWrites*count {
				t.Errorf("%d Jobs cost %d writes on Jobs and Workloads:\n%s", count, own, text)
			}
		})
	}
}

// MUSTER_BENCH_WORKLOADS Jobs of one pod that runs for a second, with and without
// waitForPodsReady; prints a table for docs/benchmarks.md.
func TestBenchWorkloads(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_WORKLOADS")
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	for name, config := range map[string]string{
		"without waitForPodsReady": "manageJobsWithoutQueueName: false\n",
		"with waitForPodsReady":    "waitForPodsReady: {timeout: 5m}\n",
	} {
		t.Run(name, func(t *testing.T) {
			wire := cluster.Wire(t)
			version := "v1beta1"
			if strings.HasPrefix(config, "waitForPodsReady") {
				version = "v1beta2"
			}
			harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig, "--config", harness.WriteFile(t, "config.yaml",
				"apiVersion: config.kueue.x-k8s.io/"+version+"\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n"+config))
			queues := cluster.Queues(t)
			began := time.Now()
			text, own := table(runAll(t, cluster, queues, wire, count), count)
			fmt.Printf("%d Jobs %s, %.1f s; on Jobs and Workloads %.2f writes per Job\n\n%s\n\n", count, name,
				time.Since(began).Seconds(), float64(own)/float64(count), text)
		})
	}
}
