package harness

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Timeline is all that becomes of the Jobs, JobSets and Workloads of a namespace, every
// version of each. The API server numbers the versions of all kinds in one row, so they
// can be put in order although they come over three watches.
type Timeline struct {
	cluster   *Cluster
	namespace string

	mutex   sync.Mutex
	moments []moment
	seen    map[types.UID]uint64
	ended   error // a watch that broke
}

type moment struct {
	version uint64
	object  *unstructured.Unstructured
	gone    bool
}

var watched = []schema.GroupVersionResource{Jobs, JobSets, Workloads}

// Timeline begins to look, at a namespace that is still empty.
func (c *Cluster) Timeline(t testing.TB, namespace string) *Timeline {
	t.Helper()
	timeline := &Timeline{cluster: c, namespace: namespace, seen: map[types.UID]uint64{}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for _, resource := range watched {
		watcher, err := c.Dynamic.Resource(resource).Namespace(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatalf("watching %s: %v", resource.Resource, err)
		}
		go timeline.record(ctx, resource.Resource, watcher)
	}
	return timeline
}

func (l *Timeline) record(ctx context.Context, resource string, watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			l.fail(fmt.Errorf("the watch of %s: %v", resource, event.Object))
			return
		}
		version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		l.mutex.Lock()
		l.moments = append(l.moments, moment{version, object, event.Type == watch.Deleted})
		l.seen[object.GetUID()] = version
		l.mutex.Unlock()
	}
	if ctx.Err() == nil {
		l.fail(fmt.Errorf("the watch of %s ended", resource))
	}
}

func (l *Timeline) fail(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ended = err
}

// Check demands, for all that has happened so far: no job was started without a Workload
// that was admitted and not evicted at that moment, and none gave its quota back while it
// ran.
func (l *Timeline) Check(t testing.TB) {
	t.Helper()
	l.catchUp(t)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ended != nil {
		t.Fatal(l.ended)
	}
	slices.SortStableFunc(l.moments, func(a, b moment) int { return int(int64(a.version) - int64(b.version)) })
	state := map[types.UID]*unstructured.Unstructured{}
	for _, each := range l.moments {
		before := state[each.object.GetUID()]
		var err error
		if each.object.GetKind() == "Workload" {
			err = keepsQuotaWhileRunning(state, before, each.object, each.gone)
		} else if !each.gone {
			err = startsAdmitted(state, before, each.object)
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

// catchUp waits until all that is there has been seen as it is.
func (l *Timeline) catchUp(t testing.TB) {
	t.Helper()
	Eventually(t, 20*time.Second, "the watches show what is there", func() error {
		for _, resource := range watched {
			list, err := l.cluster.Dynamic.Resource(resource).Namespace(l.namespace).List(context.Background(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, object := range list.Items {
				l.mutex.Lock()
				seen := l.seen[object.GetUID()]
				l.mutex.Unlock()
				if version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64); seen < version {
					return fmt.Errorf("%s %s was seen at version %d and is at %d", resource.Resource, object.GetName(), seen, version)
				}
			}
		}
		return nil
	})
}

func startsAdmitted(state map[types.UID]*unstructured.Unstructured, before, job *unstructured.Unstructured) error {
	if isSuspended(job) || (before != nil && !isSuspended(before)) {
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

func keepsQuotaWhileRunning(state map[types.UID]*unstructured.Unstructured, before, workload *unstructured.Unstructured, gone bool) error {
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
		if !isSuspended(job) || active > 0 {
			return fmt.Errorf("Workload %s gave its quota back while %s %s was suspended=%v with %d active pods",
				workload.GetName(), job.GetKind(), job.GetName(), isSuspended(job), active)
		}
	}
	return nil
}

func isSuspended(job *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
	return suspended
}
