package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// MUSTER_BENCH_LATE Workloads, whose pods no node takes, are admitted and are late: each is
// evicted once, they do not come back together, and the API server never has more writes
// of muster's at a time than it has connections.
func TestBenchLateWorkloads(t *testing.T) {
	const connections = 32 + 2 // and the Lease, and Events
	count := sizeOf(t, "MUSTER_BENCH_LATE")
	cluster := harness.Connect(t)
	wire := cluster.Wire(t)
	timeout := 30*time.Second + time.Duration(count)*10*time.Millisecond
	startQueueMuster(t, "--kubeconfig", wire.Kubeconfig, "--config", writeFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n"+
			"waitForPodsReady: {timeout: "+timeout.String()+", requeuingStrategy: {backoffBaseSeconds: 3600}}\n"))
	queues := cluster.Queues(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	outcome := harness.Load(ctx, 16, count, func(number int) error {
		job := queuedJob(fmt.Sprint("late-", number), 1)
		job.Spec.Template.Spec.NodeSelector = map[string]string{"muster.batch/nowhere": "yes"}
		_, err := cluster.Client.BatchV1().Jobs(queues.Namespace).Create(ctx, job, harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	letIn(t, cluster, queues)
	first := map[string]int{} // by second of its eviction, and of its return
	back := map[string]int{}
	harness.Eventually(t, 25*time.Minute, "all were evicted", func() error {
		clear(first)
		clear(back)
		list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(queues.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			workload := &list.Items[i]
			if evictions(workload, "PodsReadyTimeout", "WaitForStart") != 1 {
				return fmt.Errorf("%s has the status %v", workload.GetName(), workload.Object["status"])
			}
			at, _, _ := unstructured.NestedString(workload.Object, "status", "requeueState", "requeueAt")
			back[at]++
			first[fmt.Sprint(harness.ConditionOf(workload, "Evicted")["lastTransitionTime"])]++
		}
		return nil
	})
	herd := 0
	for _, at := range back {
		herd = max(herd, at)
	}
	fmt.Printf("%d Workloads were evicted within %d seconds and come back in %d different ones, at most %d in one; at most %d writes at a time\n",
		count, len(first), len(back), herd, wire.MostWrites())
	if herd > count/20+1 {
		t.Errorf("%d of %d come back in one second", herd, count)
	}
	if wire.MostWrites() > connections {
		t.Errorf("%d writes were on their way at a time, %d are allowed", wire.MostWrites(), connections)
	}
}
