package users

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Lists for people: kubectl muster, its lists' rights, and Kueue's visibility API at muster's port.

// listed is a list of muster's, as far as the tests look.
type listed struct {
	Metadata struct {
		Hidden struct {
			Count  int    `json:"count"`
			Amount string `json:"amount"`
		} `json:"hidden"`
	} `json:"metadata"`
	Items []struct {
		Namespace              string                `json:"namespace"`
		Name                   string                `json:"name"`
		State                  string                `json:"state"`
		Reason                 string                `json:"reason"`
		Amount                 string                `json:"amount"`
		PositionInClusterQueue *int                  `json:"positionInClusterQueue"`
		PositionInLocalQueue   *int                  `json:"positionInLocalQueue"`
		Job                    struct{ Name string } `json:"job"`
		Metadata               struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	} `json:"items"`
}

func listWithMuster(t *testing.T, kubeconfig string, arguments ...string) listed {
	t.Helper()
	out, code, complaint := harness.RunMuster(kubeconfig, append(arguments, "-o", "json")...)
	if code != 0 || complaint != "" {
		t.Fatalf("%v: exit code %d, %s%s", arguments, code, out, complaint)
	}
	var list listed
	harness.Must(t, json.Unmarshal([]byte(out), &list))
	return list
}

// endedWorkload makes a Workload without a job that has finished.
func endedWorkload(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	file := harness.WriteFile(t, "ended.yaml", `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"ended","namespace":"`+namespace+`"},
		"spec":{"active":false,"queueName":"`+harness.LocalQueueName+`","podSets":[{"name":"main","count":1,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"x"}]}}}]}}`)
	cluster.Kubectl(t, "", "create", "-f", file)
	cluster.Kubectl(t, "", "patch", "workload", "ended", "-n", namespace, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"conditions":[{"type":"Finished","status":"True","reason":"Succeeded","message":"done","lastTransitionTime":%q}]}}`,
			time.Now().UTC().Format(time.RFC3339)))
}

func TestListsAreForThoseWhoMayReadThem(t *testing.T) {
	cluster := harness.Connect(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	address := harness.HostAddress(t)
	muster := harness.StartQueueMuster(t, "--metrics-bind-address", address, "--record-submitter")
	harness.ServeThroughService(t, cluster, address)
	mine, other := harness.ExplainedNamespaces(t, cluster)
	cluster.Kubectl(t, "", "label", "job", "train", "-n", mine, "tier=gold")
	endedWorkload(t, cluster, mine)
	harness.ExplainUsers(t, cluster, mine)
	boss, dev, stranger := harness.AsServiceAccount(t, cluster, mine, "boss"), harness.AsServiceAccount(t, cluster, mine, "dev"), harness.AsServiceAccount(t, cluster, mine, "stranger")

	harness.Eventually(t, 20*time.Second, "the list through the API server's proxy", func() error {
		if out, code, complaint := harness.RunMuster(boss, "get", "jobs", "-n", mine); code != 0 || complaint != "" ||
			!strings.Contains(out, "job/train") {
			return fmt.Errorf("exit code %d, %s%s", code, out, complaint)
		}
		return nil
	})
	t.Run("a Workload has its position in both queues and its reason", func(t *testing.T) {
		for _, kubeconfig := range []string{boss, dev} {
			list := listWithMuster(t, kubeconfig, "get", "workloads", "-n", mine)
			if len(list.Items) != 1 || list.Items[0].Job.Name != "train" || list.Items[0].Reason != "WaitingForQuota" ||
				*list.Items[0].PositionInClusterQueue != 1 || *list.Items[0].PositionInLocalQueue != 0 {
				t.Errorf("%+v", list)
			}
		}
	})
	t.Run("filters, of muster and of the evaluation on this machine", func(t *testing.T) {
		for source, run := range map[string]func(arguments ...string) (string, int, string){
			"muster": func(arguments ...string) (string, int, string) { return harness.RunMuster(boss, arguments...) },
			"local": func(arguments ...string) (string, int, string) {
				return harness.RunMuster(cluster.Kubeconfig, append(arguments, "--local")...)
			},
		} {
			for _, row := range []struct {
				arguments []string
				names     string
			}{
				{nil, "train"},
				{[]string{"--state", "Pending,Failed"}, "train"},
				{[]string{"--state", "Admitted"}, ""},
				{[]string{"--state", "Finished"}, "ended"},
				{[]string{"--finished"}, "train ended"},
				{[]string{"--finished", "--sort-by=name"}, "ended train"},
				{[]string{"--finished", "--sort-by=-name"}, "train ended"},
				{[]string{"-l", "tier in (gold)"}, "train"},
				{[]string{"-l", "tier!=gold"}, ""},
				{[]string{"--search", "TRAI"}, "train"},
				{[]string{"--search", "brain"}, ""},
			} {
				harness.Eventually(t, 10*time.Second, source+" "+strings.Join(row.arguments, " "), func() error {
					out, code, complaint := run(append([]string{"get", "jobs", "-n", mine, "-o", "json"}, row.arguments...)...)
					var list listed
					if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil {
						return fmt.Errorf("exit code %d, %s%s", code, out, complaint)
					}
					names := []string{}
					for _, item := range list.Items {
						name := item.Job.Name
						if name == "" {
							name = item.Name
						}
						names = append(names, name)
					}
					if got := strings.Join(names, " "); got != row.names {
						return fmt.Errorf("%q", got)
					}
					return nil
				})
			}
		}
	})
	t.Run("holders of another namespace are counted and not named", func(t *testing.T) {
		list := listWithMuster(t, boss, "who", "cpu", "-q", harness.LocalQueueName, "-n", mine)
		if len(list.Items) != 1 || list.Items[0].Namespace != other || list.Items[0].Job.Name != "holder" || list.Items[0].Amount != "20m" || list.Metadata.Hidden.Count != 0 {
			t.Errorf("to the boss: %+v", list)
		}
		out, code, complaint := harness.RunMuster(dev, "who", "cpu", "-q", harness.LocalQueueName, "-n", mine, "-o", "json")
		harness.Must(t, json.Unmarshal([]byte(out), &list))
		if code != 0 || len(list.Items) != 0 || list.Metadata.Hidden.Count != 1 || list.Metadata.Hidden.Amount != "20m" ||
			strings.Contains(out, other) || strings.Contains(out, "holder") {
			t.Errorf("to dev: exit code %d, %s%s", code, out, complaint)
		}
	})
	t.Run("who lacks the right gets no list", func(t *testing.T) {
		for _, row := range []struct {
			kubeconfig string
			arguments  []string
			says       string
		}{
			{stranger, []string{"get", "workloads", "-n", mine}, "cannot list workloads.kueue.x-k8s.io in namespace"},
			{stranger, []string{"who", "cpu", "-q", harness.LocalQueueName, "-n", mine}, "cannot list workloads.kueue.x-k8s.io"},
			{dev, []string{"get", "workloads", "-A", "-n", mine}, "in all namespaces"},
			{dev, []string{"tree", "-n", mine}, "cannot list cohorts.kueue.x-k8s.io"},
			{dev, []string{"get", "queues", "-n", mine}, "cannot list localqueues.kueue.x-k8s.io"},
		} {
			if out, code, complaint := harness.RunMuster(row.kubeconfig, row.arguments...); code != 1 || out != "" ||
				!strings.Contains(complaint, row.says) {
				t.Errorf("%v: exit code %d, %s%s", row.arguments, code, out, complaint)
			}
		}
	})
	t.Run("queues and their tree", func(t *testing.T) {
		for _, arguments := range [][]string{{"tree"}, {"get", "clusterqueues"}, {"get", "queues"}, {"top", "queues"}} {
			if out, code, complaint := harness.RunMuster(boss, append(arguments, "-n", mine)...); code != 0 || complaint != "" || len(strings.Split(out, "\n")) < 3 {
				t.Errorf("%v: exit code %d, %s%s", arguments, code, out, complaint)
			}
		}
	})
	t.Run("the visibility API has the order of the queue", func(t *testing.T) {
		token := harness.ExplainToken(t, cluster, mine, "boss")
		queue := cluster.Kubectl(t, "", "get", "localqueue", harness.LocalQueueName, "-n", mine, "-o", "jsonpath={.spec.clusterQueue}")
		for _, version := range []string{"v1beta1", "v1beta2"} {
			api := "/apis/visibility.kueue.x-k8s.io/" + version
			status, body := harness.AskMetricsPort(t, muster, api+"/clusterqueues/"+strings.TrimSpace(queue)+"/pendingworkloads?limit=5", token)
			var list listed
			harness.Must(t, json.Unmarshal([]byte(body), &list))
			if status != http.StatusOK || len(list.Items) != 2 || list.Items[0].Metadata.Namespace != other || list.Items[1].Metadata.Namespace != mine {
				t.Errorf("%s: %d %s", version, status, body)
			}
			path := api + "/namespaces/" + mine + "/localqueues/" + harness.LocalQueueName + "/pendingworkloads"
			if status, body := harness.AskMetricsPort(t, muster, path, harness.ExplainToken(t, cluster, mine, "dev")); status != http.StatusForbidden {
				t.Errorf("%s to dev: %d %s", version, status, body)
			}
		}
	})
	t.Run("a user's own jobs, as the webhook has seen who submits them", func(t *testing.T) {
		// The tests' administrator has submitted all jobs; what a job says itself is taken away.
		forged := harness.QueuedJob("forged", 1)
		forged.Annotations = map[string]string{"muster.batch/submitter": "system:serviceaccount:" + mine + ":boss"}
		cluster.CreateJob(t, mine, forged)
		cluster.WaitForWorkload(t, mine, "forged", "is there", func(*unstructured.Unstructured) error { return nil })
		defer cluster.Kubectl(t, "", "delete", "job", "forged", "-n", mine)
		for _, source := range [][]string{nil, {"--local"}} {
			if out, code, complaint := harness.RunMuster(boss,
				append([]string{"get", "jobs", "-n", mine, "--mine"}, source...)...); code != 0 || out != "" ||
				!strings.Contains(complaint, "No jobs that match found") {
				t.Errorf("boss, %v: exit code %d, %s%s", source, code, out, complaint)
			}
		}
		out, code, complaint := harness.RunMuster(cluster.Kubeconfig, "get", "jobs", "-n", mine, "--mine", "--local")
		if code != 0 || !strings.Contains(out, "job/train") || !strings.Contains(out, "job/forged") {
			t.Errorf("the administrator: exit code %d, %s%s", code, out, complaint)
		}
		job := "{.metadata.annotations.muster\\.batch/submitter}"
		submitter := cluster.Kubectl(t, "", "get", "job", "forged", "-n", mine, "-o", "jsonpath="+job)
		if submitter == "" || strings.HasSuffix(submitter, ":boss") {
			t.Errorf("the job says %q", submitter)
		}
		for _, change := range []string{"muster.batch/submitter=" + mine, "muster.batch/submitter-"} {
			cluster.Kubectl(t, "", "annotate", "--overwrite", "job", "forged", "-n", mine, change)
			if now := cluster.Kubectl(t, "", "get", "job", "forged", "-n", mine, "-o", "jsonpath="+job); now != submitter {
				t.Errorf("after %s the job says %q", change, now)
			}
		}
		// muster runs here as the tests' administrator.
		if said, err := cluster.TryKubectl("", "annotate", "--overwrite", "workload", "-n", mine, "--all", "muster.batch/submitter=x", "--as=another", "--as-group=system:masters"); err == nil || !strings.Contains(err.Error(), "is written by muster alone") {
			t.Errorf("a Workload: %s %v", said, err)
		}
	})
}

// The same binary under the names by which kubectl finds a plugin and its completion.
func TestKubectlFindsMusterAsAPlugin(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t)
	queues := cluster.Queues(t)
	folder := t.TempDir()
	for _, name := range []string{"kubectl-muster", "kubectl_complete-muster"} {
		harness.Must(t, os.Symlink(harness.MusterBinary(), filepath.Join(folder, name)))
	}
	run := func(program string, arguments ...string) string {
		command := exec.Command(program, arguments...)
		command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "KUBECONFIG="+cluster.Kubeconfig)
		out, err := command.Output()
		harness.Must(t, err)
		return string(out)
	}
	if out := run("kubectl", "muster", "get", "queues", "-n", queues.Namespace, "-o", "name"); out != "localqueue.kueue.x-k8s.io/"+harness.LocalQueueName+"\n" {
		t.Errorf("kubectl muster get queues: %q", out)
	}
	if out := run(filepath.Join(folder, "kubectl_complete-muster"), "get", "queues", "-n", queues.Namespace, ""); out != harness.LocalQueueName+"\n:4\n" {
		t.Errorf("completion of names: %q", out)
	}
	script := run(filepath.Join(folder, "kubectl-muster"), "completion", "bash")
	out := run("bash", "-c", script+"\nCOMP_WORDS=(kubectl-muster get cl)\nCOMP_CWORD=2\n_muster_complete\necho ${COMPREPLY[@]}\n")
	if out != "clusterqueues\n" {
		t.Errorf("completion in bash: %q", out)
	}
}

// What kueuectl asks of the API server: lists with a limit in both versions, merge patches that stop and resume, and the
// visibility API for its column of positions.
func TestKueuectlsCallsWork(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	startAggregatedMuster(t, cluster)
	queues := cluster.Queues(t)
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, `{"spec":{"stopPolicy":"None"}}`)
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("run", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "run", "is admitted", harness.HasCondition("Admitted", "True", ""))
	for _, version := range []string{"v1beta1", "v1beta2"} {
		api := "/apis/kueue.x-k8s.io/" + version
		for _, path := range []string{api + "/clusterqueues?limit=500", api + "/namespaces/" + queues.Namespace + "/localqueues?limit=500",
			api + "/namespaces/" + queues.Namespace + "/workloads?limit=500", api + "/resourceflavors?limit=500"} {
			if list := cluster.Kubectl(t, "", "get", "--raw", path); !strings.Contains(list, `"items":[{`) {
				t.Errorf("%s: %s", path, list)
			}
		}
	}
	for _, step := range []struct {
		patch  string
		status string
	}{{`{"spec":{"active":false}}`, "False"}, {`{"spec":{"active":true}}`, "True"}} {
		cluster.Kubectl(t, "", "patch", "workloads.v1beta1.kueue.x-k8s.io", workload.GetName(), "-n", queues.Namespace, "--type=merge", "-p", step.patch)
		cluster.WaitForWorkload(t, queues.Namespace, "run", "Admitted="+step.status, harness.HasCondition("Admitted", step.status, ""))
	}
	for _, step := range []struct {
		patch  string
		status string
	}{{`{"spec":{"stopPolicy":"HoldAndDrain"}}`, "False"}, {`{"spec":{"stopPolicy":"None"}}`, "True"}} {
		cluster.Kubectl(t, "", "patch", "clusterqueues.v1beta1.kueue.x-k8s.io", queues.ClusterQueue, "--type=merge", "-p", step.patch)
		cluster.WaitForWorkload(t, queues.Namespace, "run", "Admitted="+step.status, harness.HasCondition("Admitted", step.status, ""))
	}
	t.Run("kueuectl list workload has positions", func(t *testing.T) {
		mine, _ := harness.ExplainedNamespaces(t, cluster)
		api := "/apis/kueue.x-k8s.io/v1beta1/namespaces/" + mine
		var workloads struct {
			Items []struct {
				Metadata struct{ Name, Namespace string }
				Spec     struct{ QueueName string }
			}
		}
		harness.Must(t, json.Unmarshal([]byte(cluster.Kubectl(t, "", "get", "--raw", api+"/workloads?limit=500")), &workloads))
		if len(workloads.Items) != 1 {
			t.Fatalf("Workloads of %s: %+v", mine, workloads)
		}
		pending := workloads.Items[0]
		var localQueue struct{ Spec struct{ ClusterQueue string } }
		harness.Must(t, json.Unmarshal([]byte(cluster.Kubectl(t, "", "get", "--raw", api+"/localqueues/"+pending.Spec.QueueName)), &localQueue))
		summary, err := pendingOfClusterQueue(visibilityClient(t, cluster.Kubeconfig, "v1beta1"), localQueue.Spec.ClusterQueue)
		harness.Must(t, err)
		position := int32(-1)
		for _, item := range summary.Items {
			if item.Name == pending.Metadata.Name && item.Namespace == pending.Metadata.Namespace {
				position = item.PositionInClusterQueue
			}
		}
		if position != 1 {
			t.Errorf("the position is %d in %+v", position, summary)
		}
	})
}
