package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Requests is a proxy between one muster and the API server, with the identity of a service account. It records
// the requests in the terms of RBAC.
type Requests struct {
	Kubeconfig string // for the muster that shall use it

	mutex   sync.Mutex
	asked   map[Right]int
	refused []string // what the API server forbade
}

// Right is one verb on one resource: of all objects, or of one named object. An empty namespace means all.
type Right struct {
	Verb, Group, Resource string // "patch", "batch", "jobs/status"
	Namespace, Name       string
}

func (r Right) String() string {
	text := r.Verb + " " + r.Group + "/" + r.Resource
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// covers is whether the owner of this right also has that right.
func (r Right) covers(asked Right) bool {
	return r.Verb == asked.Verb && r.Group == asked.Group && r.Resource == asked.Resource &&
		(r.Name == "" || r.Name == asked.Name) && (r.Namespace == "" || r.Namespace == asked.Namespace)
}

// Requests opens one for the bearer of a token; it ends with the test.
func (c *Cluster) Requests(t testing.TB, token string) *Requests {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	r := &Requests{asked: map[Right]int{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // watches
		ModifyResponse: r.answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		r.note(request)
		proxy.ServeHTTP(writer, request)
	}))
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	writeOpenKubeconfig(t, r.Kubeconfig, server.URL)
	return r
}

// rightFor is what a request needs; false: every user has it.
func rightFor(request *http.Request) (Right, bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	right := Right{}
	switch {
	case parts[0] == "apis" && len(parts) > 3:
		right.Group = parts[1]
		parts = parts[3:]
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	default:
		return right, false // discovery, for example, is allowed for every user
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		right.Namespace = parts[1]
		parts = parts[2:]
	}
	right.Resource = parts[0]
	if len(parts) > 1 {
		right.Name = parts[1]
	}
	if len(parts) > 2 {
		right.Resource += "/" + parts[2]
	}
	if right.Resource == "selfsubjectreviews" {
		return right, false // for every user, by the role system:basic-user
	}
	right.Verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch",
		http.MethodDelete: "delete", http.MethodGet: "get"}[request.Method]
	if request.Method == http.MethodGet && right.Name == "" {
		query := request.URL.Query()
		right.Verb = "list"
		if query.Get("watch") == "true" || query.Get("watch") == "1" {
			right.Verb = "watch"
		}
		// The API server takes a collection of one by its name.
		if name, found := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name="); found {
			right.Name = name
		}
	}
	return right, true
}

func (r *Requests) note(request *http.Request) {
	right, found := rightFor(request)
	if !found {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.asked[right]++
	if request.Method != http.MethodPost && request.Method != http.MethodPatch {
		return
	}
	body, err := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return
	}
	for _, owner := range blockedOwners(body) {
		owner.Namespace = right.Namespace
		r.asked[owner]++
	}
}

// blockedOwners are the rights that the admission plugin OwnerReferencesPermissionEnforcement, if it is on,
// requires from the creator of an object that blocks its owner's deletion.
func blockedOwners(body []byte) (rights []Right) {
	var object struct {
		Metadata struct {
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	for _, owner := range object.Metadata.OwnerReferences {
		if owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
			group, _, _ := strings.Cut(owner.APIVersion, "/")
			rights = append(rights, Right{Verb: "update", Group: group, Resource: strings.ToLower(owner.Kind) + "s/finalizers", Name: owner.Name})
		}
	}
	return rights
}

func (r *Requests) answered(response *http.Response) error {
	if response.StatusCode != http.StatusForbidden {
		return nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	body, _ := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	// A namespace in deletion, perhaps of another test, accepts no new objects with any rights.
	if strings.Contains(string(body), "because it is being terminated") {
		return nil
	}
	r.refused = append(r.refused, fmt.Sprintf("%s %s: %s", response.Request.Method, response.Request.URL.Path, body))
	return nil
}

// Refused is what the API server forbade so far.
func (r *Requests) Refused() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.refused)
}

// Unused are those of the rights that no request has needed so far; others are the requests
// that none of the rights allows.
func (r *Requests) Unused(rights []Right) (unused, others []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	used := map[Right]bool{}
	for asked := range r.asked {
		allowed := false
		for _, right := range rights {
			if right.covers(asked) {
				used[right], allowed = true, true
			}
		}
		if !allowed {
			others = append(others, asked.String())
		}
	}
	for _, right := range rights {
		if !used[right] {
			unused = append(unused, right.String())
		}
	}
	slices.Sort(unused)
	slices.Sort(others)
	return unused, others
}
