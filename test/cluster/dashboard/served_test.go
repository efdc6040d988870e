package dashboard

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"muster.batch/test/cluster/harness"
)

// loginProxy stands for an ingress with login: it completes each request with the token of one user.
func loginProxy(t *testing.T, muster *harness.Muster, token string) string {
	t.Helper()
	target, err := url.Parse(muster.Metrics)
	harness.Must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	direct := proxy.Director
	proxy.Director = func(request *http.Request) {
		direct(request)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("X-Forwarded-User", "somebody")
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL + "/dashboard/"
}

// The page at muster's own port, behind a proxy that passes on users' tokens for the API server.
func TestDashboardIsServedByMusterItself(t *testing.T) {
	cluster := harness.Connect(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	muster := harness.StartQueueMuster(t, "--config", harness.WriteFile(t, "dashboard.yaml", "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\ndashboard: true\n"))
	mine, other := harness.ExplainedNamespaces(t, cluster)
	harness.ExplainUsers(t, cluster, mine)
	browser := harness.OpenBrowser(t)
	pages := map[string]string{}
	for _, user := range []string{"boss", "dev", "stranger"} {
		pages[user] = loginProxy(t, muster, harness.AccountToken(t, cluster, mine, user))
	}
	open := func(user, view string) {
		browser.Do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(pages[user]+view))
	}

	t.Run("jobs and a job's history, with the user's rights", func(t *testing.T) {
		open("dev", "#/jobs/"+mine)
		browser.WaitText(t, "job/train", "Pending", "waiting for quota", "1 Workload")
		browser.Do(t, chromedp.Click(".row a", chromedp.ByQuery))
		text := browser.WaitText(t, "waits for quota", "History", "Workload created: job-train-", "Waits (WaitingForQuota)",
			"kubectl muster history job/train")
		if strings.Contains(text, other) || strings.Contains(text, "secret") {
			t.Errorf("another namespace is named:\n%s", text)
		}
		open("boss", "#/jobs/*")
		browser.WaitText(t, "job/holder", "job/train", "Admitted")
		open("boss", "#/quota")
		browser.WaitText(t, "20m of 20m used")
	})
	// A refused question is an error of the console to Chromium: dev cannot list the queues by which the page filters.
	for _, problem := range browser.Problems() {
		if !strings.Contains(problem, "403") || !strings.Contains(problem, "/localqueues") {
			t.Errorf("in the console: %s", problem)
		}
	}
	t.Run("what a user may not read", func(t *testing.T) {
		open("dev", "")
		browser.WaitText(t, "cannot list workloads.kueue.x-k8s.io in all namespaces")
		open("stranger", "#/jobs/"+mine)
		if text := browser.WaitText(t, "cannot list workloads.kueue.x-k8s.io"); strings.Contains(text, "train") {
			t.Errorf("a stranger reads\n%s", text)
		}
	})
	t.Run("who reaches the port without the proxy needs a token", func(t *testing.T) {
		for token, wanted := range map[string]int{"": 401, "forged": 401, harness.AccountToken(t, cluster, mine, "stranger"): 403, harness.AccountToken(t, cluster, mine, "dev"): 200} {
			if status, body := harness.AskMetricsPort(t, muster, "/dashboard/api/workloads?namespace="+mine, token); status != wanted {
				t.Errorf("%d and not %d: %s", status, wanted, body)
			}
		}
		// The other paths of the port still take no token that is good for the API server.
		if status, body := harness.AskMetricsPort(t, muster, "/lists/v1/workloads?namespace="+mine,
			harness.AccountToken(t, cluster, mine, "dev")); status != 401 {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("it is off unless it is asked for", func(t *testing.T) {
		without := harness.LaunchMuster(t, "--jobset-controller", "native", "--webhook-url", muster.URL)
		if status, _ := harness.AskMetricsPort(t, without, "/dashboard/", ""); status != 404 {
			t.Errorf("%d", status)
		}
	})
}
