package queues

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// What users can ask of a queued Job beside its pods, and change later.
var wishesOfUsers = []harness.Behaviour{
	{Name: "a Job that was partially admitted runs with fewer pods and asks for all again", Run: partialAdmission},
	{Name: "a Job takes the Workload that its user has made", Run: prebuiltWorkload},
	{Name: "a prebuilt Workload of another shape ends out of sync", Run: prebuiltOutOfSync},
	{Name: "a waiting Job moves to another queue and a running one does not", Run: queueChange},
	{Name: "a Workload follows the priority class of its Job", Run: priorityChange},
	{Name: "a Job whose priority class is missing waits for it", Run: priorityClassMissing},
	{Name: "a Job that runs for too long is deactivated", Run: maximumExecutionTime},
}

func partialAdmission(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := harness.QueuedJob("train", 3)
	job.Annotations = map[string]string{harness.MinParallelism: "1"}
	cluster.CreateJob(t, queues.Namespace, job)
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "says how few will do", func(workload *unstructured.Unstructured) error {
		if text := harness.ToJSON(t, workload.Object["spec"]); !strings.Contains(text, `"minCount":1`) {
			return fmt.Errorf("its spec is %s", text)
		}
		return nil
	})
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow, 2)
	awaitActive(t, cluster, queues.Namespace, "train", 2, "hollow")
	if parallelism := *harness.GetJob(t, cluster, queues.Namespace, "train").Spec.Parallelism; parallelism != 2 {
		t.Errorf("its parallelism is %d", parallelism)
	}
	cluster.Evict(t, workload, "Preempted")
	if parallelism := *harness.AwaitStopped(t, cluster, queues.Namespace, "train").Spec.Parallelism; parallelism != 3 {
		t.Errorf("after its eviction its parallelism is %d", parallelism)
	}
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has given its quota back", harness.Released)
	timeline.Check(t)
}

// prebuilt makes a Workload for a Job that does not exist yet.
func prebuilt(t *testing.T, cluster *harness.Cluster, namespace, name string, job *batchv1.Job, count int64) {
	t.Helper()
	// The API server's defaults are part of what has to agree.
	like, err := cluster.Client.BatchV1().Jobs(namespace).Create(harness.Context(t), renamed(job), harness.DryRun)
	harness.Must(t, err)
	podSpec := harness.ParseObject(t, harness.ToJSON(t, map[string]any{"spec": like.Spec.Template.Spec})).Object["spec"]
	cluster.Create(t, harness.Workloads, namespace, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": harness.Workloads.GroupVersion().String(), "kind": "Workload",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"queueName": harness.LocalQueueName, "priority": int64(0),
			"podSets": []any{map[string]any{"name": "main", "count": count, "template": map[string]any{"spec": podSpec}}},
		},
	}})
}

// renamed is a Job like that which can be made although that is there.
func renamed(job *batchv1.Job) *batchv1.Job {
	other := job.DeepCopy()
	other.Name += "-like"
	return other
}

func prebuiltWorkload(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := harness.QueuedJob("train", 1)
	prebuilt(t, cluster, queues.Namespace, "mine", job, 1)
	job.Annotations = map[string]string{harness.PrebuiltAnnotation: "mine"}
	made := cluster.CreateJob(t, queues.Namespace, job)
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is the one that was there", harness.FieldIs("mine", "metadata", "name"))
	if controller := metav1.GetControllerOf(workload); controller.UID != made.UID {
		t.Errorf("its controller is %+v", controller)
	}
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	endsAndIsLetGo(t, cluster, queues)
	timeline.Check(t)
}

func prebuiltOutOfSync(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	job := harness.QueuedJob("train", 1)
	job.Annotations = map[string]string{harness.PrebuiltAnnotation: "mine"}
	cluster.CreateJob(t, queues.Namespace, job)
	prebuilt(t, cluster, queues.Namespace, "mine", harness.QueuedJob("train", 1), 2)
	cluster.AwaitWorkload(t, queues.Namespace, "mine", "is out of sync and let go",
		harness.HasCondition("Finished", "True", "OutOfSync"), harness.LetGo)
	if !harness.Suspended(harness.GetJob(t, cluster, queues.Namespace, "train")) {
		t.Error("its Job was started")
	}
	cluster.WaitForEvent(t, queues.Namespace, "train", "PrebuiltWorkloadOutOfSync", "spec.podSets[0].count is 2, and the job's is 1")
}

func queueChange(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.Create(t, harness.LocalQueues, queues.Namespace, harness.LocalQueueOf("other", queues.ClusterQueue))
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there", harness.FieldIs(harness.LocalQueueName, "spec", "queueName"))
	harness.Must(t, harness.PatchJob(t, cluster, queues.Namespace, "train", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"other"}}}`))
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has moved", harness.FieldIs("other", "spec", "queueName"),
		harness.FieldIs(workload.GetUID(), "metadata", "uid"))
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	err := harness.PatchJob(t, cluster, queues.Namespace, "train", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"queue"}}}`)
	if err == nil || !strings.Contains(err.Error(), "queue-name") {
		t.Errorf("a running Job may go to another queue: %v", err)
	}
}

func priorityChange(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	low, high := queues.Namespace+"-low", queues.Namespace+"-high"
	cluster.CreatePriorityClass(t, low, 10)
	cluster.CreatePriorityClass(t, high, 100)
	job := harness.QueuedJob("train", 1)
	job.Labels[harness.PriorityLabel] = low
	cluster.CreateJob(t, queues.Namespace, job)
	has := func(class string, value int64) func(*unstructured.Unstructured) error {
		return func(workload *unstructured.Unstructured) error {
			if err := harness.FieldIs(class, "spec", "priorityClassRef", "name")(workload); err != nil {
				return err
			}
			return harness.FieldIs(value, "spec", "priority")(workload)
		}
	}
	relabel := func(class string) error {
		return harness.PatchJob(t, cluster, queues.Namespace, "train", fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, harness.PriorityLabel, class))
	}
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "has the low priority", has(low, 10))
	harness.Must(t, relabel(high))
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has the high priority", has(high, 100), harness.FieldIs(workload.GetUID(), "metadata", "uid"))
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	harness.Must(t, relabel(low))
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has the low priority while it runs", has(low, 10), harness.HasCondition("Admitted", "True", ""))
}

func priorityClassMissing(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	class := queues.Namespace + "-later"
	job := harness.QueuedJob("train", 1)
	job.Labels[harness.PriorityLabel] = class
	cluster.CreateJob(t, queues.Namespace, job)
	cluster.WaitForEvent(t, queues.Namespace, "train", "WorkloadPriorityClassNotFound", class)
	cluster.CreatePriorityClass(t, class, 5)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "is made with it", harness.FieldIs(5, "spec", "priority"))
}

func maximumExecutionTime(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	job := harness.QueuedJob("train", 1)
	job.Labels[harness.MaxExecTimeLabel] = "2"
	cluster.CreateJob(t, queues.Namespace, job)
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "knows it", harness.FieldIs(2, "spec", "maximumExecutionTimeSeconds"))
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "is deactivated", harness.FieldIs(false, "spec", "active"),
		harness.HasCondition("Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded"), harness.Released)
	harness.AwaitStopped(t, cluster, queues.Namespace, "train")
	timeline.Check(t)
}
