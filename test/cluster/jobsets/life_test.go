package jobsets

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// muster is the JobSet controller here, beside the real Job controller; the pods
// live on hollow nodes.

func TestJobSetRunsToItsEnd(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "driver", Template: harness.HollowPod(1, 0)},
		harness.ReplicatedJob{Name: "workers", Replicas: 2, Pods: 2, Template: harness.HollowPod(1, 0)}))

	done := cluster.WaitForJobSet(t, namespace, "train", time.Minute, "completed", harness.HasCondition("Completed", "True", "AllJobsCompleted"))
	if state, _, _ := unstructured.NestedString(done.Object, "status", "terminalState"); state != "Completed" {
		t.Errorf("its terminal state is %q", state)
	}
	jobs, err := cluster.Client.BatchV1().Jobs(namespace).List(harness.Context(t), metav1.ListOptions{LabelSelector: harness.JobSetNameLabel + "=train"})
	harness.Must(t, err)
	if len(jobs.Items) != 3 {
		t.Errorf("it had %d Jobs", len(jobs.Items))
	}
	service, err := cluster.Client.CoreV1().Services(namespace).Get(harness.Context(t), "train", metav1.GetOptions{})
	harness.Must(t, err)
	if service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
		t.Errorf("its Service is %+v", service.Spec)
	}
}

func TestJobSetPodsCanBeFoundByName(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.HollowPod(-1, 0)}))
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "running", harness.IsRunning)
	for _, pod := range pods {
		index := pod.Annotations["batch.kubernetes.io/job-completion-index"]
		if want := "train-workers-0-" + index; pod.Spec.Hostname != want || pod.Spec.Subdomain != "train" {
			t.Errorf("%s answers to %s.%s, not %s.train", pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain, want)
		}
	}
	// What the cluster's DNS serves.
	harness.Eventually(t, 20*time.Second, "both pods behind the Service", func() error {
		slices, err := cluster.Client.DiscoveryV1().EndpointSlices(namespace).List(harness.Context(t), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=train"})
		if err != nil {
			return err
		}
		count := 0
		for _, slice := range slices.Items {
			count += len(slice.Endpoints)
		}
		if count != 2 {
			return fmt.Errorf("%d endpoints", count)
		}
		return nil
	})
}

func TestFailedJobSetIsRestartedAndThenFails(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "workers", Template: harness.HollowPod(0, 3)})
	harness.Set(jobSet, map[string]any{"maxRestarts": int64(1)}, "spec", "failurePolicy")
	cluster.CreateJobSet(t, namespace, jobSet)

	failed := cluster.WaitForJobSet(t, namespace, "train", time.Minute, "failed", harness.HasCondition("Failed", "True", "ReachedMaxRestarts"))
	if restarts, _, _ := unstructured.NestedInt64(failed.Object, "status", "restarts"); restarts != 1 {
		t.Errorf("%d restarts", restarts)
	}
	jobs, err := cluster.Client.BatchV1().Jobs(namespace).List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	for _, job := range jobs.Items {
		if job.Labels[harness.RestartAttemptLabel] != "1" && job.DeletionTimestamp == nil {
			t.Errorf("%s of attempt %q is still there", job.Name, job.Labels[harness.RestartAttemptLabel])
		}
	}
}

func TestJobSetIsSuspendedAndResumed(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.HollowPod(-1, 0)})
	harness.Set(jobSet, true, "spec", "suspend")
	cluster.CreateJobSet(t, namespace, jobSet)
	cluster.WaitForJobSet(t, namespace, "train", time.Minute, "suspended", harness.HasCondition("Suspended", "True", ""))

	for round := range 2 {
		// A template can change while the JobSet is suspended; its pods show it.
		wave := fmt.Sprint("wave-", round)
		cluster.WaitForJobSet(t, namespace, "train", time.Minute, "resumed with another template", func(templates *unstructured.Unstructured) error {
			jobs, _, _ := unstructured.NestedSlice(templates.Object, "spec", "replicatedJobs")
			harness.Must(t, unstructured.SetNestedField(jobs[0].(map[string]any), wave, "template", "spec", "template", "metadata", "labels", "wave"))
			harness.Set(templates, jobs, "spec", "replicatedJobs")
			harness.Set(templates, false, "spec", "suspend")
			_, err := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Update(harness.Context(t), templates, metav1.UpdateOptions{})
			return err // a conflict: muster has written its status
		})
		cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "running in the new wave", func(pod *corev1.Pod) bool {
			return harness.IsRunning(pod) && pod.Labels["wave"] == wave
		})
		cluster.PatchJobSet(t, namespace, "train", `{"spec":{"suspend":true}}`)
		cluster.WaitForJobSet(t, namespace, "train", time.Minute, "suspended", harness.HasCondition("Suspended", "True", ""))
		cluster.WaitForNoPods(t, namespace, "train")
	}
}

func TestReplicatedJobsStartInOrder(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	for name, prepare := range map[string]func() *unstructured.Unstructured{
		"startup policy": func() *unstructured.Unstructured {
			jobSet := harness.JobSetOf("train",
				harness.ReplicatedJob{Name: "first", Template: harness.HollowPod(-1, 0)},
				harness.ReplicatedJob{Name: "second", Template: harness.HollowPod(1, 0)})
			harness.Set(jobSet, "InOrder", "spec", "startupPolicy", "startupPolicyOrder")
			return jobSet
		},
		"dependsOn Ready": func() *unstructured.Unstructured {
			return harness.JobSetOf("train",
				harness.ReplicatedJob{Name: "first", Template: harness.HollowPod(-1, 0)},
				harness.ReplicatedJob{Name: "second", Template: harness.HollowPod(1, 0), Extra: map[string]any{
					"dependsOn": []any{map[string]any{"name": "first", "status": "Ready"}}}})
		},
		"dependsOn Complete": func() *unstructured.Unstructured {
			return harness.JobSetOf("train",
				harness.ReplicatedJob{Name: "first", Template: harness.HollowPod(1, 0)},
				harness.ReplicatedJob{Name: "second", Template: harness.HollowPod(1, 0), Extra: map[string]any{
					"dependsOn": []any{map[string]any{"name": "first", "status": "Complete"}}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := cluster.Namespace(t, nil)
			cluster.CreateJobSet(t, namespace, prepare())
			second := cluster.WaitForPods(t, namespace, "train-second-0", 1, time.Minute, "started", harness.MainStarted)[0]
			first := cluster.PodsOfJob(t, namespace, "train-first-0")
			if len(first) != 1 {
				t.Fatalf("%d pods of the first", len(first))
			}
			if second.CreationTimestamp.Time.Before(harness.StartedAt(&first[0], "main")) {
				t.Errorf("the second was made at %s, the first ran from %s", second.CreationTimestamp, harness.StartedAt(&first[0], "main"))
			}
		})
	}
}

func TestFinishedJobSetIsDeletedInTime(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "workers", Template: harness.HollowPod(0, 0)})
	harness.Set(jobSet, int64(1), "spec", "ttlSecondsAfterFinished")
	cluster.CreateJobSet(t, namespace, jobSet)
	harness.AwaitNothingLeft(t, cluster, namespace, "train")
}

func TestDeletedJobSetLeavesNothing(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native", "--waiter-image", harness.MusterImage)
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.HollowPod(-1, 0)})
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(jobSet, 300))
	cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "running", harness.IsRunning)
	harness.Must(t, cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Delete(harness.Context(t), "train", metav1.DeleteOptions{}))
	harness.AwaitNothingLeft(t, cluster, namespace, "train")
}
