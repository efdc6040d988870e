package install

import (
	"os"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// headings are those of a page that have commands under them, in their order.
func headings(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	harness.Must(t, err)
	commands := harness.PageCommands(t, page)
	for _, line := range strings.Split(string(text), "\n") {
		if heading, found := strings.CutPrefix(line, "## "); found && commands[heading] != "" {
			all = append(all, heading)
		}
	}
	return all
}

// followAll runs all commands of a page in one shell, as a reader does, and returns what they print.
func followAll(t *testing.T, cluster *harness.Cluster, page string) string {
	t.Helper()
	script, commands := "", harness.PageCommands(t, page)
	for _, heading := range headings(t, page) {
		script += "echo '## " + heading + "'\n" + commands[heading]
	}
	began := time.Now()
	output, err := cluster.Shell(t, script)
	t.Logf("docs/%s: %.0f s", page, time.Since(began).Seconds())
	if err != nil {
		t.Fatalf("docs/%s: %v\n%s\n%s", page, err, output, harness.ClusterState(cluster))
	}
	return output
}

// giveGPUs makes the real node say that it has GPUs, reserved and spot. A kubelet leaves resources alone that it does not know.
func giveGPUs(t *testing.T, cluster *harness.Cluster, count string) {
	t.Helper()
	node := cluster.RealNode(t)
	cluster.Kubectl(t, "", "label", "node", node, "example.com/reserved=true", "example.com/spot=true")
	cluster.Kubectl(t, "", "patch", "node", node, "--subresource=status", "-p",
		`{"status":{"capacity":{"nvidia.com/gpu":"`+count+`"},"allocatable":{"nvidia.com/gpu":"`+count+`"}}}`)
}

// The pages about tasks, one after the other in one cluster: each begins with a muster that was installed as docs/install.md
// says, prints what it promises, and leaves nothing behind.
func TestTaskPages(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	harness.FollowPage(t, cluster, "install.md", "With Helm")
	giveGPUs(t, cluster, "6")
	for _, page := range []struct {
		name  string
		wants []string
	}{
		{"teams", []string{"due to reclamation within the cohort", "1 preempted it: team-blue/job-own"}},
		{"priorities", []string{"study is suspended: true", "release   false", "namespace default may not use the WorkloadPriorityClass urgent"}},
		{"drain", []string{"Stopped\n", "Job default/second waits because ClusterQueue night", "first is suspended: false"}},
		{"default-queue", []string{"queue: default\n", "suspended: true\n", "Give its job the label kueue.x-k8s.io/queue-name"}},
		{"gpu-team", []string{"train-1 h100-reserved\n", "train-2 h100-spot\n", "Job ml/train-4 waits for quota", "nvidia.com/gpu"}},
	} {
		output := followAll(t, cluster, "tasks/"+page.name+".md")
		for _, want := range page.wants {
			if !strings.Contains(output, want) {
				t.Errorf("docs/tasks/%s.md does not print %q:\n%s", page.name, want, output)
			}
		}
		if left := cluster.Kubectl(t, "", "get", "jobs,workloads,localqueues,clusterqueues,resourceflavors,workloadpriorityclasses", "-A", "-o", "name"); left != "" {
			t.Errorf("docs/tasks/%s.md leaves\n%s", page.name, left)
		}
	}
}

// Every page about a task is one of those that are run.
func TestTaskPagesAreAllRun(t *testing.T) {
	source, err := os.ReadFile("install/task_pages_test.go")
	harness.Must(t, err)
	files, err := os.ReadDir("../../docs/tasks")
	harness.Must(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".md")
		if !strings.Contains(string(source), `{"`+name+`", `) {
			t.Errorf("docs/tasks/%s is not run", file.Name())
		}
		if len(headings(t, "tasks/"+file.Name())) < 3 {
			t.Errorf("docs/tasks/%s has nearly no commands", file.Name())
		}
	}
}
