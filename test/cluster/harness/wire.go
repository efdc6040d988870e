package harness

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Wire is a proxy between one muster and the API server. It sees each of muster's writes, and can end muster by
// SIGKILL between two writes: when the API server has done the write, and muster has not received the answer.
type Wire struct {
	Kubeconfig string // for the muster that shall use it

	mutex    sync.Mutex
	writing  int // now, and at most
	most     int
	counts   map[string]int
	refused  map[string]int
	journal  []string
	kill     func() // ends the process that is armed; nil: no process
	cut      bool   // nothing passes until the next Arm
	breakOff func() // all connections of muster

	wrong      *WrongAnswer // for the kinds that it is given for; nil: none
	wrongKinds []string
	wrongs     int

	watches watchControl
	late    lateWrites
	client  *http.Client // to the API server
	target  *url.URL

	touching  bool
	attempts  map[string]int // patches of each object, while touching
	conflicts int
}

// Wire opens one; it ends with the test.
func (c *Cluster) Wire(t testing.TB) *Wire {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{counts: map[string]int{}, refused: map[string]int{}, attempts: map[string]int{}, client: &http.Client{Transport: transport}, target: target}
	var server *httptest.Server
	w.breakOff = func() { server.CloseClientConnections() }
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // watches
		ModifyResponse: w.answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if w.isCut() {
			panic(http.ErrAbortHandler)
		}
		if answer := w.toAnswerWrongly(request); answer != nil {
			writer.WriteHeader(answer.Status)
			_, _ = writer.Write([]byte(answer.Body))
			return
		}
		if request.Method == http.MethodGet {
			w.watches.serve(writer, request, proxy)
			return
		}
		if w.late.hold(request) {
			panic(http.ErrAbortHandler)
		}
		w.count(1)
		defer w.count(-1)
		if path := w.toTouch(request); path != "" {
			touch(w.client, target.JoinPath(path).String())
		}
		proxy.ServeHTTP(writer, request)
	}))
	server.Config.ErrorLog = nil
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	writeOpenKubeconfig(t, w.Kubeconfig, server.URL)
	return w
}

// writeOpenKubeconfig writes one for a server that asks for no credentials.
func writeOpenKubeconfig(t testing.TB, path, server string) {
	t.Helper()
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"+
		"contexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"users: [{name: u, user: {}}]\n", server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *Wire) count(by int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.writing += by
	w.most = max(w.most, w.writing)
}

// MostWrites is the largest number of writes that were in progress at one time.
func (w *Wire) MostWrites() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.most
}

// Arm kills the process after its next write on a Job, JobSet or Workload.
func (w *Wire) Arm(kill func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.kill, w.cut = kill, false
}

// Touch changes every Job, Workload and queue that muster is about to patch, just before,
// and every other time: its first try meets a newer version than it knew.
func (w *Wire) Touch() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.touching = true
}

// Conflicts is the number of writes that the API server has refused for a conflict.
func (w *Wire) Conflicts() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.conflicts
}

// toTouch is the path of the object that a request would patch; empty: leave it.
func (w *Wire) toTouch(request *http.Request) string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.touching || request.Method != http.MethodPatch {
		return ""
	}
	resource, _ := target(request.URL.Path)
	kind, _, _ := strings.Cut(resource, "/")
	if !slices.Contains([]string{"jobs", "workloads", "clusterqueues", "localqueues"}, kind) {
		return ""
	}
	path := strings.TrimSuffix(request.URL.Path, "/status")
	w.attempts[path]++
	if w.attempts[path]%2 == 0 {
		return ""
	}
	return path
}

// touch gives an object another version. A deleted object does not need it.
func touch(client *http.Client, url string) {
	body := fmt.Sprintf(`{"metadata":{"annotations":{"muster.batch/touched":"%d"}}}`, time.Now().UnixNano())
	request, err := http.NewRequest(http.MethodPatch, url, strings.NewReader(body))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	if response, err := client.Do(request); err == nil {
		response.Body.Close()
	}
}

// Writes are the writes that the API server has done, as "patch workloads/status", and
// how many of each.
func (w *Wire) Writes() map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return maps.Clone(w.counts)
}

// Refused are those that the API server has not done, but for conflicts, likewise.
func (w *Wire) Refused() map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return maps.Clone(w.refused)
}

// Journal is the list of writes, in order, with names.
func (w *Wire) Journal() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.journal)
}

// WrongAnswer is the answer of a proxy between muster and the API server instead of the API server's own.
type WrongAnswer struct {
	Status int
	Body   string
}

// AnswerWrongly answers all requests for these kinds so, and breaks their watches off; nil:
// the API server answers again.
func (w *Wire) AnswerWrongly(answer *WrongAnswer, kinds ...string) {
	w.mutex.Lock()
	w.wrong, w.wrongKinds = answer, kinds
	w.mutex.Unlock()
	w.breakOff()
}

// WrongAnswers is how many were given.
func (w *Wire) WrongAnswers() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.wrongs
}

func (w *Wire) toAnswerWrongly(request *http.Request) *WrongAnswer {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	resource, _ := target(request.URL.Path)
	kind, _, _ := strings.Cut(resource, "/")
	if w.wrong == nil || !slices.Contains(w.wrongKinds, kind) {
		return nil
	}
	w.wrongs++
	return w.wrong
}

// Cut blocks all requests: the API server cannot be reached. Or it lets them pass again.
func (w *Wire) Cut(cut bool) {
	w.mutex.Lock()
	w.cut = cut
	w.mutex.Unlock()
	w.breakOff()
}

func (w *Wire) isCut() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.cut
}

// answered is called when the API server has answered and before muster gets the answer.
func (w *Wire) answered(response *http.Response) error {
	request := response.Request
	if request.Method == http.MethodGet {
		return nil
	}
	resource, name := target(request.URL.Path)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if response.StatusCode == http.StatusConflict {
		w.conflicts++
		return nil
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		w.refused[strings.ToLower(request.Method)+" "+resource]++
		return nil
	}
	if w.cut {
		return context.Canceled // its writer is dead
	}
	w.counts[strings.ToLower(request.Method)+" "+resource]++
	w.journal = append(w.journal, strings.ToLower(request.Method)+" "+resource+" "+name)
	kind, _, _ := strings.Cut(resource, "/")
	if w.kill == nil || !slices.Contains([]string{"jobs", "jobsets", "workloads"}, kind) {
		return nil
	}
	w.cut = true
	w.kill()
	w.kill = nil
	return context.Canceled
}

// target is the resource, with its subresource, and the name in the path of a request:
// /apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]].
func target(path string) (resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 3
	if parts[0] == "api" {
		skip = 2
	}
	parts = parts[min(skip, len(parts)):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 0:
		return path, ""
	case 1:
		return parts[0], ""
	case 2:
		return parts[0], parts[1]
	}
	return parts[0] + "/" + parts[2], parts[1]
}

// Restart starts a killed muster again, with the same arguments.
func (m *Muster) Restart(t testing.TB) {
	t.Helper()
	if !m.Slain() {
		t.Fatal("muster runs")
	}
	log, err := os.OpenFile(m.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.spawn(t, log, m.command.Args[1:])
}

// Slay is Kill for those who are not the test's own goroutine.
func (m *Muster) Slay() {
	m.over = true
	_ = m.command.Process.Kill()
	<-m.ended
}

// Slain is whether it was killed and not restarted.
func (m *Muster) Slain() bool { return m.hasEnded() }
