package queues

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Jobs as Workloads. The tests do what a scheduler does: they write admissions and
// evictions into the status, in queues that are held.

func awaitActive(t *testing.T, cluster *harness.Cluster, namespace, name string, pods int, on string) {
	t.Helper()
	cluster.WaitForPods(t, namespace, name, pods, time.Minute, "running on a "+on+" node", func(pod *corev1.Pod) bool {
		return harness.IsRunning(pod) && pod.DeletionTimestamp == nil && pod.Spec.NodeSelector[harness.NodeLabel] == on
	})
}

// endsAndIsLetGo ends the pods of the job, and waits for what its Workload shows then.
func endsAndIsLetGo(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	t.Helper()
	cluster.EndHollowPods(t, queues.Namespace, 0)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has finished and is let go",
		harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo)
}

// All of it in one muster and side by side: most of the time of each is waiting for pods.
func TestQueuedJobsLiveAsWorkloads(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	cluster.RealNode(t)
	harness.StartQueueMuster(t)
	harness.RunBehaviours(t, cluster, slices.Concat(livesOfJobs, wishesOfUsers, badHands, deletedQueueObjects))
}

var livesOfJobs = []harness.Behaviour{
	{Name: "a Job starts when its Workload is admitted and lets it go when it is done", Run: jobRunsThroughItsWorkload},
	{Name: "a Job that fails has a failed Workload", Run: jobFailsWithItsWorkload},
	{Name: "a JobSet has a pod set for each replicated job and one Workload in all", Run: jobSetRunsThroughItsWorkload},
	{Name: "an evicted Job gives back all it was given and starts on another flavor", Run: evictedJobStartsElsewhere},
	{Name: "an evicted JobSet gives back all it was given and starts on another flavor", Run: evictedJobSetStartsElsewhere},
	{Name: "a deactivated Job is stopped and a reactivated one may come again", Run: deactivatedJobWaits},
	{Name: "a Workload whose node labels contradict its Job never starts it", Run: contradictionFailsToStart},
	{Name: "queues and Workloads show the columns that Kueue's users know", Run: columns},
}

var workloadName = regexp.MustCompile(`^job-train-[0-9a-f]{5}$`)

func jobRunsThroughItsWorkload(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 2))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there",
		harness.FieldIs(harness.LocalQueueName, "spec", "queueName"), harness.FieldIs(0, "spec", "priority"))
	if !workloadName.MatchString(workload.GetName()) {
		t.Errorf("it is called %s", workload.GetName())
	}
	if workload.GetLabels()[harness.JobUIDLabel] != string(job.UID) {
		t.Errorf("its labels are %v", workload.GetLabels())
	}
	if finalizers := workload.GetFinalizers(); len(finalizers) != 1 || finalizers[0] != harness.InUseFinalizer {
		t.Errorf("its finalizers are %v", finalizers)
	}
	if controller := metav1.GetControllerOf(workload); controller.UID != job.UID || controller.Kind != "Job" || controller.APIVersion != "batch/v1" {
		t.Errorf("its controller is %+v", controller)
	}
	podSets, _, _ := unstructured.NestedSlice(workload.Object, "spec", "podSets")
	if len(podSets) != 1 || podSets[0].(map[string]any)["name"] != "main" || podSets[0].(map[string]any)["count"] != int64(2) {
		t.Errorf("its pod sets are %v", podSets)
	}
	if text := fmt.Sprint(podSets); strings.Contains(text, "controller-uid") || strings.Contains(text, " job-name") {
		t.Errorf("its template has labels of one Job: %s", text)
	}

	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 2, "hollow")
	started := harness.GetJob(t, cluster, queues.Namespace, "train")
	if tolerations := started.Spec.Template.Spec.Tolerations; len(tolerations) != 1 || tolerations[0].Value != "hollow" {
		t.Errorf("its tolerations are %v", tolerations)
	}
	if started.Spec.Template.Labels["kueue.x-k8s.io/podset"] != "main" {
		t.Errorf("its pods' labels are %v", started.Spec.Template.Labels)
	}
	cluster.EndHollowPods(t, queues.Namespace, 0)
	cluster.WaitForJob(t, queues.Namespace, "train", time.Minute, batchv1.JobComplete)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has finished and is let go",
		harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo)
	timeline.Check(t)
}

func jobFailsWithItsWorkload(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
	cluster.Admit(t, cluster.WaitForWorkload(t, queues.Namespace, "train", "is there"), queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	cluster.EndHollowPods(t, queues.Namespace, 3)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has failed and is let go",
		harness.HasCondition("Finished", "True", "Failed"), harness.LetGo)
}

func twoReplicatedJobs() *unstructured.Unstructured {
	return harness.QueuedJobSet("train",
		harness.ReplicatedJob{Name: "driver", Template: harness.FlavoredPod()},
		harness.ReplicatedJob{Name: "workers", Replicas: 2, Pods: 2, Template: harness.FlavoredPod()})
}

func jobSetRunsThroughItsWorkload(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	manifest := harness.ToJSON(t, twoReplicatedJobs())
	cluster.Kubectl(t, manifest, "apply", "-n", queues.Namespace, "-f", "-")
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	if !strings.HasPrefix(workload.GetName(), "jobset-train-") {
		t.Errorf("it is called %s", workload.GetName())
	}
	counts := map[any]any{}
	podSets, _, _ := unstructured.NestedSlice(workload.Object, "spec", "podSets")
	for _, each := range podSets {
		counts[each.(map[string]any)["name"]] = each.(map[string]any)["count"]
	}
	if fmt.Sprint(counts) != "map[driver:1 workers:4]" {
		t.Errorf("its pod sets are %v", counts)
	}
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	cluster.WaitForJobSetPods(t, queues.Namespace, "train", 5, time.Minute, "running", harness.IsRunning)
	// The manifest has neither the labels nor the node selector of the admission: they stay all the same.
	running := harness.KubectlGet(t, cluster, queues.Namespace, "jobset", "train")
	cluster.Kubectl(t, manifest, "apply", "-n", queues.Namespace, "-f", "-")
	again := harness.KubectlGet(t, cluster, queues.Namespace, "jobset", "train")
	if running.GetGeneration() != again.GetGeneration() {
		t.Errorf("applied again, it changed from\n%s\nto\n%s", harness.Essence(t, running), harness.Essence(t, again))
	}
	list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(queues.Namespace).List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("%d Workloads: the Jobs of a JobSet have none of their own", len(list.Items))
	}
	endsAndIsLetGo(t, cluster, queues)
	timeline.Check(t)
}

func evictedJobStartsElsewhere(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := harness.QueuedJob("train", 2)
	job.Spec.Template.Labels = map[string]string{"mine": "stays"}
	before := harness.ToJSON(t, cluster.CreateJob(t, queues.Namespace, job).Spec.Template)
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Real)
	awaitActive(t, cluster, queues.Namespace, "train", 2, "real")

	cluster.Evict(t, workload, "Preempted")
	stopped := harness.AwaitStopped(t, cluster, queues.Namespace, "train")
	if after := harness.ToJSON(t, stopped.Spec.Template); after != before {
		t.Errorf("its template was\n%s\nand is now\n%s", before, after)
	}
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has given its quota back and is queued again",
		harness.Released, harness.HasCondition("Requeued", "True", "Preempted"), harness.HasCondition("Evicted", "True", "Preempted"))

	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 2, "hollow")
	endsAndIsLetGo(t, cluster, queues)
	timeline.Check(t)
}

func evictedJobSetStartsElsewhere(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	made := cluster.CreateJobSet(t, queues.Namespace, twoReplicatedJobs())
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Real)
	cluster.WaitForJobSetPods(t, queues.Namespace, "train", 5, time.Minute, "running on the real node", func(pod *corev1.Pod) bool {
		return harness.IsRunning(pod) && pod.Spec.NodeSelector[harness.NodeLabel] == "real"
	})

	cluster.Evict(t, workload, "Preempted")
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has given its quota back and is queued again",
		harness.Released, harness.HasCondition("Requeued", "True", "Preempted"))
	stopped := cluster.WaitForJobSet(t, queues.Namespace, "train", time.Minute, "suspended", harness.FieldIs(true, "spec", "suspend"))
	if before, after := harness.ToJSON(t, made.Object["spec"]), harness.ToJSON(t, stopped.Object["spec"]); before != after {
		t.Errorf("it was\n%s\nand is now\n%s", before, after)
	}

	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	cluster.WaitForJobSetPods(t, queues.Namespace, "train", 5, time.Minute, "running on hollow nodes", func(pod *corev1.Pod) bool {
		return harness.IsRunning(pod) && pod.Spec.NodeSelector[harness.NodeLabel] == "hollow"
	})
	endsAndIsLetGo(t, cluster, queues)
	timeline.Check(t)
}

func deactivatedJobWaits(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")

	cluster.SetActive(t, workload, false)
	harness.AwaitStopped(t, cluster, queues.Namespace, "train")
	cluster.WaitForWorkload(t, queues.Namespace, "train", "is out of the queue", harness.Released,
		harness.HasCondition("Evicted", "True", "Deactivated"), harness.HasCondition("Requeued", "False", "Deactivated"),
		harness.HasCondition("QuotaReserved", "False", "Deactivated"))
	cluster.SetActive(t, workload, true)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "may come again", harness.HasCondition("Requeued", "True", "Reactivated"))
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	timeline.Check(t)
}

func contradictionFailsToStart(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := harness.QueuedJob("train", 1)
	job.Spec.Template.Spec.NodeSelector = map[string]string{harness.NodeLabel: "real"}
	cluster.CreateJob(t, queues.Namespace, job)
	cluster.Admit(t, cluster.WaitForWorkload(t, queues.Namespace, "train", "is there"), queues.ClusterQueue, queues.Hollow)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "ends and is let go",
		harness.HasCondition("Finished", "True", "FailedToStart"), harness.LetGo)
	if !harness.Suspended(harness.GetJob(t, cluster, queues.Namespace, "train")) {
		t.Error("its Job was started")
	}
	timeline.Check(t)
}
