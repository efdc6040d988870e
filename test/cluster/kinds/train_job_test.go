package kinds

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// The trainer makes a JobSet for a TrainJob. muster runs it while the TrainJob has its quota, and nothing that another
// user adds to the TrainJob.
func TestTheJobSetOfATrainJobRunsOnItsQuota(t *testing.T) {
	cluster := harness.Connect(t)
	for file, name := range trainJobs.definitions {
		cluster.InstallDefinition(t, "kinds/"+file, name)
	}
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+
		"integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, trainer.kubeflow.org/trainjob]}\n")
	harness.ApplyRights(t, cluster, config)
	harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	scene := kindScene{T: t, cluster: cluster, teams: cluster.Teams(t), kind: trainJobs}
	ns := scene.teams.Namespace
	scene.teams.Flavor("f")
	scene.teams.Queue("a", scene.teams.Cpus("f=2"))
	trainJobs.prepare(scene)
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "trainjobs", "--all", "--namespace", ns) })

	scene.create("first", 1)
	owner := scene.await("first", "runs", false)
	jobSet := func(name string, roles ...string) {
		replicated := []harness.ReplicatedJob{}
		for _, role := range roles {
			replicated = append(replicated, harness.ReplicatedJob{Name: role, Extra: map[string]any{
				"template": map[string]any{"spec": map[string]any{"template": onePod()}}}})
		}
		made := harness.JobSetOf(name, replicated...)
		made.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, trainJobs.resource.GroupVersion().WithKind("TrainJob"))})
		cluster.Create(t, harness.JobSets, ns, made)
	}
	// runs is nil while this Job is there and not suspended.
	runs := func(name string) error {
		job, err := cluster.Client.BatchV1().Jobs(ns).Get(harness.Context(t), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if harness.Suspended(job) {
			return fmt.Errorf("%s is suspended", name)
		}
		return nil
	}
	jobSet("first", "data", "node")
	for _, job := range []string{"first-data-0", "first-node-0"} {
		harness.Eventually(t, 30*time.Second, job+" runs", func() error { return runs(job) })
	}

	scene.teams.NextSecond()
	jobSet("more", "node")
	cluster.WaitForJobSet(t, ns, "more", 30*time.Second, "suspended", harness.FieldIs(true, "spec", "suspend"))
	harness.Eventually(t, 30*time.Second, "no Job of it runs", func() error {
		if err := runs("more-node-0"); err == nil {
			return fmt.Errorf("one runs")
		} else if !apierrors.IsNotFound(err) && err.Error() != "more-node-0 is suspended" {
			return err
		}
		return nil
	})
	for _, job := range []string{"first-data-0", "first-node-0"} {
		harness.Must(t, runs(job))
	}
}
