package users

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"muster.batch/test/cluster/harness"
)

const recordedSecret = "hunter2-of-a-tenant"

// withSecrets puts a secret where users put theirs.
func withSecrets(job *batchv1.Job) {
	container := &job.Spec.Template.Spec.Containers[0]
	container.Env = []corev1.EnvVar{{Name: "TOKEN", Value: recordedSecret}}
	container.Args = []string{"--token=" + recordedSecret + "\nsecond line"}
	job.Spec.Template.Annotations = map[string]string{"example.com/note": recordedSecret}
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = recordedSecret
}

// replayed is what `muster simulate --replay -o json` says, as far as the test looks.
type replayed struct {
	Equal     bool `json:"equal"`
	Decisions struct {
		Recorded, Equal, Different, Added int
	} `json:"decisions"`
	Kinds map[string]struct {
		Recorded int `json:"recorded"`
	} `json:"kinds"`
	Differences []map[string]any `json:"differences"`
}

// replay decides over a recording once more.
func replay(t *testing.T, file string, code int, flags ...string) replayed {
	t.Helper()
	command := exec.Command(harness.MusterBinary(), append([]string{"simulate", "--replay", file, "-o", "json"}, flags...)...)
	out, err := command.Output()
	if command.ProcessState.ExitCode() != code {
		t.Fatalf("exit code %d and not %d: %v\n%s", command.ProcessState.ExitCode(), code, err, out)
	}
	var report replayed
	harness.Must(t, json.Unmarshal(out, &report))
	return report
}

// muster admits, preempts and is killed; its file decides the same, and holds nothing of what users hide.
func TestARecordingOfServeIsReplayed(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	file := filepath.Join(t.TempDir(), "recording")
	muster := harness.StartQueueMuster(t, "--record", file, "--record-limit", "64Mi")
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Class("high", 100)
	teams.Queue("q", teams.Cpus("f=2"), harness.PreemptByPriority())
	teams.Job("q", "low", 2, "1", withSecrets)
	teams.Admitted("low")
	teams.Job("q", "high", 2, "1", withSecrets, teams.OfClass("high"))
	teams.Await("low", "was preempted", harness.HasCondition("Preempted", "True", ""))
	teams.Admitted("high")
	muster.Kill(t)

	text, err := os.ReadFile(file)
	harness.Must(t, err)
	if strings.Contains(string(text), recordedSecret) {
		t.Error("the recording holds a secret")
	}
	status, err := os.Stat(file)
	harness.Must(t, err)
	if status.Mode().Perm() != 0o600 {
		t.Errorf("the recording has the mode %v", status.Mode())
	}
	report := replay(t, file, 0)
	if !report.Equal || report.Decisions.Recorded == 0 || report.Decisions.Equal != report.Decisions.Recorded {
		t.Errorf("the decisions are different: %+v", report)
	}
	for _, kind := range []string{"admission", "preemption", "start", "stop"} {
		if report.Kinds[kind].Recorded == 0 {
			t.Errorf("no %s was recorded: %+v", kind, report.Kinds)
		}
	}
	t.Logf("%d decisions in %d bytes", report.Decisions.Recorded, len(text))

	// With other settings the same load is decided otherwise.
	config := harness.WriteFile(t, "config.yaml", "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"+
		"resources: {excludeResourcePrefixes: [cpu]}\n")
	if other := replay(t, file, 1, "--config", config); len(other.Differences) == 0 {
		t.Error("other settings show no difference")
	}

	// The next process keeps what the one before it has recorded.
	muster.Restart(t)
	harness.Eventually(t, 30*time.Second, "muster's /readyz", muster.Ready)
	if kept, err := os.ReadFile(file + ".1"); err != nil || string(kept) != string(text) {
		t.Errorf("the recording of the killed process is not kept: %v", err)
	}
	teams.End("high")
}
