package kinds

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// A definition that is installed, or changed, after muster's start is compared with the description like one that was
// there: what it contradicts is not queued, and what runs is not touched.
func TestADefinitionThatComesLaterIsComparedWithItsDescription(t *testing.T) {
	cluster := harness.Connect(t)
	kind, err := os.ReadFile("kinds/train/kind.yaml")
	harness.Must(t, err)
	config := harness.WriteFile(t, "kinds.yaml", harness.NamesOfTheManifests+"integrations: {frameworks: [batch/job]}\n---\n"+string(kind))
	harness.ApplyRights(t, cluster, config)
	muster := harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	scene := trainScene{t, cluster, cluster.Teams(t)}
	scene.teams.Flavor("f")
	scene.teams.Queue("a", scene.teams.Cpus("f=3"))

	// Without status.running, which the description reads.
	cluster.InstallDefinition(t, "kinds/train/other.yaml", "trains.example.com")
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "trains", "--all", "--namespace", scene.teams.Namespace) })
	const contradiction = "CustomResourceDefinition trains.example.com has no status.running in its schema of v1"
	awaitContradictions(t, muster, contradiction, 1)
	scene.create("express", 2)
	scene.teams.Job("a", "other", 1, "1")
	scene.teams.Admitted("other")
	if _, err := cluster.WorkloadOf(scene.teams.Namespace, "express"); err == nil {
		t.Error("a train was queued although its status cannot be read")
	}
	scene.teams.Kubectl("delete", "job", "other")

	definition, err := os.ReadFile("kinds/train/crd.yaml")
	harness.Must(t, err)
	cluster.Kubectl(t, string(definition), "apply", "--server-side", "--force-conflicts", "-f", "-")
	harness.Eventually(t, time.Minute, "the train is queued", func() error {
		_, err := cluster.WorkloadOf(scene.teams.Namespace, "express")
		return err
	})
	scene.await("express", "runs", false)
	scene.status("express", `{"running":3}`)
	scene.teams.Admitted("express")

	// Changed under a train that runs: nothing is decided by what it seems to say, until it is right again.
	other, err := os.ReadFile("kinds/train/other.yaml")
	harness.Must(t, err)
	cluster.Kubectl(t, string(other), "apply", "--server-side", "--force-conflicts", "-f", "-")
	awaitContradictions(t, muster, contradiction, 2)
	harness.Eventually(t, 30*time.Second, "muster is unready", func() error {
		if muster.Ready() == nil {
			return fmt.Errorf("it is ready")
		}
		return nil
	})
	workload, err := cluster.WorkloadOf(scene.teams.Namespace, "express")
	harness.Must(t, err)
	if err := harness.HasCondition("QuotaReserved", "True", "")(workload); err != nil {
		t.Error(err)
	}
	cluster.Kubectl(t, string(definition), "apply", "--server-side", "--force-conflicts", "-f", "-")
	harness.Eventually(t, time.Minute, "muster is ready again", muster.Ready)
	scene.status("express", `{"running":0,"conditions":[{"type":"Arrived","status":"True","message":"in time"}]}`)
	scene.teams.Await("express", "is finished", harness.HasCondition("Finished", "True", "Succeeded"))
}

// awaitContradictions waits until the log has reported this many, in these words.
func awaitContradictions(t *testing.T, muster *harness.Muster, words string, times int) {
	t.Helper()
	harness.Eventually(t, 100*time.Second, "muster tells of the contradiction", func() error {
		if told := strings.Count(muster.Log(t), words); told != times {
			return fmt.Errorf("told %d times", told)
		}
		return nil
	})
}
