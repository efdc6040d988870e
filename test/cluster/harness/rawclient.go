package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// rawClient sends bytes and reads only the needed part of the answers: a load generator that shares two cores
// with the measured program must use almost no CPU.
type rawClient struct {
	base string
	http *http.Client
}

// rawClient has connections of HTTP/1.1, one for each request under way.
func (c *Cluster) rawClient(t testing.TB) *rawClient { return c.rawClientOf(t, false) }

// multiplexedClient has connections of HTTP/2, for requests that do not wait for each other:
// one connection takes some hundreds of them.
func (c *Cluster) multiplexedClient(t testing.TB) *rawClient { return c.rawClientOf(t, true) }

func (c *Cluster) rawClientOf(t testing.TB, multiplexed bool) *rawClient {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: secure, MaxIdleConnsPerHost: 1024, ForceAttemptHTTP2: multiplexed}
	t.Cleanup(transport.CloseIdleConnections)
	return &rawClient{base: config.Host, http: &http.Client{Transport: transport}}
}

const (
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml" // of which JSON is a part
)

// errExpired is that a watch begins at a version which the API server no longer has.
var errExpired = errors.New("the version is too old")

// throttledError means that the API server has too many requests in flight; the client must try again later.
type throttledError struct{ after time.Duration }

func (t throttledError) Error() string { return "too many requests; again after " + t.after.String() }

// throttled is the error for an answer of status 429.
func throttled(response *http.Response) error {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil {
		seconds = 1
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(throttledError{time.Duration(seconds) * time.Second}, err)
}

// send returns the status of the answer; an error answer is in the error. A conflict is not an error. With a
// user name, the administrator impersonates this user.
func (r *rawClient) send(ctx context.Context, method, path, user, contentType string, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json")
	if user != "" {
		request.Header.Set("Impersonate-User", user)
	}
	response, err := r.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusTooManyRequests {
		return response.StatusCode, throttled(response)
	}
	if response.StatusCode >= http.StatusBadRequest && response.StatusCode != http.StatusConflict {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 2048))
		return response.StatusCode, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// watch calls event with each line until the server ends the watch, as it is asked to
// after so long, or the context does.
func (r *rawClient) watch(ctx context.Context, path, version string, lasts time.Duration, event func(line []byte) error) error {
	address := fmt.Sprintf("%s%s?watch=1&timeoutSeconds=%.0f&resourceVersion=%s", r.base, path, lasts.Seconds(), version)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := r.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusGone {
		return errExpired
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("watching %s: %s", path, response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 1<<16), 1<<22)
	for lines.Scan() {
		if err := event(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// listPage is what list returns of a kind's objects.
type listPage struct {
	Metadata struct{ ResourceVersion, Continue string }
	Items    []json.RawMessage
}

// list one page of 500; next is what the page before said, or empty.
func (r *rawClient) list(ctx context.Context, path, next string) (page listPage, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path+"?limit=500&continue="+url.QueryEscape(next), nil)
	if err != nil {
		return page, err
	}
	response, err := r.http.Do(request)
	if err != nil {
		return page, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return page, fmt.Errorf("listing %s: %s", path, response.Status)
	}
	return page, json.NewDecoder(response.Body).Decode(&page)
}
