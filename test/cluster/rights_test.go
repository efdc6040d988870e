package cluster

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

const namesOfTheManifests = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
internalCertManagement:
  webhookServiceName: muster-webhook
  webhookSecretName: muster-webhook-cert
`

// accountToken is a service account's, for the API server and one hour.
func accountToken(t *testing.T, cluster *harness.Cluster, namespace, name string) string {
	t.Helper()
	return strings.TrimSpace(cluster.Kubectl(t, "", "create", "token", name, "-n", namespace))
}

// asServiceAccount writes a kubeconfig that is the lab's but for the user, who is a
// service account with a token of one hour.
func asServiceAccount(t *testing.T, cluster *harness.Cluster, namespace, name string) string {
	t.Helper()
	token := accountToken(t, cluster, namespace, name)
	view := cluster.Kubectl(t, "", "config", "view", "--raw", "--minify", "-o",
		"jsonpath={.clusters[0].cluster.server} {.clusters[0].cluster.certificate-authority-data}")
	var server, authority string
	if _, err := fmt.Sscan(view, &server, &authority); err != nil {
		t.Fatalf("the lab's kubeconfig: %q: %v", view, err)
	}
	return writeFile(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: u, user: {token: %q}}]
`, server, authority, token))
}

// muster runs with a service account that can do what manifests/rbac.yaml says and
// nothing else: it gets ready, keeps its certificates and its webhook configurations,
// and its answers are right.
func TestTheRightsInTheManifestsAreEnough(t *testing.T) {
	cluster := harness.Connect(t)
	config := writeFile(t, "config.yaml", namesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	cluster.ForgetCertificates(t)

	harness.StartMuster(t, "--config", config, "--kubeconfig", asServiceAccount(t, cluster, "muster-system", "muster"))
	namespace := cluster.Namespace(t, nil)
	jobs := cluster.Client.BatchV1().Jobs(namespace)
	made, err := jobs.Create(harness.Context(t), harness.Job("queued", harness.Queue("some")), harness.ForReal)
	must(t, err)
	if made.Spec.Suspend == nil || !*made.Spec.Suspend {
		t.Error("the Job was not suspended")
	}
}

func metricsAnswer(t *testing.T, muster *harness.Muster, token string) (int, string) {
	t.Helper()
	return askMetricsPort(t, muster, "/metrics", token)
}

func metricsWithHeader(t *testing.T, muster *harness.Muster, header, value string) int {
	t.Helper()
	code, _ := askMetricsPortWith(t, muster, "/metrics", header, value)
	return code
}

// askMetricsPort gets a path of the listener for metrics; an empty token is not sent.
func askMetricsPort(t *testing.T, muster *harness.Muster, path, token string) (int, string) {
	t.Helper()
	if token == "" {
		return askMetricsPortWith(t, muster, path, "", "")
	}
	return askMetricsPortWith(t, muster, path, "Authorization", "Bearer "+token)
}

func askMetricsPortWith(t *testing.T, muster *harness.Muster, path, header, value string) (int, string) {
	t.Helper()
	client := http.Client{
		Timeout: 10 * time.Second,
		// The certificate is for the webhook; whether it is right is another test's business.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	request, err := http.NewRequest(http.MethodGet, muster.Metrics+path, nil)
	must(t, err)
	if header != "" {
		request.Header.Set(header, value)
	}
	response, err := client.Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(body)
}

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	cluster := harness.Connect(t)
	config := writeFile(t, "config.yaml", namesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	muster := harness.StartMuster(t, "--config", config)
	namespace := cluster.Namespace(t, nil)
	for _, name := range []string{"reader", "stranger"} {
		cluster.Kubectl(t, "", "create", "serviceaccount", name, "-n", namespace)
	}
	binding := "metrics-" + namespace
	cluster.Kubectl(t, "", "create", "clusterrolebinding", binding, "--clusterrole", "muster-metrics-reader",
		"--serviceaccount", namespace+":reader")
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrolebinding", binding) })
	token := func(name string) string { return accountToken(t, cluster, namespace, name) }

	if code, _ := metricsAnswer(t, muster, ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := metricsAnswer(t, muster, "made-up"); code != http.StatusUnauthorized {
		t.Errorf("with a token that nobody issued: %d", code)
	}
	if code, _ := metricsAnswer(t, muster, token("stranger")); code != http.StatusForbidden {
		t.Errorf("with a stranger's token: %d", code)
	}
	// The other header, for requests through the API server's proxy: a token for muster alone, and the same right.
	for what, row := range map[string]struct {
		header, token string
		want          int
	}{
		"a reader's token for muster":             {"X-Muster-Token", explainToken(t, cluster, namespace, "reader"), http.StatusOK},
		"a stranger's token for muster":           {"X-Muster-Token", explainToken(t, cluster, namespace, "stranger"), http.StatusForbidden},
		"a reader's token for the API server":     {"X-Muster-Token", token("reader"), http.StatusUnauthorized},
		"a token for muster in the other's place": {"Authorization", "Bearer " + explainToken(t, cluster, namespace, "reader"), http.StatusUnauthorized},
		"a token that nobody issued":              {"X-Muster-Token", "made-up", http.StatusUnauthorized},
	} {
		if code := metricsWithHeader(t, muster, row.header, row.token); code != row.want {
			t.Errorf("%s as %s: %d and not %d", what, row.header, code, row.want)
		}
	}
	code, body := metricsAnswer(t, muster, token("reader"))
	if code != http.StatusOK {
		t.Fatalf("with a reader's token: %d", code)
	}
	for _, family := range []string{
		"muster_webhook_requests_total{", "muster_webhook_rule_duration_seconds_bucket{",
		"muster_certificate_expiry_timestamp_seconds ", "controller_runtime_webhook_requests_total{",
		`muster_watch_age_seconds{resource="jobs.batch"}`, `muster_watch_age_seconds{resource="workloads.kueue.x-k8s.io"}`,
	} {
		if !strings.Contains(body, family) {
			t.Errorf("no %s among the metrics", family)
		}
	}
	if answer := readyz(t, muster); !strings.Contains(answer, "[+]watches ok") {
		t.Errorf("/readyz says nothing of the watches: %s", answer)
	}
	floodTokens(t, muster, namespace)
}

func readyz(t *testing.T, muster *harness.Muster) string {
	t.Helper()
	response, err := http.Get(muster.Health + "/readyz?verbose")
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return string(text)
}

// floodTokens asks with tokens that were never issued: each is a question to the API server, and these have a separate
// limit, so that an unknown client takes nothing from what muster can write.
func floodTokens(t *testing.T, muster *harness.Muster, namespace string) {
	t.Helper()
	const tokens, atOnce, perSecond = 90, 40, 20
	begun := time.Now()
	for number := range tokens {
		if code, _ := metricsAnswer(t, muster, fmt.Sprint("made-up-", namespace, number)); code != http.StatusUnauthorized {
			t.Errorf("a token that nobody issued: %d", code)
		}
	}
	if took, least := time.Since(begun), time.Second*(tokens-atOnce)/perSecond; took < least {
		t.Errorf("%d unknown tokens were asked for within %s, and the limit allows that in %s", tokens, took, least)
	}
}
