package harness

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Runner acts as the jobs: it marks each Workload as finished, a fixed time after its admission.
type Runner struct {
	cluster  *Cluster
	takes    time.Duration
	begun    sync.Map // by UID
	finished atomic.Int64
}

// RunAdmitted runs the Workloads of a namespace until the test ends.
func (c *Cluster) RunAdmitted(t testing.TB, namespace string, takes time.Duration) *Runner {
	t.Helper()
	runner := &Runner{cluster: c, takes: takes}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.Dynamic, 0, namespace, nil)
	_, err := factory.ForResource(Workloads).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { runner.see(object.(*unstructured.Unstructured)) },
		UpdateFunc: func(_, object any) { runner.see(object.(*unstructured.Unstructured)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return runner
}

func (r *Runner) see(workload *unstructured.Unstructured) {
	if HasCondition("Admitted", "True", "")(workload) != nil {
		return
	}
	if _, begun := r.begun.LoadOrStore(workload.GetUID(), true); begun {
		return
	}
	time.AfterFunc(r.takes, func() { r.finish(workload.DeepCopy()) })
}

// finish continues until the API server has stored it; the API server can be down for some time. A Workload
// that never ends would keep its quota, and the test would fail.
func (r *Runner) finish(workload *unstructured.Unstructured) {
	client := r.cluster.Dynamic.Resource(Workloads).Namespace(workload.GetNamespace())
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		setCondition(workload, "Finished", "True", "Succeeded", "The work is done")
		_, err := client.UpdateStatus(context.Background(), workload, metav1.UpdateOptions{})
		if err == nil {
			r.finished.Add(1)
			return
		}
		if apierrors.IsNotFound(err) {
			return
		}
		if !apierrors.IsConflict(err) {
			time.Sleep(20 * time.Millisecond)
		}
		if again, err := client.Get(context.Background(), workload.GetName(), metav1.GetOptions{}); err == nil {
			workload = again
		}
	}
}

// Finished is how many Workloads have come to their end.
func (r *Runner) Finished() int { return int(r.finished.Load()) }

// Await waits until this number of Workloads has finished. It has no time limit while Workloads finish.
func (r *Runner) Await(t testing.TB, count int) {
	t.Helper()
	for before := -1; r.Finished() < count; {
		before = r.Finished()
		Eventually(t, time.Minute, fmt.Sprintf("%d Workloads have finished", count), func() error {
			if now := r.Finished(); now < count && now == before {
				return fmt.Errorf("%d have, and none since", now)
			}
			return nil
		})
	}
}

// JoblessWorkload makes a Workload of one pod of this many cpus, which has no job.
func JoblessWorkload(name, queue string, cpus int) *unstructured.Unstructured {
	return queueObject("Workload", name, map[string]any{
		"queueName": queue, "priority": int64(0),
		"podSets": []any{map[string]any{"name": "main", "count": int64(1), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never",
			"containers": []any{map[string]any{"name": "main", "image": "example.test/main:1",
				"resources": map[string]any{"requests": map[string]any{"cpu": fmt.Sprint(cpus)}}}},
		}}}},
	})
}

// RemoveWorkloads removes all of a namespace; they have no job that would let them go.
func (c *Cluster) RemoveWorkloads(namespace string) error {
	list, err := c.Dynamic.Resource(Workloads).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	client := c.Dynamic.Resource(Workloads).Namespace(namespace)
	outcome := Load(context.Background(), 16, len(list.Items), func(number int) error {
		name := list.Items[number].GetName()
		if len(list.Items[number].GetFinalizers()) > 0 {
			_, err := client.Patch(context.Background(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil {
				return err
			}
		}
		return client.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	if outcome.Failed > 0 {
		return fmt.Errorf("removing the Workloads: %s", outcome)
	}
	return nil
}
