package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Names that users and other tools know of Workloads.
const (
	PriorityLabel      = "kueue.x-k8s.io/priority-class"
	JobUIDLabel        = "kueue.x-k8s.io/job-uid"
	MinParallelism     = "kueue.x-k8s.io/job-min-parallelism"
	MaxExecTimeLabel   = "kueue.x-k8s.io/max-exec-time-seconds"
	PrebuiltAnnotation = "kueue.x-k8s.io/prebuilt-workload-name"
	StoppingAnnotation = "kueue.x-k8s.io/stopping"
	InUseFinalizer     = "kueue.x-k8s.io/resource-in-use"
)

// workloadsOf lists the Workloads that a Job or JobSet controls.
func (c *Cluster) workloadsOf(namespace, owner string) ([]*unstructured.Unstructured, error) {
	list, err := c.Dynamic.Resource(Workloads).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var owned []*unstructured.Unstructured
	for i := range list.Items {
		if controller := metav1.GetControllerOf(&list.Items[i]); controller != nil && controller.Name == owner {
			owned = append(owned, &list.Items[i])
		}
	}
	return owned, nil
}

// WaitForWorkload waits until the Job or JobSet of that name has exactly one Workload
// and all conditions give no error, and returns it.
func (c *Cluster) WaitForWorkload(t testing.TB, namespace, owner, what string,
	conditions ...func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	Eventually(t, time.Minute, "the Workload of "+owner+" "+what, func() error {
		var err error
		found, err = c.WorkloadOf(namespace, owner, conditions...)
		return err
	})
	return found
}

// WorkloadOf is WaitForWorkload without waiting.
func (c *Cluster) WorkloadOf(namespace, owner string, conditions ...func(*unstructured.Unstructured) error) (*unstructured.Unstructured, error) {
	owned, err := c.workloadsOf(namespace, owner)
	if err != nil {
		return nil, err
	}
	if len(owned) != 1 {
		return nil, fmt.Errorf("it has %d Workloads", len(owned))
	}
	return owned[0], check(owned[0], conditions)
}

// AwaitWorkload is WaitForWorkload by the Workload's own name.
func (c *Cluster) AwaitWorkload(t testing.TB, namespace, name, what string,
	conditions ...func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	Eventually(t, time.Minute, "Workload "+name+" "+what, func() error {
		var err error
		found, err = c.Dynamic.Resource(Workloads).Namespace(namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return check(found, conditions)
	})
	return found
}

func check(object *unstructured.Unstructured, conditions []func(*unstructured.Unstructured) error) error {
	for _, condition := range conditions {
		if err := condition(object); err != nil {
			return err
		}
	}
	return nil
}

// FieldIs is a condition: the field has this value (numbers are int64); nil: it is absent.
func FieldIs(want any, path ...string) func(*unstructured.Unstructured) error {
	return func(object *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%v is %v, not %v; status %v", path, got, want, object.Object["status"])
		}
		return nil
	}
}

// LetGo is a condition: nothing of muster's keeps the object.
func LetGo(object *unstructured.Unstructured) error {
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		return fmt.Errorf("it has the finalizers %v; status %v", finalizers, object.Object["status"])
	}
	return nil
}

// Released is a condition: the Workload holds no quota.
func Released(workload *unstructured.Unstructured) error {
	return check(workload, []func(*unstructured.Unstructured) error{
		FieldIs(nil, "status", "admission"), HasCondition("QuotaReserved", "False", ""), HasCondition("Admitted", "False", ""),
	})
}

// Admit does what the scheduler does: all pod sets get the flavor and the quota for all
// their pods, or for as many as `counts` says, pod set by pod set.
func (c *Cluster) Admit(t testing.TB, workload *unstructured.Unstructured, clusterQueue, flavor string, counts ...int64) {
	t.Helper()
	c.writeStatus(t, workload, func(current *unstructured.Unstructured) {
		podSets, _, _ := unstructured.NestedSlice(current.Object, "spec", "podSets")
		var assignments []any
		for i, each := range podSets {
			podSet := each.(map[string]any)
			count, _, _ := unstructured.NestedInt64(podSet, "count")
			if i < len(counts) {
				count = counts[i]
			}
			assignments = append(assignments, map[string]any{
				"name": podSet["name"], "count": count, "flavors": map[string]any{"cpu": flavor},
				"resourceUsage": map[string]any{"cpu": fmt.Sprint(count)},
			})
		}
		Set(current, map[string]any{"clusterQueue": clusterQueue, "podSetAssignments": assignments}, "status", "admission")
		setCondition(current, "QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue "+clusterQueue)
		setCondition(current, "Admitted", "True", "Admitted", "The workload is admitted")
		for _, kind := range []string{"Evicted", "Preempted"} {
			if len(ConditionOf(current, kind)) > 0 {
				setCondition(current, kind, "False", "QuotaReserved", "Previously: evicted")
			}
		}
	})
}

// Evict does what the scheduler does when another Workload needs the quota.
func (c *Cluster) Evict(t testing.TB, workload *unstructured.Unstructured, reason string) {
	t.Helper()
	c.writeStatus(t, workload, func(current *unstructured.Unstructured) {
		setCondition(current, "Evicted", "True", reason, "Evicted by the test")
	})
}

// SetActive is what a user does to pause a Workload.
func (c *Cluster) SetActive(t testing.TB, workload *unstructured.Unstructured, active bool) {
	t.Helper()
	c.Patch(t, Workloads, workload.GetNamespace(), workload.GetName(), fmt.Sprintf(`{"spec":{"active":%t}}`, active))
}

// writeStatus replaces the status by an edited one, again if it has changed since.
// It is a PUT, which muster never uses: so one can tell whose writes are whose.
func (c *Cluster) writeStatus(t testing.TB, workload *unstructured.Unstructured, edit func(*unstructured.Unstructured)) {
	t.Helper()
	client := c.Dynamic.Resource(Workloads).Namespace(workload.GetNamespace())
	Eventually(t, 10*time.Second, "writing the status of "+workload.GetName(), func() error {
		current, err := client.Get(Context(t), workload.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(current)
		_, err = client.UpdateStatus(Context(t), current, metav1.UpdateOptions{})
		return err
	})
}

func setCondition(object *unstructured.Unstructured, kind, status, reason, message string) {
	old, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	conditions := []any{map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}
	for _, each := range old {
		if each.(map[string]any)["type"] != kind {
			conditions = append(conditions, each)
		}
	}
	Set(object, conditions, "status", "conditions")
}

// AwaitCollector waits until garbage collection knows all Workloads that are there. It watches them again
// after their definition was applied, and until then it takes the Workloads of an orphaning delete for
// garbage.
func AwaitCollector(t *testing.T, cluster *Cluster, namespace string) {
	t.Helper()
	cluster.Create(t, Workloads, namespace, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Workloads.GroupVersion().String(), "kind": "Workload",
		"metadata": map[string]any{"name": "garbage", "ownerReferences": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "never-there", "uid": "never-there"},
		}},
		"spec": map[string]any{"podSets": []any{map[string]any{"name": "main", "count": int64(1), "template": map[string]any{
			"spec": map[string]any{"containers": []any{}},
		}}}},
	}})
	Eventually(t, time.Minute, "garbage is collected", func() error {
		_, err := cluster.Dynamic.Resource(Workloads).Namespace(namespace).Get(Context(t), "garbage", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there (%v)", err)
	})
}
