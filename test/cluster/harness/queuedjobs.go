package harness

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// QueuedJob asks for this many pods, one cpu each, that run until they are ended.
func QueuedJob(name string, pods int32) *batchv1.Job {
	job := Job(name, Queue(LocalQueueName))
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &pods, &pods, new(int32)
	job.Spec.Template = FlavoredPod()
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	return job
}

// StartQueueMuster starts muster as the JobSet controller. Here it is the same user as
// the tests, so it is named as one who can start queued jobs.
func StartQueueMuster(t *testing.T, flags ...string) *Muster {
	t.Helper()
	return StartMuster(t, append([]string{"--jobset-controller", "native"}, flags...)...)
}

// QueuedJobSet is a JobSet in the queue of the namespace.
func QueuedJobSet(name string, replicated ...ReplicatedJob) *unstructured.Unstructured {
	jobSet := JobSetOf(name, replicated...)
	jobSet.SetLabels(Queue(LocalQueueName))
	return jobSet
}

// Behaviour is one thing that muster does for a job; all of a table share one muster
// and run side by side.
type Behaviour struct {
	Name string
	Run  func(*testing.T, *Cluster, Queues)
}

// RunBehaviours runs a table of them, each in a namespace with a queue.
func RunBehaviours(t *testing.T, cluster *Cluster, behaviours []Behaviour) {
	for _, each := range behaviours {
		t.Run(each.Name, func(t *testing.T) {
			t.Parallel()
			each.Run(t, cluster, cluster.Queues(t))
		})
	}
}
