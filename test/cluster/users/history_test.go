package users

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// moments is what `muster history -o json` prints, as far as the tests look.
type moments struct {
	Found   bool     `json:"found"`
	Notes   []string `json:"notes"`
	Moments []struct {
		Time           time.Time `json:"time"`
		What           string    `json:"what"`
		FromConditions bool      `json:"fromConditions"`
	} `json:"moments"`
}

func (m moments) texts() string {
	lines := []string{}
	for _, moment := range m.Moments {
		lines = append(lines, fmt.Sprintf("%s %v", moment.What, moment.FromConditions))
	}
	return strings.Join(lines, "\n")
}

func musterHistory(t *testing.T, kubeconfig string, arguments ...string) (moments, int, string) {
	t.Helper()
	command := exec.Command(harness.MusterBinary(), append([]string{"history", "-o", "json", "--kubeconfig", kubeconfig}, arguments...)...)
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	_ = command.Run()
	var answer moments
	if out.Len() > 0 {
		harness.Must(t, json.Unmarshal(out.Bytes(), &answer))
	}
	return answer, command.ProcessState.ExitCode(), errors.String()
}

// A Job waits, is admitted and is deleted: its history says so, on the leader and on a replica that follows, and after
// a restart the conditions say what they can.
func TestHistorySaysWhatHasHappenedToAJob(t *testing.T) {
	cluster := harness.Connect(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	address := harness.HostAddress(t)
	leader := harness.StartQueueMuster(t, "--metrics-bind-address", address)
	harness.ServeThroughService(t, cluster, address)
	// One address for all: a definition with another one ends the watches; later changes are seen late.
	replica := []string{"--jobset-controller", "native", "--webhook-url", leader.URL}
	follower := harness.LaunchMuster(t, replica...)
	mine, other := harness.ExplainedNamespaces(t, cluster)
	harness.ExplainUsers(t, cluster, mine)
	dev := harness.AsServiceAccount(t, cluster, mine, "dev")
	path := "/explain/v1/namespaces/" + mine + "/jobs/train"

	awaitMoment := func(what string) moments {
		var told moments
		harness.Eventually(t, 30*time.Second, "the history to say "+what, func() error {
			var code int
			var complaint string
			if told, code, complaint = musterHistory(t, dev, "job/train", "-n", mine); code != 0 || !strings.Contains(told.texts(), what) {
				return fmt.Errorf("exit code %d, %s\n%s", code, complaint, told.texts())
			}
			return nil
		})
		return told
	}
	told := awaitMoment("Waits (WaitingForQuota)")
	if !strings.HasPrefix(told.Moments[0].What, "Workload created: job-train-") || strings.Contains(told.texts(), "true") {
		t.Errorf("the history of a Job that this muster has seen from its beginning:\n%s", told.texts())
	}

	// What is in the way goes.
	cluster.Kubectl(t, "", "delete", "jobs", "--all", "-n", other)
	told = awaitMoment("Admitted on ")
	if text := told.texts(); !strings.Contains(text, "Quota reserved in ClusterQueue ") || strings.Index(text, "Waits (") > strings.Index(text, "Quota reserved") {
		t.Errorf("the moments are\n%s", text)
	}
	t.Run("a replica that follows tells the same", func(t *testing.T) {
		token := harness.ExplainToken(t, cluster, mine, "dev")
		harness.Eventually(t, 30*time.Second, "the follower's history", func() error {
			status, body := harness.AskMetricsPort(t, follower, path, token)
			if status != 200 || !strings.Contains(body, "Waits (WaitingForQuota)") || !strings.Contains(body, "Admitted on ") {
				return fmt.Errorf("%d %s", status, body)
			}
			return nil
		})
	})
	t.Run("a replica that began later says what comes from conditions", func(t *testing.T) {
		late := harness.LaunchMuster(t, replica...)
		token := harness.ExplainToken(t, cluster, mine, "dev")
		harness.Eventually(t, 30*time.Second, "the history of the one that began later", func() error {
			status, body := harness.AskMetricsPort(t, late, path, token)
			if status != 200 || !strings.Contains(body, "Admitted on ") || !strings.Contains(body, `"fromConditions":true`) {
				return fmt.Errorf("%d %s", status, body)
			}
			return nil
		})
	})
	t.Run("who may not get the job reads no history", func(t *testing.T) {
		if _, code, complaint := musterHistory(t, harness.AsServiceAccount(t, cluster, mine, "stranger"), "job/train", "-n", mine); code != 1 || !strings.Contains(complaint, "cannot") {
			t.Errorf("exit code %d: %s", code, complaint)
		}
	})
	t.Run("a job that was deleted", func(t *testing.T) {
		cluster.Kubectl(t, "", "delete", "job", "train", "-n", mine)
		told := awaitMoment("Workload deleted")
		if told.Found {
			t.Error("the job is said to exist")
		}
	})
}
