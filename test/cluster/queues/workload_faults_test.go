package queues

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.batch/test/cluster/harness"
)

// Workloads in the hands of people, and their owners deleted under them.
var badHands = []harness.Behaviour{
	{Name: "pod sets that were edited are put right", Run: editedPodSets},
	{Name: "labels and finalizers that were taken away do no harm", Run: editedMetadata},
	{Name: "a running Job whose admission was wiped out is stopped and may come again", Run: wipedStatus},
	{Name: "a reservation cannot be edited", Run: editedAdmission},
	{Name: "a deleted Workload of a waiting Job is made anew", Run: deletedWhileWaiting},
	{Name: "a deleted Workload of a running Job is made anew once that is stopped", Run: deletedWhileRunning(metav1.DeletePropagationBackground)},
	{Name: "and so it is with --cascade=orphan", Run: deletedWhileRunning(metav1.DeletePropagationOrphan)},
	{Name: "owners deleted in each way leave nothing that is stuck", Run: deletedOwners},
}

func editedPodSets(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 2))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	podSets, _, _ := unstructured.NestedSlice(workload.Object, "spec", "podSets")
	podSets[0].(map[string]any)["count"] = int64(5)
	cluster.Patch(t, harness.Workloads, queues.Namespace, workload.GetName(),
		harness.ToJSON(t, map[string]any{"spec": map[string]any{"podSets": podSets}}))
	cluster.WaitForWorkload(t, queues.Namespace, "train", "asks for two pods again", harness.FieldIs(workload.GetUID(), "metadata", "uid"),
		func(workload *unstructured.Unstructured) error {
			if text := harness.ToJSON(t, workload.Object["spec"]); !strings.Contains(text, `"count":2`) {
				return fmt.Errorf("its spec is %s", text)
			}
			return nil
		})
}

func editedMetadata(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Patch(t, harness.Workloads, queues.Namespace, workload.GetName(), `{"metadata":{"labels":null,"finalizers":null}}`)
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	endsAndIsLetGo(t, cluster, queues)
}

func wipedStatus(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	cluster.Patch(t, harness.Workloads, queues.Namespace, workload.GetName(), `{"status":null}`, "status")
	harness.AwaitStopped(t, cluster, queues.Namespace, "train")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
}

func editedAdmission(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	for name, patch := range map[string]string{
		"another ClusterQueue":       `{"status":{"admission":{"clusterQueue":"another"}}}`,
		"quota without an admission": `{"status":{"admission":null}}`,
	} {
		output, err := cluster.TryKubectl("", "patch", "workload", workload.GetName(), "-n", queues.Namespace,
			"--subresource=status", "--type=merge", "-p", patch)
		if err == nil || !strings.Contains(err.Error(), "status.admission") {
			t.Errorf("%s is accepted: %s%v", name, output, err)
		}
	}
}

func deletedWhileWaiting(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Delete(t, harness.Workloads, queues.Namespace, workload.GetName(), metav1.DeletePropagationForeground)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "is another one", isAnother(workload))
}

func isAnother(old *unstructured.Unstructured) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		if workload.GetUID() == old.GetUID() {
			return fmt.Errorf("it is the same: deleted %v, finalizers %v", workload.GetDeletionTimestamp(), workload.GetFinalizers())
		}
		return nil
	}
}

func deletedWhileRunning(how metav1.DeletionPropagation) func(*testing.T, *harness.Cluster, harness.Queues) {
	return func(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
		timeline := cluster.Timeline(t, queues.Namespace)
		before := harness.ToJSON(t, cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1)).Spec.Template)
		workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
		cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
		awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
		cluster.Delete(t, harness.Workloads, queues.Namespace, workload.GetName(), how)
		stopped := harness.AwaitStopped(t, cluster, queues.Namespace, "train")
		if after := harness.ToJSON(t, stopped.Spec.Template); after != before {
			t.Errorf("its template was\n%s\nand is now\n%s", before, after)
		}
		again := cluster.WaitForWorkload(t, queues.Namespace, "train", "is another one", isAnother(workload))
		cluster.Admit(t, again, queues.ClusterQueue, queues.Hollow)
		awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
		timeline.Check(t)
	}
}

// owner is a Job or JobSet that will be deleted under its Workload.
type owner struct {
	resource schema.GroupVersionResource
	name     string
	how      metav1.DeletionPropagation
	runs     bool
	workload string
}

func deletedOwners(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	var owners []owner
	for _, resource := range []schema.GroupVersionResource{harness.Jobs, harness.JobSets} {
		for _, how := range []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		} {
			for _, runs := range []bool{false, true} {
				name := strings.ToLower(fmt.Sprintf("%s-%s-%t", resource.Resource, how, runs))
				owners = append(owners, owner{resource: resource, name: name, how: how, runs: runs})
			}
		}
	}
	for i := range owners {
		each := &owners[i]
		if each.resource == harness.Jobs {
			cluster.CreateJob(t, queues.Namespace, harness.QueuedJob(each.name, 1))
		} else {
			cluster.CreateJobSet(t, queues.Namespace, harness.QueuedJobSet(each.name,
				harness.ReplicatedJob{Name: "a", Template: harness.FlavoredPod()}))
		}
		workload := cluster.WaitForWorkload(t, queues.Namespace, each.name, "is there")
		each.workload = workload.GetName()
		if each.runs {
			cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
		}
	}
	for _, each := range owners {
		switch {
		case each.runs && each.resource == harness.Jobs:
			awaitActive(t, cluster, queues.Namespace, each.name, 1, "hollow")
		case each.runs:
			cluster.WaitForJobSetPods(t, queues.Namespace, each.name, 1, time.Minute, "running", harness.IsRunning)
		}
	}
	harness.AwaitCollector(t, cluster, queues.Namespace)
	for _, each := range owners {
		cluster.Delete(t, each.resource, queues.Namespace, each.name, each.how)
	}
	for _, each := range owners {
		cluster.AwaitGone(t, each.resource, queues.Namespace, each.name)
		if each.how != metav1.DeletePropagationOrphan {
			cluster.AwaitGone(t, harness.Workloads, queues.Namespace, each.workload)
			continue
		}
		if each.runs {
			endOrphans(t, cluster, queues.Namespace, each)
		}
		awaitOwnerless(t, cluster, queues.Namespace, each)
		cluster.Kubectl(t, "", "delete", "workload", each.workload, "-n", queues.Namespace, "--ignore-not-found")
	}
}

// awaitOwnerless waits until the Workload of an orphaned job says that its owner is gone. One without quota can be gone
// instead: muster lets it go if it sees the job in its deletion.
func awaitOwnerless(t *testing.T, cluster *harness.Cluster, namespace string, left owner) {
	t.Helper()
	harness.Eventually(t, time.Minute, "Workload "+left.workload+" says that its owner is gone and is let go", func() error {
		workload, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace).Get(harness.Context(t), left.workload, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && !left.runs {
			return nil
		}
		if err != nil {
			return err
		}
		if err := harness.HasCondition("Finished", "True", "OwnerNotFound")(workload); err != nil {
			return err
		}
		return harness.LetGo(workload)
	})
}

// endOrphans ends what a job has left behind, which keeps its quota until then.
func endOrphans(t *testing.T, cluster *harness.Cluster, namespace string, left owner) {
	t.Helper()
	cluster.AwaitWorkload(t, namespace, left.workload, "keeps its quota", harness.HasCondition("QuotaReserved", "True", ""))
	if left.resource == harness.Jobs {
		cluster.Kubectl(t, "", "delete", "pods", "-n", namespace, "-l", batchv1.JobNameLabel+"="+left.name, "--wait=false")
	} else {
		cluster.Kubectl(t, "", "delete", "jobs", "-n", namespace, "-l", "jobset.sigs.k8s.io/jobset-name="+left.name, "--wait=false")
	}
}
