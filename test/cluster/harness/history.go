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

// history is every version of the objects of some kinds. The API server numbers the
// versions of all kinds in one row, so they can be put in order although they come over
// several watches.
type history struct {
	cluster   *Cluster
	namespace string // empty: all
	kinds     []schema.GroupVersionResource
	trim      func(*unstructured.Unstructured) // takes away what nobody will look at

	mutex   sync.Mutex
	moments []moment
	seen    map[types.UID]uint64
	ended   error // a watch that broke
}

type moment struct {
	version uint64
	object  *unstructured.Unstructured
	gone    bool
	at      time.Time // when we heard of it
}

// history begins with what is there.
func (c *Cluster) history(t testing.TB, namespace string, trim func(*unstructured.Unstructured),
	kinds ...schema.GroupVersionResource) *history {
	t.Helper()
	h := &history{cluster: c, namespace: namespace, kinds: kinds, trim: trim, seen: map[types.UID]uint64{}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for _, kind := range kinds {
		watcher, err := c.Dynamic.Resource(kind).Namespace(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatalf("watching %s: %v", kind.Resource, err)
		}
		go h.record(ctx, kind.Resource, watcher)
	}
	return h
}

func (h *history) record(ctx context.Context, kind string, watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			h.fail(fmt.Errorf("the watch of %s: %v", kind, event.Object))
			return
		}
		version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		h.trim(object)
		h.mutex.Lock()
		h.moments = append(h.moments, moment{version, object, event.Type == watch.Deleted, time.Now()})
		h.seen[object.GetUID()] = version
		h.mutex.Unlock()
	}
	if ctx.Err() == nil {
		h.fail(fmt.Errorf("the watch of %s ended", kind))
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

// catchUp waits until all that is there has been seen as it is.
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
