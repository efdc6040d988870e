package queues

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Jobs that say nothing of queues, where a namespace has a default one and where all are
// managed; from their creation to their start.

func unlabelled(job *batchv1.Job) *batchv1.Job {
	job.Labels = nil
	return job
}

const managedJobs = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {muster-test: managed}}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}
`

func TestJobsThatNameNoQueueRunThroughOne(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t, "--config", harness.WriteFile(t, "config.yaml", managedJobs))
	managed := map[string]string{"muster-test": "managed"}
	t.Run("the default one, with the default priority", func(t *testing.T) {
		defaultQueue(t, cluster, cluster.QueuesIn(t, cluster.Namespace(t, managed)))
	})
	t.Run("one that their users name later, where all jobs are managed", func(t *testing.T) {
		queueNamedLater(t, cluster, cluster.QueuesIn(t, cluster.Namespace(t, managed)))
	})
}

func defaultQueue(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreatePriorityClass(t, "default", 7)
	cluster.Create(t, harness.LocalQueues, queues.Namespace, harness.LocalQueueOf("default", queues.ClusterQueue))
	becomes(t, cluster, queues.Namespace, "the Job gets the queue and the priority", func(job *batchv1.Job) bool {
		return harness.Suspended(job) && job.Labels[harness.QueueLabel] == "default" && job.Labels[harness.PriorityLabel] == "default"
	})
	cluster.CreateJob(t, queues.Namespace, unlabelled(harness.QueuedJob("train", 1)))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is in the default queue with the default priority",
		harness.FieldIs("default", "spec", "queueName"), harness.FieldIs(7, "spec", "priority"))
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
}

func queueNamedLater(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	becomes(t, cluster, queues.Namespace, "the Job is suspended", harness.Suspended)
	cluster.CreateJob(t, queues.Namespace, unlabelled(harness.QueuedJob("train", 1)))
	jobSet := harness.QueuedJobSet("group", harness.ReplicatedJob{Name: "a", Template: harness.FlavoredPod()})
	jobSet.SetLabels(nil)
	cluster.CreateJobSet(t, queues.Namespace, jobSet)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has no queue", harness.FieldIs(nil, "spec", "queueName"))
	cluster.WaitForWorkload(t, queues.Namespace, "group", "has no queue", harness.FieldIs(nil, "spec", "queueName"))

	harness.Must(t, harness.PatchJob(t, cluster, queues.Namespace, "train",
		fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, harness.QueueLabel, harness.LocalQueueName)))
	cluster.PatchJobSet(t, queues.Namespace, "group", fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, harness.QueueLabel, harness.LocalQueueName))
	for _, name := range []string{"train", "group"} {
		workload := cluster.WaitForWorkload(t, queues.Namespace, name, "is in the queue", harness.FieldIs(harness.LocalQueueName, "spec", "queueName"))
		cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	}
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	awaitActive(t, cluster, queues.Namespace, "group-a-0", 1, "hollow")
	list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(queues.Namespace).List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	if len(list.Items) != 2 {
		t.Errorf("%d Workloads: the Jobs of a managed JobSet have none of their own", len(list.Items))
	}
}
