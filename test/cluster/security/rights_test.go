package security

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// muster runs with a service account that can do what manifests/rbac.yaml says and
// nothing else: it gets ready, keeps its certificates and its webhook configurations,
// and its answers are right.
func TestTheRightsInTheManifestsAreEnough(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	cluster.ForgetCertificates(t)

	harness.StartMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	namespace := cluster.Namespace(t, nil)
	jobs := cluster.Client.BatchV1().Jobs(namespace)
	made, err := jobs.Create(harness.Context(t), harness.Job("queued", harness.Queue("some")), harness.ForReal)
	harness.Must(t, err)
	if made.Spec.Suspend == nil || !*made.Spec.Suspend {
		t.Error("the Job was not suspended")
	}
}

func metricsWithHeader(t *testing.T, muster *harness.Muster, header, value string) int {
	t.Helper()
	code, _ := harness.AskMetricsPortWith(t, muster, "/metrics", header, value)
	return code
}

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
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
	token := func(name string) string { return harness.AccountToken(t, cluster, namespace, name) }

	if code, _ := harness.MetricsAnswer(t, muster, ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := harness.MetricsAnswer(t, muster, "made-up"); code != http.StatusUnauthorized {
		t.Errorf("with a token that nobody issued: %d", code)
	}
	if code, _ := harness.MetricsAnswer(t, muster, token("stranger")); code != http.StatusForbidden {
		t.Errorf("with a stranger's token: %d", code)
	}
	// The other header, for requests through the API server's proxy: a token for muster alone, and the same right.
	for what, row := range map[string]struct {
		header, token string
		want          int
	}{
		"a reader's token for muster":             {"X-Muster-Token", harness.ExplainToken(t, cluster, namespace, "reader"), http.StatusOK},
		"a stranger's token for muster":           {"X-Muster-Token", harness.ExplainToken(t, cluster, namespace, "stranger"), http.StatusForbidden},
		"a reader's token for the API server":     {"X-Muster-Token", token("reader"), http.StatusUnauthorized},
		"a token for muster in the other's place": {"Authorization", "Bearer " + harness.ExplainToken(t, cluster, namespace, "reader"), http.StatusUnauthorized},
		"a token that nobody issued":              {"X-Muster-Token", "made-up", http.StatusUnauthorized},
	} {
		if code := metricsWithHeader(t, muster, row.header, row.token); code != row.want {
			t.Errorf("%s as %s: %d and not %d", what, row.header, code, row.want)
		}
	}
	code, body := harness.MetricsAnswer(t, muster, token("reader"))
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
	harness.Must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	harness.Must(t, err)
	return string(text)
}

// floodTokens asks with tokens that were never issued: each is a question to the API server, and these have a separate
// limit, so that an unknown client takes nothing from what muster can write.
func floodTokens(t *testing.T, muster *harness.Muster, namespace string) {
	t.Helper()
	const tokens, atOnce, perSecond = 90, 40, 20
	begun := time.Now()
	for number := range tokens {
		if code, _ := harness.MetricsAnswer(t, muster, fmt.Sprint("made-up-", namespace, number)); code != http.StatusUnauthorized {
			t.Errorf("a token that nobody issued: %d", code)
		}
	}
	if took, least := time.Since(begun), time.Second*(tokens-atOnce)/perSecond; took < least {
		t.Errorf("%d unknown tokens were asked for within %s, and the limit allows that in %s", tokens, took, least)
	}
}
