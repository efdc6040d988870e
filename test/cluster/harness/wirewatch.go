package harness

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// watchControl holds back what muster watches through a wire, and lets the API server
// forget where a watch was.
type watchControl struct {
	mutex   sync.Mutex
	held    chan struct{} // until it is closed nothing passes; nil: all passes
	open    map[int]context.CancelFunc
	opened  int
	expired map[string]bool // what was watched at Expire and has not been watched since
	lists   map[string][]Listing
}

// Listing is when a kind was listed.
type Listing struct{ Began, Ended time.Time }

// HoldWatches keeps all events from muster, and the answers to its watches, until Expire.
func (w *Wire) HoldWatches() {
	w.watches.mutex.Lock()
	defer w.watches.mutex.Unlock()
	if w.watches.held == nil {
		w.watches.held = make(chan struct{})
	}
}

// Expire breaks all watches. Where muster would resume one, the API server is asked for a
// version that it has forgotten, as it would have been after a compaction, and says so in
// its own words.
func (w *Wire) Expire() {
	c := &w.watches
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.held != nil {
		close(c.held)
		c.held = nil
	}
	for _, cancel := range c.open {
		cancel()
	}
	c.expired = map[string]bool{}
	for kind := range c.lists {
		c.expired[kind] = true
	}
}

// Unexpired is how many kinds have not been watched since Expire.
func (w *Wire) Unexpired() int {
	w.watches.mutex.Lock()
	defer w.watches.mutex.Unlock()
	return len(w.watches.expired)
}

// Lists are all lists of each kind that muster watches, oldest first.
func (w *Wire) Lists() map[string][]Listing {
	w.watches.mutex.Lock()
	defer w.watches.mutex.Unlock()
	copied := map[string][]Listing{}
	for kind, lists := range w.watches.lists {
		copied[kind] = slices.Clone(lists)
	}
	return copied
}

// serve passes on a request that reads: a watch, a list, or anything else.
func (c *watchControl) serve(writer http.ResponseWriter, request *http.Request, next http.Handler) {
	resource, name := target(request.URL.Path)
	query := request.URL.Query()
	kind := resource + query.Get("labelSelector") + query.Get("fieldSelector")
	switch {
	case name != "" || strings.HasPrefix(resource, "/") || strings.Contains(resource, "/"):
		next.ServeHTTP(writer, request)
	case query.Get("watch") != "":
		ctx, cancel := context.WithCancel(request.Context())
		defer cancel()
		if c.begin(kind, cancel) {
			query.Set("resourceVersion", "1")
			request.URL.RawQuery = query.Encode()
		}
		next.ServeHTTP(&heldWriter{writer, ctx, c}, request.WithContext(ctx))
	default:
		began := time.Now()
		next.ServeHTTP(writer, request)
		c.listed(kind, query.Get("continue") != "", Listing{began, time.Now()})
	}
}

// begin notes a watch that opens, and tells whether it shall find its version forgotten.
func (c *watchControl) begin(kind string, cancel context.CancelFunc) (expired bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open == nil {
		c.open = map[int]context.CancelFunc{}
	}
	c.opened++
	c.open[c.opened] = cancel
	expired = c.expired[kind]
	delete(c.expired, kind)
	return expired
}

// listed notes a list; a further page belongs to the one before.
func (c *watchControl) listed(kind string, page bool, one Listing) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.lists == nil {
		c.lists = map[string][]Listing{}
	}
	if all := c.lists[kind]; page && len(all) > 0 {
		all[len(all)-1].Ended = one.Ended
		return
	}
	c.lists[kind] = append(c.lists[kind], one)
}

// heldWriter waits while events are held.
type heldWriter struct {
	http.ResponseWriter
	ctx     context.Context
	control *watchControl
}

func (h *heldWriter) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *heldWriter) Write(bytes []byte) (int, error) {
	h.control.mutex.Lock()
	held := h.control.held
	h.control.mutex.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-h.ctx.Done():
		}
	}
	if err := h.ctx.Err(); err != nil {
		return 0, err // it was cut since then: these events are lost
	}
	return h.ResponseWriter.Write(bytes)
}
