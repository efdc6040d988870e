package users

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	batchv1 "k8s.io/api/batch/v1"

	"muster.batch/test/cluster/harness"
)

// A range, its basis, and that it is no promise; in the sentence of `muster explain` and of `muster simulate`.
const (
	span      = `(?:\d+[smhd]|\d+h\d\dm)`
	spanRange = `in (?:` + span + ` to|at most) ` + span
	ofHistory = ` \(p10 to p90; from 6 finished Workloads of this LocalQueue; an estimate, no promise\)`
)

func runningFor(job *batchv1.Job, seconds int) *batchv1.Job {
	job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: fmt.Sprint(seconds)}
	return job
}

// Six Jobs have finished, two run, and ten wait. What each command and the page say about the last one.
func TestEveryAnswerHasARangeAndItsBasis(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	leader := harness.StartQueueMuster(t)
	queues := cluster.Queues(t)
	mine := queues.Namespace
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, fmt.Sprintf(`{"spec":{"stopPolicy":"None","resourceGroups":[
		{"coveredResources":["cpu"],"flavors":[{"name":%q,"resources":[{"name":"cpu","nominalQuota":"20m"}]}]}]}}`, queues.Hollow))
	harness.ExplainUsers(t, cluster, mine)
	boss := harness.AsServiceAccount(t, cluster, mine, "boss")

	for i := range 6 {
		cluster.CreateJob(t, mine, runningFor(harness.QueuedJob(fmt.Sprintf("done-%d", i), 1), 4+2*i))
	}
	for i := range 6 {
		cluster.WaitForWorkload(t, mine, fmt.Sprintf("done-%d", i), "has finished", harness.HasCondition("Finished", "True", ""))
	}
	// This replica knows all six, since they have finished before its start. How often the leader would have read them
	// depends on what else runs on the machine.
	address := harness.HostAddress(t)
	harness.LaunchMuster(t, "--jobset-controller", "native", "--webhook-url", leader.URL, "--metrics-bind-address", address)
	harness.ServeThroughService(t, cluster, address)
	for i := range 2 {
		cluster.CreateJob(t, mine, harness.QueuedJob(fmt.Sprintf("busy-%d", i), 1))
		cluster.WaitForWorkload(t, mine, fmt.Sprintf("busy-%d", i), "is admitted", harness.HasCondition("Admitted", "True", ""))
	}
	for i := range 10 {
		cluster.CreateJob(t, mine, harness.QueuedJob(fmt.Sprintf("train-%d", i), 1))
	}

	says := func(t *testing.T, what, pattern string, arguments ...string) {
		t.Helper()
		wanted := regexp.MustCompile(`(?m)` + pattern)
		harness.Eventually(t, 100*time.Second, what, func() error {
			out, code, complaint := harness.RunMuster(boss, arguments...)
			if code != 0 || complaint != "" || !wanted.MatchString(out) {
				return fmt.Errorf("exit code %d, and %s is not in\n%s%s", code, wanted, out, complaint)
			}
			t.Logf("muster %s\n%s", strings.Join(arguments, " "), out)
			return nil
		})
	}
	t.Run("explain", func(t *testing.T) {
		says(t, "the sentence of explain", `^  Estimated start +`+spanRange+ofHistory+`$`, "explain", "job/train-9", "-n", mine)
	})
	t.Run("the wide table", func(t *testing.T) {
		says(t, "the cell of the wide table", `^job/train-9 .* `+span+`-`+span+` +-?$`, "get", "jobs", "-n", mine, "-o", "wide")
	})
	t.Run("simulate, of a job that waits", func(t *testing.T) {
		says(t, "the answer", `\A`+mine+`/train-9 would be admitted `+spanRange+ofHistory+`, on `+queues.Hollow+`; it evicts no Workload
An estimate: running Workloads end after their run times, and no other job arrives\.$`,
			"simulate", "--job", jobFile(t, "train-9", 1), "--from-cluster", "-n", mine)
	})
	t.Run("simulate, of a job that does not say how long it runs", func(t *testing.T) {
		says(t, "the answer", `\A`+mine+`/another would be admitted `+spanRange+ofHistory+`, on `+queues.Hollow+`; it evicts no Workload
An estimate: .*
1 of 13 jobs do not say how long they run; 1h0m0s assumed \(--run-time, or the annotation simulate\.muster\.batch/run-time\)\.$`,
			"simulate", "--job", jobFile(t, "another", 1), "--from-cluster", "-n", mine)
	})
	t.Run("the page: in its list, and beside the job", func(t *testing.T) {
		browser, page := harness.OpenBrowser(t), harness.StartDashboard(t, boss, mine)
		shows := func(view, pattern string) {
			t.Helper()
			browser.Do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(page+view))
			harness.Eventually(t, 20*time.Second, "the page to show the range", func() error {
				if text := browser.Text(t); !regexp.MustCompile(pattern).MatchString(text) {
					return fmt.Errorf("%s is not in\n%s", pattern, text)
				}
				return nil
			})
		}
		shows("#/jobs/"+mine+"?search=train-9", `Starts in(?s:.*)\n`+span+` to `+span+`\n`)
		harness.Screenshot(t, browser, "range-jobs")
		shows("#/job/"+mine+"/job/train-9", `Estimated start\n`+spanRange+ofHistory)
		harness.Screenshot(t, browser, "range-job")
	})
}
