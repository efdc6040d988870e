package users

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"muster.batch/test/cluster/harness"
)

// muster simulate with the state of a real cluster, and its page in a browser.

// simulatedQueues has a ClusterQueue with two flavors of 20m each and these Jobs: "short", which holds all of the
// first flavor and runs for ten minutes at most, and "long", which holds half of the second and does not say how long.
func simulatedQueues(t *testing.T, cluster *harness.Cluster) harness.Queues {
	t.Helper()
	queues := cluster.Queues(t)
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, fmt.Sprintf(`{"spec":{"stopPolicy":"None","preemption":{"withinClusterQueue":"LowerPriority"},
		"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":%q,"resources":[{"name":"cpu","nominalQuota":"20m"}]},
		{"name":%q,"resources":[{"name":"cpu","nominalQuota":"20m"}]}]}]}}`, queues.Hollow, queues.Real))
	cluster.CreatePriorityClass(t, queues.Namespace+"-first", 10)
	short, long := harness.QueuedJob("short", 2), harness.QueuedJob("long", 1)
	short.Labels[harness.MaxExecTimeLabel] = "600"
	cluster.CreateJob(t, queues.Namespace, short)
	cluster.WaitForWorkload(t, queues.Namespace, "short", "is admitted", harness.HasCondition("Admitted", "True", ""))
	cluster.CreateJob(t, queues.Namespace, long)
	cluster.WaitForWorkload(t, queues.Namespace, "long", "is admitted", harness.HasCondition("Admitted", "True", ""))
	return queues
}

// jobFile is a manifest of a Job of pods with 10m each.
func jobFile(t *testing.T, name string, pods int, labels ...string) string {
	t.Helper()
	more := ""
	for _, label := range labels {
		more += ", " + label
	}
	return harness.WriteFile(t, "job.yaml", fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s, labels: {kueue.x-k8s.io/queue-name: %s%s}}
spec:
  parallelism: %d
  completions: %d
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {requests: {cpu: 10m}}}]}
`, name, harness.LocalQueueName, more, pods, pods))
}

// simulated is what `muster simulate --job -o json` says, as far as the tests look.
type simulated struct {
	Job struct {
		Name        string   `json:"name"`
		Admitted    bool     `json:"admitted"`
		WaitSeconds float64  `json:"waitSeconds"`
		Flavors     string   `json:"flavors"`
		Evicts      []string `json:"evicts"`
		Reason      string   `json:"reason"`
		Assumed     string   `json:"assumed"`
		Estimate    struct {
			Outcome, BasisInWords string
		} `json:"estimatedStart"`

		PodsScheduledSeconds *float64 `json:"podsScheduledSeconds"`
		PodsWithoutNode      []struct {
			Pods    int    `json:"pods"`
			Message string `json:"message"`
		} `json:"podsWithoutNode"`
	} `json:"job"`
	Notes []string `json:"notes"`
}

func askSimulation(t *testing.T, kubeconfig, namespace, job string, arguments ...string) (answer simulated) {
	t.Helper()
	arguments = append([]string{"simulate", "--job", job, "--from-cluster", "-n", namespace, "-o", "json"}, arguments...)
	out, code, complaint := harness.RunMuster(kubeconfig, arguments...)
	if code != 0 || complaint != "" {
		t.Fatalf("%v: exit code %d, %s%s", arguments, code, out, complaint)
	}
	harness.Must(t, json.Unmarshal([]byte(out), &answer))
	return answer
}

// mayList lets a new service account list kinds in one namespace, or everywhere (namespace ""). Nothing else.
func mayList(t *testing.T, cluster *harness.Cluster, home, account, namespace string, kinds string) {
	t.Helper()
	if _, err := cluster.TryKubectl("", "get", "serviceaccount", account, "-n", home); err != nil {
		cluster.Kubectl(t, "", "create", "serviceaccount", account, "-n", home)
	}
	who := home + ":" + account
	if namespace != "" {
		cluster.Kubectl(t, "", "create", "role", account, "-n", namespace, "--verb", "list", "--resource", kinds)
		cluster.Kubectl(t, "", "create", "rolebinding", account, "-n", namespace, "--role", account, "--serviceaccount", who)
		return
	}
	name := home + "-" + account
	cluster.Kubectl(t, "", "create", "clusterrole", name, "--verb", "list", "--resource", kinds)
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrole", name) })
	cluster.Kubectl(t, "", "create", "clusterrolebinding", name, "--clusterrole", name, "--serviceaccount", who)
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrolebinding", name) })
}

const (
	queueKinds = "clusterqueues.kueue.x-k8s.io,resourceflavors.kueue.x-k8s.io,cohorts.kueue.x-k8s.io," +
		"admissionchecks.kueue.x-k8s.io,workloadpriorityclasses.kueue.x-k8s.io,priorityclasses.scheduling.k8s.io," +
		"namespaces,limitranges,runtimeclasses.node.k8s.io"
	heldKinds = "workloads.kueue.x-k8s.io,localqueues.kueue.x-k8s.io"
)

func TestSimulateAsksTheClusterAboutOneJob(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t)
	queues := simulatedQueues(t, cluster)
	mine := queues.Namespace
	// All questions come from a user who can list and do nothing else.
	mayList(t, cluster, mine, "reader", "", queueKinds+","+heldKinds)
	reader := harness.AsServiceAccount(t, cluster, mine, "reader")
	state := func() string {
		return cluster.Kubectl(t, "", "get", "jobs,workloads,localqueues,pods", "-n", mine, "-o",
			`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
	}
	before := state()

	t.Run("one that fits is admitted now, on the flavor that has room", func(t *testing.T) {
		answer := askSimulation(t, reader, mine, jobFile(t, "small", 1))
		if job := answer.Job; job.Name != mine+"/small" || !job.Admitted || job.WaitSeconds != 0 || job.Flavors != queues.Real || len(job.Evicts) != 0 {
			t.Errorf("%+v", answer)
		}
		out, code, complaint := harness.RunMuster(reader, "simulate", "--job", jobFile(t, "small", 1), "--from-cluster", "-n", mine)
		if code != 0 || complaint != "" || !strings.HasPrefix(out, mine+"/small would be admitted now, on "+queues.Real+"; it evicts no Workload\nAn estimate: ") {
			t.Errorf("exit code %d, %s%s", code, out, complaint)
		}
	})
	t.Run("one that does not fit waits for what ends first", func(t *testing.T) {
		// "short" has begun some seconds ago, and has no more than its ten minutes: half of them are likely.
		answer := askSimulation(t, reader, mine, jobFile(t, "middle", 2))
		if job := answer.Job; !job.Admitted || job.WaitSeconds < 240 || job.WaitSeconds > 300 || job.Flavors != queues.Hollow || len(job.Evicts) != 0 {
			t.Errorf("%+v", answer)
		}
		if job := answer.Job; job.Estimate.Outcome != "Range" || job.Estimate.BasisInWords != "maximum execution times" || !strings.Contains(job.Assumed, "jobs do not say how long they run; 1h0m0s assumed") {
			t.Errorf("what the estimate came from: %+v", answer)
		}
		// "long" ends when --run-time is over.
		answer = askSimulation(t, reader, mine, jobFile(t, "middle", 2), "--run-time", "3m")
		if job := answer.Job; !job.Admitted || job.WaitSeconds < 60 || job.WaitSeconds > 180 || job.Flavors != queues.Real {
			t.Errorf("%+v", answer)
		}
	})
	t.Run("a class of more priority evicts", func(t *testing.T) {
		answer := askSimulation(t, reader, mine, jobFile(t, "urgent", 2, "kueue.x-k8s.io/priority-class: "+mine+"-first"))
		if job := answer.Job; !job.Admitted || job.WaitSeconds > 60 || len(job.Evicts) != 1 || (job.Evicts[0] != mine+"/short" && job.Evicts[0] != mine+"/long") {
			t.Errorf("%+v", answer)
		}
	})
	t.Run("one that never fits has the scheduler's reason", func(t *testing.T) {
		if answer := askSimulation(t, reader, mine, jobFile(t, "huge", 3)); answer.Job.Admitted || answer.Job.Reason != "ExceedsMaxQuota" {
			t.Errorf("%+v", answer)
		}
	})
	t.Run("who may list nodes and pods learns whether its pods get a node", func(t *testing.T) {
		cluster.HollowNodes(t)
		mayList(t, cluster, mine, "planner", "", queueKinds+","+heldKinds+",nodes,pods")
		planner := harness.AsServiceAccount(t, cluster, mine, "planner")
		file := jobFile(t, "middle", 2)
		answer := askSimulation(t, planner, mine, file)
		if job := answer.Job; job.Flavors != queues.Hollow || job.PodsScheduledSeconds == nil || *job.PodsScheduledSeconds != job.WaitSeconds {
			t.Errorf("%+v", answer)
		}
		text, err := os.ReadFile(file)
		harness.Must(t, err)
		nowhere := harness.WriteFile(t, "nowhere.yaml", strings.Replace(string(text), "restartPolicy: Never",
			"restartPolicy: Never, nodeSelector: {example.com/nowhere: \"true\"}", 1))
		answer = askSimulation(t, planner, mine, nowhere)
		if job := answer.Job; !job.Admitted || job.PodsScheduledSeconds != nil || len(job.PodsWithoutNode) != 1 || job.PodsWithoutNode[0].Pods != 2 ||
			!strings.Contains(job.PodsWithoutNode[0].Message, "node(s) didn't match Pod's node affinity/selector") {
			t.Errorf("%+v", answer)
		}
		if answer = askSimulation(t, planner, mine, nowhere, "--ignore-nodes"); len(answer.Job.PodsWithoutNode) != 0 {
			t.Errorf("%+v", answer)
		}
		if notes := strings.Join(askSimulation(t, reader, mine, nowhere).Notes, "\n"); !strings.Contains(notes, "You cannot list nodes: only quota limits jobs.") {
			t.Errorf("the notes of who may not list nodes: %s", notes)
		}
	})
	t.Run("who may not list queues gets a sentence", func(t *testing.T) {
		mayList(t, cluster, mine, "stranger", mine, heldKinds)
		out, code, complaint := harness.RunMuster(harness.AsServiceAccount(t, cluster, mine, "stranger"), "simulate", "--job", jobFile(t, "small", 1), "--from-cluster", "-n", mine)
		if code != 2 || out != "" || !strings.Contains(complaint, "muster simulate: clusterqueues cannot be listed: ") {
			t.Errorf("exit code %d, %s%s", code, out, complaint)
		}
	})
	t.Run("quota that others hold is not free for who may not list them", func(t *testing.T) {
		other := cluster.Queues(t).Namespace
		cluster.Create(t, harness.LocalQueues, other, harness.LocalQueueOf("shared", queues.ClusterQueue))
		secret := harness.QueuedJob("secret", 1)
		secret.Labels[harness.QueueLabel] = "shared"
		cluster.CreateJob(t, other, secret)
		workload := cluster.WaitForWorkload(t, other, "secret", "is admitted", harness.HasCondition("Admitted", "True", ""))
		harness.Eventually(t, 20*time.Second, "the ClusterQueue counts three that hold quota and none that waits", func() error {
			counts := cluster.Kubectl(t, "", "get", "clusterqueue", queues.ClusterQueue, "-o", "jsonpath={.status.reservingWorkloads} {.status.pendingWorkloads}")
			if strings.TrimSpace(counts) != "3 0" {
				return fmt.Errorf("it counts %s", counts)
			}
			return nil
		})
		mayList(t, cluster, mine, "dev", "", "clusterqueues.kueue.x-k8s.io,resourceflavors.kueue.x-k8s.io")
		mayList(t, cluster, mine, "dev", mine, heldKinds)
		answer := askSimulation(t, harness.AsServiceAccount(t, cluster, mine, "dev"), mine, jobFile(t, "small", 1))
		notes := strings.Join(answer.Notes, "\n")
		if job := answer.Job; job.WaitSeconds < 240 || job.WaitSeconds > 300 || job.Flavors != queues.Hollow {
			t.Errorf("%+v", answer)
		}
		for _, says := range []string{"You can list workloads in namespace " + mine + " only", "You cannot list cohorts.",
			"hold quota of ClusterQueue " + queues.ClusterQueue + ": 10m of cpu on " + queues.Real + "."} {
			if !strings.Contains(notes, says) || strings.Contains(notes, other) {
				t.Errorf("%q is not in\n%s", says, notes)
			}
		}
		// What its owner writes to annotations stops no other user.
		cluster.Kubectl(t, "", "annotate", "workload", workload.GetName(), "-n", other, "simulate.muster.batch/run-time=for-ever")
		answer = askSimulation(t, reader, mine, jobFile(t, "small", 1))
		if notes := strings.Join(answer.Notes, "\n"); answer.Job.Flavors != queues.Hollow || !strings.Contains(notes, "1 object(s) of the cluster have annotations") {
			t.Errorf("%+v", answer)
		}
	})
	t.Run("one that is in the cluster already is not counted twice", func(t *testing.T) {
		cluster.CreateJob(t, mine, harness.QueuedJob("waits", 2))
		cluster.WaitForWorkload(t, mine, "waits", "waits", harness.HasCondition("QuotaReserved", "False", "WaitingForQuota"))
		stored := harness.WriteFile(t, "stored.yaml", cluster.Kubectl(t, "", "get", "job", "waits", "-n", mine, "-o", "yaml"))
		for _, file := range []string{stored, jobFile(t, "waits", 2)} {
			answer := askSimulation(t, reader, mine, file)
			if job := answer.Job; job.Name != mine+"/waits" || !job.Admitted || job.WaitSeconds < 240 || job.WaitSeconds > 300 || job.Flavors != queues.Hollow {
				t.Errorf("%+v", answer)
			}
		}
		out, code, complaint := harness.RunMuster(reader, "simulate", "--job", jobFile(t, "long", 1), "--from-cluster", "-n", mine)
		if code != 0 || complaint != "" || !strings.HasPrefix(out, mine+"/long is admitted already, on "+queues.Real+"; ") || !strings.Contains(out, "The job is there already") {
			t.Errorf("exit code %d, %s%s", code, out, complaint)
		}
		// Behind it, another one waits until there is room again.
		if answer := askSimulation(t, reader, mine, jobFile(t, "middle", 2)); !answer.Job.Admitted || answer.Job.WaitSeconds < 1200 {
			t.Errorf("%+v", answer)
		}
	})
	for _, line := range strings.Split(strings.TrimSpace(before), "\n") {
		if after := state(); strings.HasPrefix(line, "Workload/") && !strings.Contains(after, line) {
			t.Errorf("%s has changed:\n%s", line, after)
		}
	}
	if after := state(); strings.Contains(after, "small") || strings.Contains(after, "urgent") {
		t.Errorf("something was written:\n%s", after)
	}
}

func TestSimulatePageShowsItsPlots(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t)
	queues := simulatedQueues(t, cluster)
	evil := `"<script>document.title='evil'</script><img src=x onerror=document.title='evil'>"`
	dump := harness.WriteFile(t, "workloads.yaml", strings.ReplaceAll(
		cluster.Kubectl(t, "", "get", "workloads,localqueues", "-n", queues.Namespace, "-o", "yaml")+"---\n"+
			cluster.Kubectl(t, "", "get", "clusterqueue", queues.ClusterQueue, "-o", "yaml")+"---\n"+
			cluster.Kubectl(t, "", "get", "resourceflavors", queues.Hollow, queues.Real, "-o", "yaml"),
		"name: short\n", "name: "+evil+"\n"))
	text, err := os.ReadFile(dump)
	if err != nil || !strings.Contains(string(text), evil) {
		t.Fatalf("no owner is named short in\n%s", text)
	}
	larger := harness.WriteFile(t, "larger.yaml", strings.ReplaceAll(string(text), "nominalQuota: 20m", "nominalQuota: 50m"))
	page := filepath.Join(t.TempDir(), "page.html")
	open := func(browser *harness.Browser, arguments ...string) {
		t.Helper()
		out, code, complaint := harness.RunMuster(cluster.Kubeconfig, append(arguments, "--html", page)...)
		if code != 0 || complaint != "" {
			t.Fatalf("exit code %d, %s%s", code, out, complaint)
		}
		browser.Do(t, chromedp.Navigate("file://"+page))
	}
	// Shapes that have a place on the page.
	found := func(browser *harness.Browser, selector string) (count int) {
		t.Helper()
		browser.Do(t, chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(each => each.getBBox().width > 0 && each.getBBox().height > 0).length`, selector), &count))
		return count
	}
	seen := func(browser *harness.Browser, shapes string) int { return found(browser, "svg "+shapes) }

	browser := harness.OpenBrowser(t)
	open(browser, "simulate", "--from-cluster", "--job", jobFile(t, "middle", 2), "-n", queues.Namespace)
	browser.WaitText(t, "muster simulate", "3 jobs: 3 finished", "Usage by queue", "nominal quota 20m", "Jobs that wait", queues.Namespace+"/middle")
	harness.Screenshot(t, browser, "simulate")
	// Usage of two flavors by one queue, those who wait, and of each of the three jobs a bar; of one also its wait.
	if polygons, bars := seen(browser, "polygon"), seen(browser, "rect"); polygons != 3 || bars != 4 {
		t.Errorf("%d polygons and %d bars", polygons, bars)
	}

	open(browser, "simulate", "-f", dump)
	shown, title, made := browser.WaitText(t, "2 jobs: 2 finished", "/<script>"), "", 0
	browser.Do(t, chromedp.Title(&title), chromedp.Evaluate(`document.querySelectorAll("script, img, [onerror]").length`, &made))
	if strings.Contains(title, "evil") || made != 0 {
		t.Errorf("a name has become a part of the page: title %q, %d elements\n%s", title, made, shown)
	}
	if polygons, bars := seen(browser, "polygon"), seen(browser, "rect"); polygons < 2 || bars != 2 {
		t.Errorf("%d polygons and %d bars", polygons, bars)
	}

	// Two configurations: each of the sides has its plots, and the figures of both stand above.
	open(browser, "simulate", "-f", dump, "--compare", larger)
	browser.WaitText(t, "wait, p99", "nominal quota 20m", "nominal quota 50m", "/<script>")
	harness.Screenshot(t, browser, "simulate-compare")
	for _, side := range []string{"first", "last"} {
		shapes := ".sides > section:" + side + "-of-type svg "
		if polygons, bars := found(browser, shapes+"polygon"), found(browser, shapes+"rect"); polygons < 2 || bars != 2 {
			t.Errorf("%d polygons and %d bars on the %s side", polygons, bars, side)
		}
	}
	var apart bool
	browser.Do(t, chromedp.Evaluate(`(([left, right]) => left.right <= right.left && left.width > 300 && right.width > 300)(`+
		`[...document.querySelectorAll(".sides > section")].map(each => each.getBoundingClientRect()))`, &apart))
	if !apart {
		t.Error("the two sides do not stand beside each other")
	}
	for _, problem := range browser.Problems() {
		t.Errorf("in the console: %s", problem)
	}
}
