package operations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.batch/test/cluster/harness"
)

// The API server warns of a pod template with two variables of one name, in its answer to muster's Job of a JobSet.
func TestWarningsOfTheAPIServerAreLoggedAndCounted(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.StartQueueMuster(t, "--no-metrics-authorization")
	template := harness.HollowPod(-1, 0)
	template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TWICE", Value: "a"}, {Name: "TWICE", Value: "b"}}
	cluster.CreateJobSet(t, cluster.Namespace(t, nil), harness.JobSetOf("train", harness.ReplicatedJob{Name: "w", Template: template}))
	harness.Eventually(t, 30*time.Second, "the warning is logged", func() error {
		for line := range strings.Lines(muster.Log(t)) {
			if strings.Contains(line, "the API server warns") && strings.Contains(line, "hides previous definition of") && strings.Contains(line, "TWICE") {
				return nil
			}
		}
		return fmt.Errorf("no line of the log has it")
	})
	harness.Eventually(t, 10*time.Second, "the warning is counted", func() error {
		_, text := harness.MetricsAnswer(t, muster, "")
		for line := range strings.Lines(text) {
			if count, found := strings.CutPrefix(strings.TrimSpace(line), "muster_api_warnings_total "); found && count != "0" {
				return nil
			}
		}
		return fmt.Errorf("muster_api_warnings_total is missing or 0")
	})
}
