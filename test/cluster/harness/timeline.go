package harness

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Timeline is all that becomes of the jobs and Workloads of a namespace.
type Timeline struct {
	*history
	suspend []string // the path of the field that suspends a job
}

func withoutManagers(object *unstructured.Unstructured) { object.SetManagedFields(nil) }

// Timeline begins to look at Jobs, JobSets and Workloads, in a namespace that is still empty.
func (c *Cluster) Timeline(t testing.TB, namespace string) *Timeline {
	t.Helper()
	return &Timeline{c.history(t, namespace, withoutManagers, unbroken, Jobs, JobSets, Workloads), []string{"spec", "suspend"}}
}

// TimelineWithGaps is Timeline for a test that changes definitions, which ends their watches. Jobs that start while a watch is
// broken are not judged rightly: start none then.
func (c *Cluster) TimelineWithGaps(t testing.TB, namespace string) *Timeline {
	t.Helper()
	return &Timeline{c.history(t, namespace, withoutManagers, goesOn, Jobs, JobSets, Workloads), []string{"spec", "suspend"}}
}

// TimelineOf begins to look at the jobs of one kind and Workloads, in a namespace that is still empty.
func (c *Cluster) TimelineOf(t testing.TB, namespace string, kind schema.GroupVersionResource, suspend ...string) *Timeline {
	t.Helper()
	return &Timeline{c.history(t, namespace, withoutManagers, unbroken, kind, Workloads), suspend}
}

// Versions are the versions of the jobs, in order.
func (l *Timeline) Versions(t testing.TB) (versions []*unstructured.Unstructured) {
	t.Helper()
	for _, each := range l.inOrder(t) {
		if each.object.GetKind() != "Workload" && !each.gone {
			versions = append(versions, each.object)
		}
	}
	return versions
}

// Check demands, for all that has happened so far: no job was started without a Workload
// that was admitted and not evicted at that moment, and none gave its quota back while it
// ran. And none of them alternated between two values.
func (l *Timeline) Check(t testing.TB) {
	t.Helper()
	l.CheckAlternation(t)
	state := map[types.UID]*unstructured.Unstructured{}
	for _, each := range l.inOrder(t) {
		before := state[each.object.GetUID()]
		var err error
		if each.object.GetKind() == "Workload" {
			err = l.keepsQuotaWhileRunning(state, before, each.object, each.gone)
		} else if !each.gone {
			err = l.startsAdmitted(state, before, each.object)
		}
		if err != nil {
			t.Errorf("at version %d: %v", each.version, err)
		}
		state[each.object.GetUID()] = each.object
		if each.gone {
			delete(state, each.object.GetUID())
		}
	}
}

func (l *Timeline) startsAdmitted(state map[types.UID]*unstructured.Unstructured, before, job *unstructured.Unstructured) error {
	if l.isSuspended(job) || (before != nil && !l.isSuspended(before)) {
		return nil
	}
	owner := job
	if controller := metav1.GetControllerOf(job); controller != nil {
		if owner = state[controller.UID]; owner == nil {
			return fmt.Errorf("%s %s was started, and its owner is unknown", job.GetKind(), job.GetName())
		}
	}
	last := "it has none"
	for _, workload := range state {
		controller := metav1.GetControllerOf(workload)
		if workload.GetKind() != "Workload" || controller == nil || controller.UID != owner.GetUID() {
			continue
		}
		if ConditionOf(workload, "Admitted")["status"] == "True" && ConditionOf(workload, "Evicted")["status"] != "True" {
			return nil
		}
		last = fmt.Sprint(workload.Object["status"])
	}
	return fmt.Errorf("%s %s was started without an admitted Workload: %s", job.GetKind(), job.GetName(), last)
}

func (l *Timeline) keepsQuotaWhileRunning(state map[types.UID]*unstructured.Unstructured, before, workload *unstructured.Unstructured, gone bool) error {
	if before == nil || ConditionOf(before, "QuotaReserved")["status"] != "True" || ConditionOf(before, "Finished")["status"] == "True" {
		return nil
	}
	if !gone && ConditionOf(workload, "QuotaReserved")["status"] == "True" {
		return nil
	}
	controller := metav1.GetControllerOf(before)
	if controller == nil {
		return nil
	}
	for uid, job := range state {
		owned := metav1.GetControllerOf(job) != nil && metav1.GetControllerOf(job).UID == controller.UID
		if job.GetKind() == "Workload" || (uid != controller.UID && !owned) || job.GetDeletionTimestamp() != nil {
			continue
		}
		active, _, _ := unstructured.NestedInt64(job.Object, "status", "active")
		if !l.isSuspended(job) || active > 0 {
			return fmt.Errorf("Workload %s gave its quota back while %s %s was suspended=%v with %d active pods",
				workload.GetName(), job.GetKind(), job.GetName(), l.isSuspended(job), active)
		}
	}
	return nil
}

func (l *Timeline) isSuspended(job *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(job.Object, l.suspend...)
	return suspended
}
