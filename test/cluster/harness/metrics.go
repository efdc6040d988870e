package harness

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

// APIServerMetrics are the metrics of the API server.
func APIServerMetrics(t *testing.T, cluster *Cluster) string {
	t.Helper()
	text, err := cluster.Client.(*kubernetes.Clientset).RESTClient().Get().AbsPath("/metrics").DoRaw(Context(t))
	Must(t, err)
	return string(text)
}

// MetricsAnswer is what muster says at /metrics to this token.
func MetricsAnswer(t *testing.T, muster *Muster, token string) (int, string) {
	t.Helper()
	return AskMetricsPort(t, muster, "/metrics", token)
}

// AskMetricsPort gets a path of the listener for metrics; an empty token is not sent.
func AskMetricsPort(t *testing.T, muster *Muster, path, token string) (int, string) {
	t.Helper()
	if token == "" {
		return AskMetricsPortWith(t, muster, path, "", "")
	}
	return AskMetricsPortWith(t, muster, path, "Authorization", "Bearer "+token)
}

// AskMetricsPortWith gets a path of the listener for metrics with a header, unless its name is empty.
func AskMetricsPortWith(t *testing.T, muster *Muster, path, header, value string) (int, string) {
	t.Helper()
	client := http.Client{
		Timeout: 10 * time.Second,
		// The certificate is for the webhook; whether it is right is another test's business.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	request, err := http.NewRequest(http.MethodGet, muster.Metrics+path, nil)
	Must(t, err)
	if header != "" {
		request.Header.Set(header, value)
	}
	response, err := client.Do(request)
	Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Must(t, err)
	return response.StatusCode, string(body)
}
