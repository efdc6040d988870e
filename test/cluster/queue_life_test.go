package cluster

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Jobs as Workloads. The tests do what a scheduler does: they write admissions and
// evictions into the status, in queues that are held.

// queuedJob asks for this many pods, one cpu each, that run until they are ended.
func queuedJob(name string, pods int32) *batchv1.Job {
	job := harness.Job(name, harness.Queue(harness.LocalQueueName))
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &pods, &pods, new(int32)
	job.Spec.Template = harness.FlavoredPod()
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	return job
}

// startQueueMuster starts muster as the JobSet controller. Here it is the same user as
// the tests, so it is named as one who can start queued jobs.
func startQueueMuster(t *testing.T, flags ...string) *harness.Muster {
	t.Helper()
	return harness.StartMuster(t, append([]string{"--jobset-controller", "native"}, flags...)...)
}

func queuedJobSet(name string, replicated ...harness.ReplicatedJob) *unstructured.Unstructured {
	jobSet := harness.JobSetOf(name, replicated...)
	jobSet.SetLabels(harness.Queue(harness.LocalQueueName))
	return jobSet
}

func getJob(t *testing.T, cluster *harness.Cluster, namespace, name string) *batchv1.Job {
	t.Helper()
	job, err := cluster.Client.BatchV1().Jobs(namespace).Get(harness.Context(t), name, metav1.GetOptions{})
	must(t, err)
	return job
}

// awaitStopped waits until a Job is suspended, no part of a stop is left to do and no
// pod of it runs.
func awaitStopped(t *testing.T, cluster *harness.Cluster, namespace, name string) *batchv1.Job {
	t.Helper()
	var job *batchv1.Job
	harness.Eventually(t, time.Minute, name+" is stopped", func() error {
		var err error
		if job, err = cluster.Client.BatchV1().Jobs(namespace).Get(context.Background(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		if _, stopping := job.Annotations[harness.StoppingAnnotation]; stopping || !suspended(job) || job.Status.Active > 0 || job.Status.StartTime != nil {
			return fmt.Errorf("suspend %v, annotations %v, active %d, start time %v", suspended(job), job.Annotations, job.Status.Active, job.Status.StartTime)
		}
		return nil
	})
	return job
}

func awaitActive(t *testing.T, cluster *harness.Cluster, namespace, name string, pods int, on string) {
	t.Helper()
	cluster.WaitForPods(t, namespace, name, pods, time.Minute, "running on a "+on+" node", func(pod *corev1.Pod) bool {
		return isRunning(pod) && pod.DeletionTimestamp == nil && pod.Spec.NodeSelector[harness.NodeLabel] == on
	})
}

// behaviour is one thing that muster does for a job; all of a table share one muster
// and run side by side.
type behaviour struct {
	name string
	run  func(*testing.T, *harness.Cluster, harness.Queues)
}

func runBehaviours(t *testing.T, cluster *harness.Cluster, behaviours []behaviour) {
	for _, each := range behaviours {
		t.Run(each.name, func(t *testing.T) {
			t.Parallel()
			each.run(t, cluster, cluster.Queues(t))
		})
	}
}

// All of it in one muster and side by side: most of the time of each is waiting for pods.
func TestQueuedJobsLiveAsWorkloads(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	cluster.RealNode(t)
	startQueueMuster(t)
	runBehaviours(t, cluster, slices.Concat(livesOfJobs, wishesOfUsers, badHands, deletedQueueObjects))
}

var livesOfJobs = []behaviour{
	{"a Job starts when its Workload is admitted and lets it go when it is done", jobRunsThroughItsWorkload},
	{"a Job that fails has a failed Workload", jobFailsWithItsWorkload},
	{"a JobSet has a pod set for each replicated job and one Workload in all", jobSetRunsThroughItsWorkload},
	{"an evicted Job gives back all it was given and starts on another flavor", evictedJobStartsElsewhere},
	{"an evicted JobSet gives back all it was given and starts on another flavor", evictedJobSetStartsElsewhere},
	{"a deactivated Job is stopped and a reactivated one may come again", deactivatedJobWaits},
	{"a Workload whose node labels contradict its Job never starts it", contradictionFailsToStart},
	{"queues and Workloads show the columns that Kueue's users know", columns},
}

var workloadName = regexp.MustCompile(`^job-train-[0-9a-f]{5}$`)

func jobRunsThroughItsWorkload(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := cluster.CreateJob(t, queues.Namespace, queuedJob("train", 2))
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
	started := getJob(t, cluster, queues.Namespace, "train")
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
	cluster.CreateJob(t, queues.Namespace, queuedJob("train", 1))
	cluster.Admit(t, cluster.WaitForWorkload(t, queues.Namespace, "train", "is there"), queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	cluster.EndHollowPods(t, queues.Namespace, 3)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has failed and is let go",
		harness.HasCondition("Finished", "True", "Failed"), harness.LetGo)
}

func twoReplicatedJobs() *unstructured.Unstructured {
	return queuedJobSet("train",
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
	cluster.WaitForJobSetPods(t, queues.Namespace, "train", 5, time.Minute, "running", isRunning)
	// The manifest has neither the labels nor the node selector of the admission: they stay all the same.
	running := kubectlGet(t, cluster, queues.Namespace, "jobset", "train")
	cluster.Kubectl(t, manifest, "apply", "-n", queues.Namespace, "-f", "-")
	again := kubectlGet(t, cluster, queues.Namespace, "jobset", "train")
	if running.GetGeneration() != again.GetGeneration() {
		t.Errorf("applied again, it changed from\n%s\nto\n%s", essence(t, running), essence(t, again))
	}
	list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(queues.Namespace).List(harness.Context(t), metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("%d Workloads: the Jobs of a JobSet have none of their own", len(list.Items))
	}
	cluster.EndHollowPods(t, queues.Namespace, 0)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has finished and is let go",
		harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo)
	timeline.Check(t)
}

func evictedJobStartsElsewhere(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := queuedJob("train", 2)
	job.Spec.Template.Labels = map[string]string{"mine": "stays"}
	before := harness.ToJSON(t, cluster.CreateJob(t, queues.Namespace, job).Spec.Template)
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Real)
	awaitActive(t, cluster, queues.Namespace, "train", 2, "real")

	cluster.Evict(t, workload, "Preempted")
	stopped := awaitStopped(t, cluster, queues.Namespace, "train")
	if after := harness.ToJSON(t, stopped.Spec.Template); after != before {
		t.Errorf("its template was\n%s\nand is now\n%s", before, after)
	}
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has given its quota back and is queued again",
		harness.Released, harness.HasCondition("Requeued", "True", "Preempted"), harness.HasCondition("Evicted", "True", "Preempted"))

	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 2, "hollow")
	cluster.EndHollowPods(t, queues.Namespace, 0)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has finished and is let go",
		harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo)
	timeline.Check(t)
}

func evictedJobSetStartsElsewhere(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	made := cluster.CreateJobSet(t, queues.Namespace, twoReplicatedJobs())
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Real)
	cluster.WaitForJobSetPods(t, queues.Namespace, "train", 5, time.Minute, "running on the real node", func(pod *corev1.Pod) bool {
		return isRunning(pod) && pod.Spec.NodeSelector[harness.NodeLabel] == "real"
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
		return isRunning(pod) && pod.Spec.NodeSelector[harness.NodeLabel] == "hollow"
	})
	cluster.EndHollowPods(t, queues.Namespace, 0)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has finished and is let go",
		harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo)
	timeline.Check(t)
}

func deactivatedJobWaits(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	cluster.CreateJob(t, queues.Namespace, queuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")

	cluster.SetActive(t, workload, false)
	awaitStopped(t, cluster, queues.Namespace, "train")
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
	job := queuedJob("train", 1)
	job.Spec.Template.Spec.NodeSelector = map[string]string{harness.NodeLabel: "real"}
	cluster.CreateJob(t, queues.Namespace, job)
	cluster.Admit(t, cluster.WaitForWorkload(t, queues.Namespace, "train", "is there"), queues.ClusterQueue, queues.Hollow)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "ends and is let go",
		harness.HasCondition("Finished", "True", "FailedToStart"), harness.LetGo)
	if !suspended(getJob(t, cluster, queues.Namespace, "train")) {
		t.Error("its Job was started")
	}
	timeline.Check(t)
}
