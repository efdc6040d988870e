package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"muster.batch/test/cluster/harness"
)

// The views of the page with data that are made here, as muster's answers are: what the browser makes of them. No cluster.

const longName = "finetune-llama-3-70b-on-customer-support-transcripts-2026-11-28"

// viewRange is the estimated start of the first job, in the words of muster's answer; the list has the same two times.
const viewRange = "in 10m to 25m (p10 to p90; from 64 finished Workloads of this LocalQueue; an estimate, no promise)"

type viewJob struct {
	name, state, words string
	labels             map[string]string
}

func viewJobs() []viewJob {
	jobs := []viewJob{}
	for i := range 300 {
		job := viewJob{fmt.Sprintf("train-%s-%d", []string{"bert", "whisper", "llama"}[i%3], i), "Pending", "waiting for quota", map[string]string{"team": []string{"vision", "speech"}[i%2]}}
		switch {
		case i == 1:
			job.name = longName
		case i == 2:
			job.words = "LocalQueue is stopped"
		case i >= 290 && i < 297:
			job.state, job.words = "Admitted", "running"
		case i >= 297:
			job.state, job.words = "Finished", "succeeded"
		}
		jobs = append(jobs, job)
	}
	return jobs
}

func (j viewJob) matches(values url.Values) bool {
	if j.state == "Finished" && values.Get("finished") != "true" {
		return false
	}
	for _, requirement := range strings.Split(values.Get("labelSelector"), ",") {
		if name, value, found := strings.Cut(requirement, "="); found && j.labels[name] != value {
			return false
		}
	}
	return strings.Contains(j.name, values.Get("search"))
}

func viewTime(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) }

// viewWorkloads answers as muster's list of Workloads.
func viewWorkloads(values url.Values) any {
	counts, rows := map[string]int{}, []any{}
	states := strings.FieldsFunc(values.Get("state"), func(letter rune) bool { return letter == ',' })
	for i, job := range viewJobs() {
		if values.Get("namespace") != "nlp" || !job.matches(values) {
			continue
		}
		counts[job.state]++
		if len(states) > 0 && !slices.Contains(states, job.state) {
			continue
		}
		row := map[string]any{"namespace": "nlp", "name": "job-" + job.name, "localQueue": "research", "clusterQueue": "nlp", "state": job.state,
			"reason": "X", "reasonInWords": job.words, "since": viewTime(time.Duration(i) * time.Minute), "created": nil, "priority": 0,
			"job": map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": job.name}, "labels": job.labels}
		if job.state == "Pending" {
			row["positionInClusterQueue"], row["positionInLocalQueue"] = i, i
			row["estimatedStart"] = map[string]any{"outcome": "Range", "earliest": viewTime(-time.Duration(10+i) * time.Minute), "latest": viewTime(-time.Duration(25+2*i) * time.Minute),
				"basisInWords": "64 finished Workloads of this LocalQueue"}
		}
		rows = append(rows, row)
	}
	limit, _ := strconv.Atoi(values.Get("limit"))
	offset, _ := strconv.Atoi(values.Get("offset"))
	from, to := min(offset, len(rows)), min(offset+limit, len(rows))
	return map[string]any{"items": rows[from:to], "metadata": map[string]any{"at": viewTime(0), "leads": true, "remaining": len(rows) - to, "counts": counts}}
}

func viewQuota(resource, nominal, used, borrowed, free, most string) any {
	return map[string]any{"flavor": "on-demand", "resource": resource, "nominal": nominal, "used": used, "borrowed": borrowed, "free": free, "max": most}
}

func viewQueue(name string, pending, holding int, quotas ...any) any {
	return map[string]any{"name": name, "cohort": "research", "strategy": "BestEffortFIFO", "state": "Active", "pending": pending, "reserving": holding,
		"oldestPendingSince": viewTime(5 * time.Hour), "quotas": quotas}
}

func viewExplanation(values url.Values) any {
	name := values.Get("name")
	answer := map[string]any{"object": map[string]any{"kind": "Job", "namespace": "nlp", "name": name}, "found": name != "gone", "at": viewTime(0), "reason": "WaitingForQuota",
		"headline": "There is no Job nlp/gone.", "because": []string{}, "wouldChange": []string{}, "notes": []string{}, "facts": []any{}, "flavors": []any{}, "others": []any{}, "timeline": []any{}}
	if name == "gone" {
		return answer
	}
	answer["headline"] = "Job nlp/" + name + " waits for quota."
	starts := []string{"Starts when 4 CPUs of flavor on-demand are released in Cohort research."}
	answer["starts"], answer["wouldChange"] = starts, starts
	answer["because"] = []string{"The last Workload that holds it ends before " + viewTime(-30*time.Minute-time.Second) + "."}
	answer["flavors"] = []any{
		map[string]any{"podSet": "main", "resource": "cpu", "flavor": "on-demand", "requested": "4", "free": "0", "nominal": "16", "most": "28", "verdict": ""},
		map[string]any{"podSet": "main", "resource": "memory", "flavor": "on-demand", "requested": "34359738368", "free": "58Gi", "nominal": "64Gi", "most": "112Gi", "verdict": ""}}
	answer["facts"] = []any{map[string]any{"name": "LocalQueue", "value": "research"}, map[string]any{"name": "Estimated start", "value": viewRange}}
	answer["timeline"] = []any{map[string]any{"time": "2026-01-01T10:00:00Z", "what": "Workload created: job-" + name}}
	return answer
}

// viewPage serves the page; `last` is the last question about Workloads.
func viewPage(t *testing.T) (address string, last func() url.Values) {
	t.Helper()
	mux := http.NewServeMux()
	asked := make(chan url.Values, 1)
	asked <- nil
	list := func(items ...any) any { return largeList(append([]any{}, items...), 0) }
	answers := map[string]func(url.Values) any{
		"context": func(url.Values) any { return map[string]any{"server": "https://cluster.example", "namespace": "nlp"} },
		"workloads": func(values url.Values) any {
			<-asked
			asked <- values
			return viewWorkloads(values)
		},
		"localqueues": func(values url.Values) any {
			if values.Get("namespace") != "nlp" {
				return list()
			}
			return list(map[string]any{"namespace": "nlp", "name": "research"})
		},
		// The cohort is full: nlp borrows, and vision has lent all that it has.
		"clusterqueues": func(url.Values) any {
			return list(viewQueue("nlp", 290, 7, viewQuota("cpu", "16", "28", "12", "0", "28"), viewQuota("memory", "64Gi", "244186889246", "175467412766", "60Gi", "300Gi")),
				viewQueue("vision", 3, 0, viewQuota("cpu", "12", "0", "0", "0", "28")))
		},
		"cohorts": func(url.Values) any {
			return list(map[string]any{"name": "research", "parent": "", "clusterQueues": []string{"nlp", "vision"}, "quotas": []any{viewQuota("cpu", "0", "28", "0", "0", "28")}})
		},
		"usage": func(url.Values) any {
			return map[string]any{"metadata": map[string]any{"clusterQueue": "nlp", "intervalSeconds": 300}, "times": []string{viewTime(10 * time.Minute), viewTime(5 * time.Minute)},
				"pending": []int{3, 5}, "reserving": []int{1, 1}, "resources": []any{map[string]any{"flavor": "on-demand", "resource": "cpu", "used": []string{"27500m", "28"}}}}
		},
		"holders": func(url.Values) any {
			return list(map[string]any{"namespace": "nlp", "name": "job-train-whisper-292", "clusterQueue": "nlp", "flavor": "on-demand", "resource": "cpu", "amount": "4500m",
				"state": "Admitted", "since": viewTime(3 * time.Hour), "untilAtMost": nil, "job": map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": "train-whisper-292"}})
		},
		"explain": viewExplanation,
	}
	for name, answer := range answers {
		mux.HandleFunc("/api/"+name, func(response http.ResponseWriter, request *http.Request) {
			response.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(response).Encode(answer(request.URL.Query()))
		})
	}
	for path, file := range map[string]string{"/{$}": "index.html", "/style.css": "style.css", "/app.js": "dist/app.js"} {
		mux.HandleFunc(path, func(response http.ResponseWriter, request *http.Request) {
			http.ServeFile(response, request, filepath.Join("../../commands/dashboard/page", file))
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/", func() url.Values {
		values := <-asked
		asked <- values
		return values
	}
}

func evaluate[Value any](t *testing.T, browser *harness.Browser, script string) (value Value) {
	t.Helper()
	browser.Do(t, chromedp.Evaluate(script, &value))
	return value
}

func waitFor(t *testing.T, browser *harness.Browser, what, script string) {
	t.Helper()
	harness.Eventually(t, 20*time.Second, what, func() error {
		if !evaluate[bool](t, browser, script) {
			return fmt.Errorf("%s is not so:\n%s", script, browser.Text(t))
		}
		return nil
	})
}

func TestDashboardViews(t *testing.T) {
	page, last := viewPage(t)
	browser := harness.OpenBrowser(t)
	open := func(view string) { browser.Do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(page+view)) }
	focused := func() string { return evaluate[string](t, browser, `document.activeElement.textContent`) }

	t.Run("jobs are found, and the address says how", func(t *testing.T) {
		open("#/jobs/nlp")
		browser.WaitText(t, "297 Workloads", "Pending 290", "Admitted 7")
		browser.Do(t, chromedp.SendKeys("input[type=search]", "whisper", chromedp.ByQuery))
		browser.WaitText(t, "98 Workloads", "Pending 96")
		browser.Do(t, chromedp.Click(".chip.admitted", chromedp.ByQuery))
		browser.WaitText(t, "2 Workloads", "Pending 96", "job/train-whisper-292")
		browser.Do(t, chromedp.Click(".check input", chromedp.ByQuery))
		browser.WaitText(t, "Finished 1", "2 Workloads")
		hash := evaluate[string](t, browser, `location.hash`)
		if hash != "#/jobs/nlp?search=whisper&state=Admitted&finished=true" {
			t.Errorf("the address is %s", hash)
		}
		open(hash + "&labels=team%3Dvision&queue=research&sort=-created")
		browser.WaitText(t, "job/train-whisper-292", "1 Workload")
		for name, wanted := range map[string]string{"search": "whisper", "state": "Admitted", "finished": "true", "labelSelector": "team=vision", "queue": "research", "sortBy": "-created"} {
			if got := last().Get(name); got != wanted {
				t.Errorf("%s is %q", name, got)
			}
		}
		open("#/jobs/nlp?search=nothing-is-called-so")
		browser.WaitText(t, "No job matches.")
	})
	t.Run("End, Home and Back keep the place", func(t *testing.T) {
		open("#/jobs/nlp")
		browser.WaitText(t, "297 Workloads")
		browser.Do(t, chromedp.Focus(".row a", chromedp.ByQuery), chromedp.KeyEvent(kb.End))
		waitFor(t, browser, "the last row to have the focus", `document.activeElement.textContent === "job/train-llama-296"`)
		top := evaluate[float64](t, browser, `document.querySelector(".rows").scrollTop`)
		browser.Do(t, chromedp.KeyEvent(kb.Enter))
		browser.WaitText(t, "waits for quota")
		if title := evaluate[string](t, browser, `document.title`); title != "job/train-llama-296 · nlp · muster" {
			t.Errorf("the title is %q", title)
		}
		browser.Do(t, chromedp.Evaluate(`history.back()`, nil))
		waitFor(t, browser, "the row to have the focus again", `document.activeElement.textContent === "job/train-llama-296"`)
		if back := evaluate[float64](t, browser, `document.querySelector(".rows").scrollTop`); back != top {
			t.Errorf("the list is at %v, and was at %v", back, top)
		}
		browser.Do(t, chromedp.KeyEvent(kb.Home))
		waitFor(t, browser, "the first row to have the focus", `document.activeElement.textContent === "job/train-bert-0"`)
		browser.Do(t, chromedp.KeyEvent(kb.ArrowDown))
		if now := focused(); now != "job/"+longName {
			t.Errorf("the focus is on %q", now)
		}
	})
	t.Run("an empty part of a bar is free", func(t *testing.T) {
		open("#/quota")
		browser.WaitText(t, "0 of 12 used, 12 lent, 16 used by others, 0 free", "16 of 16 used, 12 borrowed, 0 free", "163.4Gi borrowed", "28 of 28 used, 0 free")
		// For each bar: how much of it is neither full nor hatched.
		const empty = `[...document.querySelectorAll(".quota .bar")].map(bar => Math.round(100 - 100 * [...bar.querySelectorAll(".part:not(.free)")].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0) / bar.clientWidth))`
		if got := evaluate[[]int](t, browser, empty); !slices.Equal(got, []int{0, 0, 20, 0}) {
			t.Errorf("the bars are %v %% empty", got)
		}
		open("#/job/nlp/job/train-bert-0")
		browser.WaitText(t, "free for this queue", "asks for 4, 0 free", "asks for 32Gi, 58Gi free", "Who holds cpu", "4.5")
	})
	t.Run("an estimated start is a range, in the list and beside the job", func(t *testing.T) {
		browser.WaitText(t, "When it starts", "Estimated start\n"+viewRange)
		open("#/jobs/nlp")
		browser.WaitText(t, "Starts in", "297 Workloads")
		const cells = `[...document.querySelectorAll(".rows .row .starts")].slice(0, 2).map(cell => cell.textContent + "; " + cell.title)`
		if got := evaluate[[]string](t, browser, cells); !slices.Equal(got, []string{"10m to 25m; 64 finished Workloads of this LocalQueue", "11m to 27m; 64 finished Workloads of this LocalQueue"}) {
			t.Errorf("the list says %q", got)
		}
	})
	t.Run("times have one zone, the distance first", func(t *testing.T) {
		open("#/job/nlp/job/train-bert-0")
		browser.WaitText(t, "times in UTC", "d ago 2026-01-01 10:00:00 UTC", "ends before 30m from now (20", " UTC).")
	})
	t.Run("what is not there is not empty", func(t *testing.T) {
		for view, wanted := range map[string]string{"#/jobs/nonexistent": "namespace nonexistent", "#/job/nlp/job/gone": "job/gone in namespace nlp", "#/queue/none": "ClusterQueue none"} {
			open(view)
			if text := browser.WaitText(t, "404 Not found: "+wanted); strings.Contains(text, "Nothing is queued") {
				t.Errorf("%s", text)
			}
			waitFor(t, browser, "the title", fmt.Sprintf(`document.title === "Not found: %s · muster"`, wanted))
		}
	})
	if problems := browser.Problems(); len(problems) > 0 {
		t.Errorf("in the console: %v", problems)
	}
	t.Run("on every screen, in both schemes", func(t *testing.T) { checkScreens(t, browser, open) })
}

// At 420 pixels a row has the whole name, and below it state, reason and position.
func checkScreens(t *testing.T, browser *harness.Browser, open func(view string)) {
	views := map[string]string{"jobs": "#/jobs/nlp", "filtered": "#/jobs/nlp?search=bert&labels=team%3Dvision", "job": "#/job/nlp/job/train-bert-0", "quota": "#/quota", "queue": "#/queue/nlp", "missing": "#/jobs/nonexistent"}
	for _, width := range []int64{1280, 420} {
		for _, scheme := range []string{"light", "dark"} {
			browser.Do(t, chromedp.EmulateViewport(width, 800), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			for name, view := range views {
				open(view)
				waitFor(t, browser, "the view", `document.querySelector(".row a, .quota .bar, .not-found") !== null`)
				if evaluate[bool](t, browser, `(page => page.scrollWidth > page.clientWidth || page.scrollHeight > page.clientHeight)(document.documentElement)`) {
					t.Errorf("%s is larger than the window, of %d pixels", name, width)
				}
				harness.Screenshot(t, browser, fmt.Sprintf("dashboard-%s-%d-%s", name, width, scheme))
			}
			open("#/jobs/nlp")
			browser.WaitText(t, "LocalQueue is stopped")
			const cut = `[...document.querySelectorAll(".rows .row")].slice(0, 5).flatMap(row => [".why", ".position", ".of-state", ".name a"].map(part => row.querySelector(part)).filter(cell => cell.textContent === "" || cell.getClientRects().length === 0 || (cell.scrollWidth > cell.clientWidth + 1 && cell.tagName !== "A") || cell.getBoundingClientRect().right > innerWidth).map(cell => cell.className + ": " + cell.textContent))`
			if parts := evaluate[[]string](t, browser, cut); width == 420 && len(parts) > 0 {
				t.Errorf("cut off: %v", parts)
			}
			const name = `[...document.querySelectorAll(".rows .row")].every(row => row.querySelector(".name").scrollHeight <= row.clientHeight && row.querySelector("a").getBoundingClientRect().right <= row.getBoundingClientRect().right)`
			if width == 420 && !evaluate[bool](t, browser, name) {
				t.Errorf("a name is cut off")
			}
			const apart = `[...document.querySelectorAll(".rows .row")].every(row => { const box = part => row.querySelector(part).getBoundingClientRect(); return box(".name").bottom <= box(".why").top + 1 && box(".why").right <= box(".position").left && box(".why").bottom <= row.getBoundingClientRect().bottom })`
			if width == 420 && !evaluate[bool](t, browser, apart) {
				t.Errorf("parts of a row overlap")
			}
		}
	}
}
