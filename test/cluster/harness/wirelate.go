package harness

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// lateWrites are writes that a network delays. The sender gets no answer; the API server gets them when the
// test decides, although the sender has stopped waiting by then or was killed.
type lateWrites struct {
	mutex sync.Mutex
	wants func(what string) bool
	held  []*LateWrite
}

// LateWrite is one of them.
type LateWrite struct {
	What    string        // as "patch workloads/status NAME"; of a create the name in the body
	Timeout time.Duration // that the sender sets for the API server; 0: none
	Code    int           // the API server's answer
	Answer  string

	request      *http.Request
	body         []byte
	began, ended time.Time // while the sender waited; not ended: zero
}

// HoldWrites holds back the writes that `wants` names, until DeliverLate; nil: none from now on.
func (w *Wire) HoldWrites(wants func(what string) bool) {
	w.late.mutex.Lock()
	defer w.late.mutex.Unlock()
	w.late.wants = wants
}

// Held are the writes that are held back.
func (w *Wire) Held() (what []string) {
	w.late.mutex.Lock()
	defer w.late.mutex.Unlock()
	for _, write := range w.late.held {
		what = append(what, write.What)
	}
	return what
}

// Holding is how many of them have a sender that still waits for the answer.
func (w *Wire) Holding() (count int) {
	w.late.mutex.Lock()
	defer w.late.mutex.Unlock()
	for _, write := range w.late.held {
		if write.request.Context().Err() == nil {
			count++
		}
	}
	return count
}

// MostHeld is the largest number of them that had a sender at one time, each since at least `settled`: a sender closes
// its connection before it sends again, but the proxy can see the two in the other order.
func (w *Wire) MostHeld(settled time.Duration) (most int) {
	w.late.mutex.Lock()
	defer w.late.mutex.Unlock()
	now := time.Now()
	for _, one := range w.late.held {
		at, count := one.began.Add(settled), 0
		for _, other := range w.late.held {
			if !other.began.Add(settled).After(at) && (other.ended.IsZero() || other.ended.After(at)) {
				count++
			}
		}
		if !at.After(now) {
			most = max(most, count)
		}
	}
	return most
}

// hold keeps a write that is to be late until its sender has gone. False: the write is not to be late. The body that
// is read to know it is put back.
func (l *lateWrites) hold(request *http.Request) bool {
	write := l.keep(request)
	if write == nil {
		return false
	}
	<-request.Context().Done()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	write.ended = time.Now()
	return true
}

func (l *lateWrites) keep(request *http.Request) *LateWrite {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.wants == nil {
		return nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	resource, name := target(request.URL.Path)
	if name == "" {
		name = nameIn(body)
	}
	what := strings.ToLower(request.Method) + " " + resource + " " + name
	if !l.wants(what) {
		return nil
	}
	timeout, _ := time.ParseDuration(request.URL.Query().Get("timeout"))
	write := &LateWrite{What: what, Timeout: timeout, request: request.Clone(request.Context()), body: body, began: time.Now()}
	l.held = append(l.held, write)
	return write
}

// nameIn is the name of the object in a request's body.
func nameIn(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"metadata":`)
	_, rest, _ = strings.Cut(rest, `"name":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// DeliverLate sends the delayed writes to the API server, in order, and returns its answers.
func (w *Wire) DeliverLate(t testing.TB) []*LateWrite {
	t.Helper()
	w.late.mutex.Lock()
	defer w.late.mutex.Unlock()
	w.late.wants = nil
	held := w.late.held
	w.late.held = nil
	for _, write := range held {
		if err := write.deliver(w.client, w.target); err != nil {
			t.Fatalf("%s: %v", write.What, err)
		}
	}
	return held
}

func (l *LateWrite) deliver(client *http.Client, server *url.URL) error {
	address := server.JoinPath(l.request.URL.Path)
	address.RawQuery = l.request.URL.RawQuery
	request, err := http.NewRequest(l.request.Method, address.String(), bytes.NewReader(l.body))
	if err != nil {
		return err
	}
	for _, header := range []string{"Content-Type", "Accept", "User-Agent"} {
		request.Header.Set(header, l.request.Header.Get(header))
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	l.Code, l.Answer = response.StatusCode, string(answer)
	return err
}

func (l *LateWrite) String() string { return fmt.Sprintf("%s -> %d %.300s", l.What, l.Code, l.Answer) }
