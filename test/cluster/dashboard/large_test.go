package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"muster.batch/test/cluster/harness"
)

const (
	listedWorkloads = 50_000
	listedQueues    = 1_000
)

// largePage serves the page with lists of this size, made here: what is tested is the browser's part. While `down` is
// set connections end without an answer. `rounds` counts the answers about queues.
func largePage(t *testing.T) (address string, down *atomic.Bool, rounds *atomic.Int64) {
	t.Helper()
	down, rounds = &atomic.Bool{}, &atomic.Int64{}
	mux := http.NewServeMux()
	answer := func(path string, make func(request *http.Request) any) {
		mux.HandleFunc(path, func(response http.ResponseWriter, request *http.Request) {
			if down.Load() {
				panic(http.ErrAbortHandler)
			}
			response.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(response).Encode(make(request))
		})
	}
	folder := "../../commands/dashboard/page"
	for path, file := range map[string]string{"/": "index.html", "/style.css": "style.css", "/app.js": "dist/app.js"} {
		mux.HandleFunc(path, func(response http.ResponseWriter, request *http.Request) {
			http.ServeFile(response, request, filepath.Join(folder, file))
		})
	}
	answer("/api/context", func(*http.Request) any { return map[string]any{"server": "large", "namespace": ""} })
	answer("/api/workloads", manyWorkloadsFrom)
	answer("/api/clusterqueues", func(*http.Request) any { return manyClusterQueues(int(rounds.Add(1))) })
	answer("/api/cohorts", func(*http.Request) any {
		cohorts := []any{}
		for i := 0; i < listedQueues/10; i++ {
			cohorts = append(cohorts, map[string]any{"name": fmt.Sprintf("cohort-%03d", i), "parent": "", "clusterQueues": []string{}, "quotas": []any{}})
		}
		return largeList(cohorts, 0)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/", down, rounds
}

func largeList(items []any, remaining int) any {
	metadata := map[string]any{"at": time.Now().UTC().Format(time.RFC3339), "leads": true}
	if remaining > 0 {
		metadata["remaining"] = remaining
	}
	return map[string]any{"items": items, "metadata": metadata}
}

func manyWorkloadsFrom(request *http.Request) any {
	limit, _ := strconv.Atoi(request.URL.Query().Get("limit"))
	offset, _ := strconv.Atoi(request.URL.Query().Get("offset"))
	items := []any{}
	for i := offset; i < min(offset+limit, listedWorkloads); i++ {
		items = append(items, map[string]any{"namespace": fmt.Sprintf("team-%d", i%100), "name": fmt.Sprintf("job-w-%d", i), "localQueue": "lq",
			"clusterQueue": "queue-0001", "state": "Pending", "reason": "WaitingForQuota", "reasonInWords": "waiting for quota",
			"since": time.Now().Add(-time.Duration(i) * time.Second).UTC().Format(time.RFC3339), "created": nil, "priority": 0,
			"job": map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": fmt.Sprintf("w-%d", i)}, "positionInClusterQueue": i, "positionInLocalQueue": i / 100})
	}
	return largeList(items, max(0, listedWorkloads-offset-limit))
}

// Ten of them change each time.
func manyClusterQueues(round int) any {
	items := []any{}
	for i := 0; i < listedQueues; i++ {
		used := strconv.Itoa(i % 10)
		if i/10 == round%100 {
			used = strconv.Itoa(round % 10)
		}
		quotas := []any{}
		for _, flavor := range []string{"spot", "on-demand"} {
			for _, resource := range []string{"cpu", "memory"} {
				quotas = append(quotas, map[string]any{"flavor": flavor, "resource": resource, "nominal": "10", "used": used, "borrowed": "0", "free": "5", "max": "20"})
			}
		}
		items = append(items, map[string]any{"name": fmt.Sprintf("queue-%04d", i), "cohort": fmt.Sprintf("cohort-%03d", i/10), "strategy": "BestEffortFIFO",
			"state": "Active", "pending": 50, "reserving": 5, "oldestPendingSince": "2026-01-01T00:00:00Z", "quotas": quotas})
	}
	return largeList(items, 0)
}

// longTasks are the pieces of work of at least 50 ms that kept the page from drawing, as Chromium counts them.
const watchLongTasks = `window.longTasks = []; new PerformanceObserver(list => longTasks.push(...list.getEntries().map(entry => entry.duration))).observe({type: "longtask"}); true`

// 50,000 Workloads and 1,000 queues: few rows are drawn, scrolling and updates do not keep the page from drawing, and
// a connection that is lost is said and comes back.
func TestDashboardWithVeryManyRows(t *testing.T) {
	page, down, rounds := largePage(t)
	browser := harness.OpenBrowser(t)
	tasks := func(what string, bound time.Duration) {
		var durations []float64
		browser.Do(t, chromedp.Evaluate(`longTasks.splice(0)`, &durations))
		longest := 0.0
		for _, each := range durations {
			longest = max(longest, each)
		}
		t.Logf("%s: %d tasks of 50 ms or more, the longest took %.0f ms", what, len(durations), longest)
		if longest > float64(harness.UnderLoad(bound).Milliseconds()) {
			t.Errorf("%s: the page could not draw for %.0f ms", what, longest)
		}
		if file := os.Getenv("MUSTER_TEST_FIGURES"); file != "" {
			figures, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			harness.Must(t, err)
			_, err = fmt.Fprintf(figures, "| %s | %d | %.0f ms |\n", what, len(durations), longest)
			harness.Must(t, err)
			harness.Must(t, figures.Close())
		}
	}
	var ready bool

	t.Run("Workloads", func(t *testing.T) {
		browser.Do(t, chromedp.Navigate(page+"#/jobs/*"), chromedp.Evaluate(watchLongTasks, &ready))
		browser.WaitText(t, "50,000 Workloads", "job/w-0")
		for _, row := range []int{100, 25_000, 49_990, 3} {
			browser.Do(t, chromedp.Evaluate(fmt.Sprintf(`document.querySelector(".rows").scrollTop = %d`, row*44), nil))
			browser.WaitText(t, fmt.Sprintf("job/w-%d", row))
			drawn := 0
			browser.Do(t, chromedp.Evaluate(`document.querySelectorAll(".rows .row").length`, &drawn))
			if drawn == 0 || drawn > 100 {
				t.Errorf("at row %d: %d rows are drawn", row, drawn)
			}
		}
		// As with a wheel, 3,000 rows in one go.
		browser.Do(t, chromedp.Evaluate(`new Promise(done => { let turns = 0; const turn = () => { document.querySelector(".rows").scrollTop += 1320; ++turns < 100 ? requestAnimationFrame(turn) : done(true) }; turn() })`, &ready, awaitPromise))
		tasks("scrolling through 50,000 Workloads", 400*time.Millisecond)
	})
	t.Run("queues", func(t *testing.T) {
		browser.Do(t, chromedp.Navigate(page+"#/quota"), chromedp.Evaluate(watchLongTasks, &ready))
		browser.WaitText(t, "1,000 ClusterQueues", "queue-0000", "queue-0999")
		tasks("the first picture of 1,000 queues", 600*time.Millisecond)
		from := rounds.Load()
		harness.Eventually(t, 30*time.Second, "four rounds of answers", func() error {
			if now := rounds.Load(); now < from+4 {
				return fmt.Errorf("%d", now-from)
			}
			return nil
		})
		tasks("updates of 1,000 queues", 400*time.Millisecond)
	})
	if problems := browser.Problems(); len(problems) > 0 {
		t.Errorf("in the console: %v", problems)
	}
	t.Run("a connection that is lost is said, and comes back", func(t *testing.T) {
		browser.Do(t, chromedp.Navigate(page+"#/jobs/*"))
		browser.WaitText(t, "job/w-0")
		down.Store(true)
		text := browser.WaitText(t, "does not answer", "Shown is the state before", "The page tries again", "job/w-0")
		down.Store(false)
		harness.Eventually(t, 40*time.Second, "the page to be up to date again", func() error {
			if text = browser.Text(t); strings.Contains(text, "does not answer") || !strings.Contains(text, "job/w-0") {
				return fmt.Errorf("%s", text)
			}
			return nil
		})
	})
}

func awaitPromise(parameters *runtime.EvaluateParams) *runtime.EvaluateParams {
	return parameters.WithAwaitPromise(true)
}
