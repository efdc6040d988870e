package scheduling

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// What stops a queue is written once into each Workload that waits, and then nothing is.

func TestAStoppedQueueIsWrittenOnceToEachWorkload(t *testing.T) {
	waitingInStorm := harness.Size(100, 2000)
	cluster := harness.Connect(t)
	wire := cluster.Wire(t)
	harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig)
	runDecisions(t, cluster, []decision{{"a queue with many that wait is held, and goes on", func(t *testing.T, teams *harness.Teams) {
		teams.Flavor("f")
		teams.Queue("q", teams.Cpus("f=1"))
		t.Cleanup(func() { harness.Must(t, cluster.RemoveWorkloads(teams.Namespace)) })
		for i := range waitingInStorm {
			// Of three sizes, none of which has room: the first of each in the order of the queue gets the reason.
			cluster.Create(t, harness.Workloads, teams.Namespace, harness.JoblessWorkload(fmt.Sprintf("w%d", i), "q", 2+i%3))
		}
		harness.Eventually(t, time.Minute, "one Workload of each size says why it waits", func() error {
			return eachSizeSaysWhy(cluster, teams.Namespace, 3)
		})
		written := func() int { return wire.Writes()["patch workloads/status"] }
		awaitRest(t, written)
		for _, policy := range []string{"Hold", "None", "HoldAndDrain", "None"} {
			before := written()
			teams.Change("q", map[string]any{"stopPolicy": policy})
			reason := "Suspended"
			if policy == "None" {
				reason = "ExceedsMaxQuota"
			}
			for i := range waitingInStorm {
				cluster.AwaitWorkload(t, teams.Namespace, fmt.Sprintf("w%d", i), "is told of "+policy,
					harness.HasCondition("QuotaReserved", "False", reason))
			}
			awaitRest(t, written)
			t.Logf("%s: %d status writes for %d Workloads that wait", policy, written()-before, waitingInStorm)
			if count := written() - before; count > waitingInStorm {
				t.Errorf("%s: %d status writes for %d Workloads", policy, count, waitingInStorm)
			}
		}
	}}, {"each thing that stops a queue is told and leaves it quiet", func(t *testing.T, teams *harness.Teams) {
		teams.Flavor("f")
		timeline := cluster.Timeline(t, teams.Namespace)
		t.Cleanup(func() { harness.Must(t, cluster.RemoveWorkloads(teams.Namespace)) })
		teams.Queue("open", teams.Cpus("f=1"))
		cluster.Create(t, harness.Workloads, teams.Namespace, harness.JoblessWorkload("runs", "open", 1))
		cluster.AwaitWorkload(t, teams.Namespace, "runs", "is admitted", harness.HasCondition("Admitted", "True", ""))
		stops := []map[string]any{
			{"stopPolicy": "Hold"}, {"stopPolicy": "HoldAndDrain"}, teams.Cpus("missing=1"),
			{"admissionChecksStrategy": map[string]any{"admissionChecks": []any{map[string]any{"name": teams.Name("missing")}}}},
		}
		for i, stop := range stops {
			queue := fmt.Sprintf("q%d", i)
			teams.Queue(queue, teams.Cpus("f=1"))
			cluster.Create(t, harness.Workloads, teams.Namespace, harness.JoblessWorkload(queue, queue, 2))
			cluster.AwaitWorkload(t, teams.Namespace, queue, "is told why it waits", harness.HasCondition("QuotaReserved", "False", "ExceedsMaxQuota"))
			teams.Change(queue, stop)
			cluster.AwaitWorkload(t, teams.Namespace, queue, "is told that its queue is stopped", harness.HasCondition("QuotaReserved", "False", "Suspended"))
		}
		for _, way := range []struct {
			name string
			stop func()
		}{
			{"held", func() {
				cluster.Patch(t, harness.LocalQueues, teams.Namespace, "held", `{"spec":{"stopPolicy":"Hold"}}`)
			}},
			{"gone", func() {
				cluster.Delete(t, harness.LocalQueues, teams.Namespace, "gone", metav1.DeletePropagationBackground)
			}},
		} {
			teams.Queue(way.name, teams.Cpus("f=1"))
			cluster.Create(t, harness.Workloads, teams.Namespace, harness.JoblessWorkload(way.name, way.name, 2))
			cluster.AwaitWorkload(t, teams.Namespace, way.name, "is told why it waits", harness.HasCondition("QuotaReserved", "False", "ExceedsMaxQuota"))
			way.stop()
			cluster.AwaitWorkload(t, teams.Namespace, way.name, "is told of its LocalQueue", func(workload *unstructured.Unstructured) error {
				if reason := harness.ConditionOf(workload, "QuotaReserved")["reason"]; reason == "ExceedsMaxQuota" {
					return fmt.Errorf("it says %v", reason)
				}
				return nil
			})
		}
		awaitRest(t, func() int { return wire.Writes()["patch workloads/status"] })
		timeline.CheckAlternation(t)
	}}})
}

// eachSizeSaysWhy has an error while there are fewer sizes with a Workload that says that it exceeds the quota. Which
// one it is among those that were made in the same second follows from their uids.
func eachSizeSaysWhy(cluster *harness.Cluster, namespace string, sizes int) error {
	list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	says := map[string]bool{}
	for i := range list.Items {
		if harness.HasCondition("QuotaReserved", "False", "ExceedsMaxQuota")(&list.Items[i]) == nil {
			podSets, _, _ := unstructured.NestedSlice(list.Items[i].Object, "spec", "podSets")
			says[fmt.Sprint(podSets)] = true
		}
	}
	if len(says) < sizes {
		return fmt.Errorf("%d of %d sizes say why", len(says), sizes)
	}
	return nil
}

// awaitRest waits until a count of writes stands still for a while: five times as long as
// muster waits before it tells a reason.
func awaitRest(t *testing.T, count func() int) {
	t.Helper()
	last, since := count(), time.Now()
	harness.Eventually(t, 2*time.Minute, "muster writes no more", func() error {
		if now := count(); now != last {
			last, since = now, time.Now()
		}
		if still := time.Since(since); still < 5*time.Second {
			return fmt.Errorf("the last of %d writes was %s ago", last, still)
		}
		return nil
	})
}
