package harness

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// history is every version of the objects of some kinds. The API server numbers the versions of all kinds in
// one sequence, so they can be put in order although they come from several watches.
type history struct {
	cluster   *Cluster
	namespace string // empty: all
	kinds     []schema.GroupVersionResource
	trim      func(*unstructured.Unstructured) // removes fields that no test reads
	watching  continuity

	mutex   sync.Mutex
	moments []moment
	seen    map[types.UID]uint64
	ended   error // a watch that broke
}

// continuity is the effect of a broken watch on a history.
type continuity bool

const (
	unbroken continuity = false // a version was possibly missed: that is an error
	goesOn   continuity = true  // a list shows the state after the gap
)

type moment struct {
	version uint64
	object  *unstructured.Unstructured
	gone    bool
	at      time.Time // when we heard of it
}

// history begins with the existing objects.
func (c *Cluster) history(t testing.TB, namespace string, trim func(*unstructured.Unstructured),
	watching continuity, kinds ...schema.GroupVersionResource) *history {
	t.Helper()
	h := &history{cluster: c, namespace: namespace, kinds: kinds, trim: trim, watching: watching, seen: map[types.UID]uint64{}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for _, kind := range kinds {
		watcher, err := c.Dynamic.Resource(kind).Namespace(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatalf("watching %s: %v", kind.Resource, err)
		}
		go h.follow(ctx, kind, watcher)
	}
	return h
}

func (h *history) follow(ctx context.Context, kind schema.GroupVersionResource, watcher watch.Interface) {
	var last uint64
	for {
		var err error
		last, err = h.record(kind.Resource, watcher, last)
		if h.watching == goesOn {
			watcher, err = h.resume(ctx, kind, last)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.fail(err)
			return
		}
	}
}

// record stores the events of a watch, and returns the reason of its end and the version from which another one can
// continue; 0: none can.
func (h *history) record(kind string, watcher watch.Interface, last uint64) (uint64, error) {
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return 0, fmt.Errorf("the watch of %s: %v", kind, event.Object)
		}
		h.mutex.Lock()
		h.take(object, event.Type == watch.Deleted)
		// The objects at the beginning of a watch are in no order.
		last = max(last, h.seen[object.GetUID()])
		h.mutex.Unlock()
	}
	return last, fmt.Errorf("the watch of %s ended", kind)
}

// take is called with the mutex held.
func (h *history) take(object *unstructured.Unstructured, gone bool) {
	version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	h.trim(object)
	h.moments = append(h.moments, moment{version, object, gone, time.Now()})
	h.seen[object.GetUID()] = version
}

// resume begins a new watch after the last version: a busy API server can end a watch that is slow, and remembers what
// came since. After a restart it does not remember the events that it had not sent yet, which are the last writes; a
// list replaces them. It asks its clients to retry after five seconds, in which too many events would be lost, so the
// question whether it answers again is asked often, and waits for a second at most.
func (h *history) resume(ctx context.Context, kind schema.GroupVersionResource, last uint64) (watcher watch.Interface, err error) {
	client := h.cluster.Dynamic.Resource(kind).Namespace(h.namespace)
	list := func(limit time.Duration, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return client.List(ctx, options)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for ; ctx.Err() == nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err = list(time.Second, metav1.ListOptions{Limit: 1}); err != nil {
			continue
		}
		var all *unstructured.UnstructuredList
		from := strconv.FormatUint(last, 10)
		if last == 0 {
			if all, err = list(time.Minute, metav1.ListOptions{}); err != nil {
				continue
			}
			from = all.GetResourceVersion()
		}
		watcher, err = client.Watch(ctx, metav1.ListOptions{ResourceVersion: from})
		if err == nil {
			if all != nil {
				h.catchUpWith(all)
			}
			return watcher, nil
		}
		if apierrors.IsResourceExpired(err) {
			last = 0
		}
	}
	return nil, fmt.Errorf("the watch of %s does not come back: %v", kind.Resource, err)
}

// catchUpWith records the objects of a list, and the objects that are missing in it.
func (h *history) catchUpWith(list *unstructured.UnstructuredList) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	there := map[types.UID]bool{}
	for i := range list.Items {
		object := &list.Items[i]
		there[object.GetUID()] = true
		if version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64); version > h.seen[object.GetUID()] {
			h.take(object, false)
		}
	}
	last := map[types.UID]moment{}
	for _, each := range h.moments {
		if each.object.GetKind()+"List" == list.GetKind() {
			last[each.object.GetUID()] = each
		}
	}
	for uid, each := range last {
		if !there[uid] && !each.gone {
			object := each.object.DeepCopy()
			object.SetResourceVersion(list.GetResourceVersion())
			h.take(object, true)
		}
	}
}

func (h *history) fail(err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.ended = err
}

func (h *history) failed() error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.ended
}

// inOrder is all that has happened so far.
func (h *history) inOrder(t testing.TB) []moment {
	t.Helper()
	h.catchUp(t)
	if err := h.failed(); err != nil {
		t.Fatal(err)
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	slices.SortStableFunc(h.moments, func(a, b moment) int { return int(int64(a.version) - int64(b.version)) })
	return slices.Clone(h.moments)
}

// catchUp waits until the current version of each object has been seen.
func (h *history) catchUp(t testing.TB) {
	t.Helper()
	Eventually(t, 20*time.Second, "the watches show what is there", func() error {
		if h.failed() != nil {
			return nil
		}
		for _, kind := range h.kinds {
			list, err := h.cluster.Dynamic.Resource(kind).Namespace(h.namespace).List(context.Background(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, object := range list.Items {
				h.mutex.Lock()
				seen := h.seen[object.GetUID()]
				h.mutex.Unlock()
				if version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64); seen < version {
					return fmt.Errorf("%s %s was seen at version %d and is at %d", kind.Resource, object.GetName(), seen, version)
				}
			}
		}
		return nil
	})
}
