package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.batch/test/cluster/harness"
)

// recordingRun is what muster's process used from the first of the Jobs until all Workloads had finished.
type recordingRun struct {
	cpu, engine, wall time.Duration
	bytes             int64
	peakMiB           int
}

// MUSTER_BENCH_RECORDING Jobs of one pod that runs for a second, in turn without and with --record, three times each;
// prints a table for docs/simulate.md.
func TestBenchRecording(t *testing.T) {
	count := sizeOf(t, "MUSTER_BENCH_RECORDING")
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	var rows string
	for round := 1; round <= 3; round++ {
		for _, records := range []bool{false, true} {
			t.Run(fmt.Sprintf("round %d, record %v", round, records), func(t *testing.T) {
				run := runRecorded(t, cluster, records, count)
				rows += fmt.Sprintf("| %d | %v | %.2f ms | %.2f ms | %.1f s | %.1f KiB | %d MiB |\n", round, records,
					run.cpu.Seconds()*1000/float64(count), run.engine.Seconds()*1000/float64(count), run.wall.Seconds(),
					float64(run.bytes)/1024/float64(count), run.peakMiB)
			})
		}
	}
	fmt.Printf("%d Jobs\n\n| round | --record | CPU for each Job | of this on the engine's thread | wall | recording for each Job | peak memory |\n"+
		"|---|---|---|---|---|---|---|\n%s\n", count, rows)
}

func runRecorded(t *testing.T, cluster *harness.Cluster, records bool, count int) (run recordingRun) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recording")
	flags := []string{"--config", harness.WriteFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n")}
	if records {
		flags = append(flags, "--record", file, "--record-limit", "1Gi")
	}
	muster := harness.StartQueueMuster(t, flags...)
	queues := harness.OpenQueue(t, cluster)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cpu, engine, began := muster.CPU(t), muster.EngineCPU(t), time.Now()
	outcome := harness.Load(ctx, 16, count, func(number int) error {
		job := harness.QueuedJob(fmt.Sprint("bench-", number), 1)
		job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: "1"}
		container := &job.Spec.Template.Spec.Containers[0]
		for i := range 8 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("VALUE_", i), Value: fmt.Sprint("value ", number)})
		}
		container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
		_, err := cluster.Client.BatchV1().Jobs(queues.Namespace).Create(ctx, job, harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	awaitFinished(t, cluster, queues.Namespace)
	run = recordingRun{cpu: muster.CPU(t) - cpu, engine: muster.EngineCPU(t) - engine, wall: time.Since(began), peakMiB: muster.PeakKiB(t) / 1024}
	if records {
		status, err := os.Stat(file)
		harness.Must(t, err)
		run.bytes = status.Size()
	}
	return run
}
