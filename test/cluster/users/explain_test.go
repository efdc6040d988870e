package users

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// musterExplain runs the command; what it says on stderr comes with the exit code.
func musterExplain(t *testing.T, kubeconfig string, arguments ...string) (harness.Explanation, int, string) {
	t.Helper()
	command := exec.Command(harness.MusterBinary(), append([]string{"explain", "-o", "json", "--kubeconfig", kubeconfig}, arguments...)...)
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	_ = command.Run()
	var answer harness.Explanation
	if out.Len() > 0 {
		harness.Must(t, json.Unmarshal(out.Bytes(), &answer))
	}
	return answer, command.ProcessState.ExitCode(), errors.String()
}

// mayMakeTokens lets a user make tokens of that service account.
func mayMakeTokens(t *testing.T, cluster *harness.Cluster, namespace, account, who string) {
	t.Helper()
	name := "tokens-of-" + account
	cluster.Kubectl(t, "", "create", "role", name, "-n", namespace, "--verb", "create",
		"--resource", "serviceaccounts/token", "--resource-name", account)
	cluster.Kubectl(t, "", "create", "rolebinding", name, "-n", namespace, "--role", name, who)
}

func TestExplainSaysWhyAJobWaits(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	address := harness.HostAddress(t)
	muster := harness.StartQueueMuster(t, "--metrics-bind-address", address)
	harness.ServeThroughService(t, cluster, address)
	mine, other := harness.ExplainedNamespaces(t, cluster)
	harness.ExplainUsers(t, cluster, mine)

	var told harness.Explanation
	boss := harness.AsServiceAccount(t, cluster, mine, "boss")
	harness.Eventually(t, 20*time.Second, "the answer through the API server's proxy", func() error {
		var code int
		var complaint string
		told, code, complaint = musterExplain(t, boss, "job/train", "-n", mine)
		if code != 0 || told.Reason != "WaitingForQuota" || len(told.Notes) > 0 {
			return fmt.Errorf("exit code %d, %+v, %s", code, told, complaint)
		}
		return nil
	})
	if len(told.Flavors) != 1 || told.Flavors[0]["requested"] != "10m" || told.Flavors[0]["free"] != "0" || told.Flavors[0]["nominal"] != "20m" {
		t.Errorf("the numbers are %v", told.Flavors)
	}
	if told.Named("ahead") != 1 || told.Named("holder") != 1 || told.Others[0].Names[0]["namespace"] != other {
		t.Errorf("to the boss, ahead of it are %+v", told.Others)
	}

	t.Run("names of other namespaces are for who may list there", func(t *testing.T) {
		told, code, complaint := musterExplain(t, harness.AsServiceAccount(t, cluster, mine, "dev"), "job/train", "-n", mine)
		if code != 0 || len(told.Notes) > 0 || told.Named("ahead") != 0 || told.Named("holder") != 0 {
			t.Errorf("exit code %d, %+v, %s", code, told, complaint)
		}
		_, code, complaint = musterExplain(t, harness.AsServiceAccount(t, cluster, mine, "dev"), "job/secret", "-n", other)
		if code != 1 || !strings.Contains(complaint, `you cannot create readersessions.muster.batch in namespace `+other) || !strings.Contains(complaint, `cannot list resource "jobs"`) {
			t.Errorf("about the other namespace: exit code %d, %s", code, complaint)
		}
	})
	t.Run("strangers get nothing", func(t *testing.T) {
		_, code, complaint := musterExplain(t, harness.AsServiceAccount(t, cluster, mine, "stranger"), "job/train", "-n", mine)
		if code != 1 || !strings.Contains(complaint, `cannot get jobs.batch "train"`) {
			t.Errorf("exit code %d, %s", code, complaint)
		}
		for _, token := range []string{"", "made-up"} {
			if status, _ := harness.ExplainDirectly(t, muster, "/explain/v1/namespaces/"+mine+"/jobs/train",
				token); status != http.StatusUnauthorized {
				t.Errorf("with the token %q: %d", token, status)
			}
		}
	})
	t.Run("a person with a certificate asks in the own name", func(t *testing.T) {
		answer, code, complaint := musterExplain(t, cluster.Kubeconfig, "job/train", "-n", mine)
		if code != 0 || answer.Headline != told.Headline || len(answer.Notes) > 0 || answer.Named("ahead") != 1 || answer.Named("holder") != 1 {
			t.Errorf("exit code %d, %+v, %s", code, answer, complaint)
		}
		if left := cluster.Kubectl(t, "", "get", "readersessions.muster.batch", "-A", "-o", "name"); left != "" {
			t.Errorf("sessions are left: %s", left)
		}
	})
	t.Run("who does not ask muster finds the same here", func(t *testing.T) {
		for _, flags := range [][]string{{"--local"}, {"--service-account", "muster-explain"}} {
			here, code, complaint := musterExplain(t, cluster.Kubeconfig, append(flags, "job/train", "-n", mine)...)
			if code != 0 || here.Headline != told.Headline || !reflect.DeepEqual(here.Flavors, told.Flavors) || !reflect.DeepEqual(here.Others, told.Others) {
				t.Errorf("%v: exit code %d, %+v, %s", flags, code, here, complaint)
			}
			if len(here.Notes) == 0 || !strings.HasPrefix(here.Notes[0], "Evaluated on this machine") {
				t.Errorf("%v: it does not say so: %v", flags, here.Notes)
			}
			if len(flags) == 2 && !strings.Contains(strings.Join(here.Notes, " "), mine+`/muster-explain, which takes the right to create serviceaccounts/token of it: serviceaccounts "muster-explain" not found`) {
				t.Errorf("it does not say why: %v", here.Notes)
			}
		}
	})
	t.Run("a person asks in the name of the namespace's account", func(t *testing.T) {
		cluster.Kubectl(t, "", "create", "serviceaccount", "muster-explain", "-n", mine)
		cluster.Kubectl(t, "", "create", "rolebinding", "muster-explain", "-n", mine, "--role", "dev", "--serviceaccount", mine+":muster-explain")
		answer, code, complaint := musterExplain(t, cluster.Kubeconfig, "job/train", "-n", mine, "--service-account", "muster-explain")
		if code != 0 || answer.Headline != told.Headline || len(answer.Notes) > 0 || answer.Named("ahead") != 0 || answer.Named("holder") != 0 {
			t.Errorf("exit code %d, %+v, %s", code, answer, complaint)
		}
		// What the account cannot see, the person can.
		answer, code, complaint = musterExplain(t, cluster.Kubeconfig, "job/secret", "-n", other, "--service-account", mine+"/muster-explain")
		if notes := strings.Join(answer.Notes, " "); code != 0 || !strings.Contains(notes, "Evaluated on this machine") || !strings.Contains(notes, "asked as "+mine+"/muster-explain") {
			t.Errorf("exit code %d, %+v, %s", code, answer, complaint)
		}
	})
	t.Run("a replica that does not lead says the same", func(t *testing.T) {
		follower := harness.LaunchMuster(t, "--jobset-controller", "native", "--config", harness.QuickLease(t, harness.NeverFreeLease(t, cluster)),
			"--webhook-url", muster.URL, "--no-keep-webhook-configurations")
		token := harness.ExplainToken(t, cluster, mine, "boss")
		status, followed := harness.ExplainDirectly(t, follower, "/explain/v1/namespaces/"+mine+"/jobs/train", token)
		if status != http.StatusOK || followed.Headline != told.Headline || !reflect.DeepEqual(followed.Flavors, told.Flavors) {
			t.Errorf("%d %+v", status, followed)
		}
	})
	if _, code, _ := musterExplain(t, boss, "job/none", "-n", mine); code != 1 {
		t.Errorf("about a Job that does not exist: exit code %d", code)
	}
	if _, code, _ := musterExplain(t, boss, "configmap/none", "-n", mine); code != 2 {
		t.Errorf("about a ConfigMap: exit code %d", code)
	}
	// Of a kind that is not queued here the answer is found in the object.
	if answer, code, complaint := musterExplain(t, boss, "pod/none", "-n", mine); code != 1 || answer.Reason != "NotFound" {
		t.Errorf("about a pod that does not exist: exit code %d, %+v, %s", code, answer, complaint)
	}
	// A name alone, the kind with its group, and the name of the job as that of its Workload.
	for _, form := range [][]string{{"train"}, {"jobs.batch/train"}, {"jobs", "train"}, {"workload/train"}} {
		answer, code, complaint := musterExplain(t, boss, append(form, "-n", mine)...)
		if code != 0 || answer.Reason != told.Reason {
			t.Errorf("%v: exit code %d, %+v, %s", form, code, answer, complaint)
		}
	}
	// The terms of its place, from muster.
	command := exec.Command(harness.MusterBinary(), "priority", "job/train", "-n", mine, "--kubeconfig", boss)
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), " has position ") {
		t.Errorf("%v: %s", err, out)
	}
	// For a user who cannot list them, Workloads of other namespaces have a place and no name.
	command = exec.Command(harness.MusterBinary(), "priority", "job/train", "-n", mine, "--kubeconfig",
		harness.AsServiceAccount(t, cluster, mine, "dev"))
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "(not visible)") || strings.Contains(string(out), "secret") {
		t.Errorf("%v: %s", err, out)
	}
}
