package dashboard

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"muster.batch/test/cluster/harness"
)

// The page of muster dashboard, in a browser, with real jobs and the rights of three users.

func TestDashboardShowsWhatItsReaderMayKnow(t *testing.T) {
	cluster := harness.Connect(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	address := harness.HostAddress(t)
	harness.StartQueueMuster(t, "--metrics-bind-address", address)
	harness.ServeThroughService(t, cluster, address)
	mine, other := harness.ExplainedNamespaces(t, cluster)
	harness.ExplainUsers(t, cluster, mine)
	browser := harness.OpenBrowser(t)
	pages := map[string]string{}
	for _, user := range []string{"boss", "dev", "stranger"} {
		pages[user] = harness.StartDashboard(t, harness.AsServiceAccount(t, cluster, mine, user), mine)
	}
	open := func(user, view string) {
		browser.Do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(pages[user]+view))
	}

	t.Run("the jobs of a namespace, with their place in the queue", func(t *testing.T) {
		open("dev", "")
		browser.WaitText(t, "job/train", "Pending", "waiting for quota", "1 / 2", "1 Workload", "times in UTC")
		harness.Screenshot(t, browser, "jobs")
	})
	t.Run("a job: why it waits, and who holds the quota", func(t *testing.T) {
		browser.Do(t, chromedp.Click(".row a", chromedp.ByQuery))
		text := browser.WaitText(t, "waits for quota", "Who holds cpu", "1 in namespaces that you may not list", "kubectl muster explain job/train")
		if strings.Contains(text, other) || strings.Contains(text, "holder") || strings.Contains(text, "secret") {
			t.Errorf("another namespace is named:\n%s", text)
		}
		title := ""
		browser.Do(t, chromedp.Title(&title))
		if title != "job/train · "+mine+" · muster" {
			t.Errorf("the title is %q", title)
		}
		open("boss", "#/job/"+mine+"/job/train")
		browser.WaitText(t, "waits for quota", other+"/holder", "Ahead of it in the queue: 1")
		harness.Screenshot(t, browser, "job")
	})
	t.Run("arrow keys go through the rows, and Enter opens one", func(t *testing.T) {
		open("boss", "#/jobs/"+other)
		browser.WaitText(t, "job/holder", "job/secret", "Admitted")
		apart := 0.0
		browser.Do(t, chromedp.Evaluate(`(([a, b]) => b.top - a.top)([...document.querySelectorAll(".rows .row")].map(row => row.getBoundingClientRect()))`, &apart))
		if apart < 40 {
			t.Errorf("two rows are %v pixels apart", apart)
		}
		focused := ""
		browser.Do(t, chromedp.Focus(".row a", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown),
			chromedp.Evaluate(`document.activeElement.textContent`, &focused))
		if focused != "job/secret" {
			t.Errorf("the focus is on %q", focused)
		}
		browser.Do(t, chromedp.KeyEvent(kb.Enter))
		browser.WaitText(t, "job/secret "+other, "Facts")
	})
	t.Run("quota: queues with their bars", func(t *testing.T) {
		open("boss", "#/quota")
		browser.WaitText(t, "ClusterQueues", "20m of 20m used", "1 with quota, 2 pending")
		harness.Screenshot(t, browser, "quota")
		// Which of the two queues is the first depends on their names.
		browser.Do(t, chromedp.Click(`.queue h3 a[href="#/queue/`+mine+`"]`, chromedp.ByQuery))
		text := browser.WaitText(t, "3 Workloads", "istory") // drawn after the list
		// The one sample of these minutes was taken before or after the queue was made: a queue has a history or the
		// reason why not, and both are muster's own words.
		if !strings.Contains(text, "History: the last 5 minutes") && !strings.Contains(text, "No history: nothing is known of a ClusterQueue") {
			t.Errorf("the queue's history is missing:\n%s", text)
		}
		harness.Screenshot(t, browser, "queue")
	})
	t.Run("what somebody may not read is said", func(t *testing.T) {
		open("dev", "#/quota")
		browser.WaitText(t, "cannot list clusterqueues.kueue.x-k8s.io")
		open("stranger", "")
		if text := browser.WaitText(t, "cannot list workloads.kueue.x-k8s.io"); strings.Contains(text, "train") {
			t.Errorf("a stranger reads\n%s", text)
		}
	})
	// A refused question is an error of the console to Chromium; nothing else can be one.
	for _, problem := range browser.Problems() {
		if !strings.Contains(problem, "502") {
			t.Errorf("in the console: %s", problem)
		}
	}

	t.Run("narrow and dark, nothing is cut off", func(t *testing.T) {
		browser.Do(t, chromedp.EmulateViewport(400, 800),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
		for _, view := range []string{"#/jobs/" + mine, "#/job/" + mine + "/job/train", "#/quota"} {
			open("boss", view)
			browser.WaitText(t, map[bool]string{true: "pending", false: "train"}[view == "#/quota"])
			var wide bool
			browser.Do(t, chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &wide))
			if wide {
				t.Errorf("%s is wider than 400 pixels", view)
			}
		}
		harness.Screenshot(t, browser, "narrow")
	})
	t.Run("without muster the page says where its list comes from", func(t *testing.T) {
		open("boss", "#/jobs/"+mine)
		browser.WaitText(t, "job/train")
		cluster.Kubectl(t, "", "delete", "service", "muster-metrics", "-n", "muster-system")
		browser.WaitText(t, "job/train", "muster did not answer")
	})
}

// What others on the machine, and pages of other origins, could send to the loopback address.
func TestDashboardAnswersNobodyElse(t *testing.T) {
	cluster := harness.Connect(t)
	namespace := cluster.Namespace(t, nil)
	page := harness.StartDashboard(t, os.Getenv("MUSTER_TEST_KUBECONFIG"), namespace, "--local")
	address, err := url.Parse(page)
	harness.Must(t, err)
	ask := func(method, path, host string, headers ...string) (int, http.Header, string) {
		request, err := http.NewRequestWithContext(harness.Context(t), method, "http://"+address.Host+path, nil)
		harness.Must(t, err)
		request.Host = host
		for i := 0; i+1 < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := http.DefaultClient.Do(request)
		harness.Must(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		harness.Must(t, err)
		return response.StatusCode, response.Header, string(body)
	}
	token := address.Path
	for _, row := range []struct {
		what, method, path, host string
		headers                  []string
		status                   int
	}{
		{"its own page", "GET", token, address.Host, nil, 200},
		{"its own question", "GET", token + "api/workloads?namespace=" + namespace, address.Host, []string{"Origin", "http://" + address.Host}, 200},
		{"localhost", "GET", token, "localhost:" + address.Port(), nil, 200},
		{"no token", "GET", "/", address.Host, nil, 404},
		{"a wrong token", "GET", "/" + strings.Repeat("0", len(token)-2) + "/api/workloads", address.Host, nil, 404},
		{"a name that points here", "GET", token, "evil.example:" + address.Port(), nil, 403},
		{"another port's name", "GET", token, "127.0.0.1:1", nil, 403},
		{"another origin", "GET", token + "api/workloads", address.Host, []string{"Origin", "https://evil.example"}, 403},
		{"a sandboxed frame", "GET", token + "api/workloads", address.Host, []string{"Origin", "null"}, 403},
		{"a change", "POST", token + "api/workloads", address.Host, nil, 405},
		{"a file beside the page", "GET", token + "../../etc/passwd", address.Host, nil, 404},
		{"a parameter that is not known", "GET", token + "api/workloads?fieldSelector=a", address.Host, nil, 400},
		{"a name that is none", "GET", token + "api/explain?kind=job&namespace=a/b&name=x", address.Host, nil, 400},
	} {
		status, headers, body := ask(row.method, row.path, row.host, row.headers...)
		if status != row.status {
			t.Errorf("%s: %d %s", row.what, status, body)
		}
		if !strings.HasPrefix(headers.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';") || headers.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", row.what, headers)
		}
		if slices.Contains(headers.Values("Access-Control-Allow-Origin"), "*") {
			t.Errorf("%s: every origin may read it", row.what)
		}
	}
}
