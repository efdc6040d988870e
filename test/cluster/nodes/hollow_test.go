package nodes

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

func TestHollowNodesRunAJob(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.HollowJob("fifty", 50)
	job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: "0"}

	cluster.CreateJob(t, namespace, job)
	cluster.WaitForPods(t, namespace, "fifty", 50, time.Minute, "succeeded", harness.Phase(corev1.PodSucceeded))
	cluster.WaitForJob(t, namespace, "fifty", time.Minute, batchv1.JobComplete)
}

func TestHollowPodEndsAsAnnotated(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.HollowJob("failing", 1)
	job.Spec.BackoffLimit = new(int32)
	job.Spec.Template.Annotations = map[string]string{harness.HollowRunSeconds: "1", harness.HollowExitCode: "3"}

	cluster.CreateJob(t, namespace, job)
	pod := cluster.WaitForPods(t, namespace, "failing", 1, time.Minute, "failed", harness.Phase(corev1.PodFailed))[0]
	if code := harness.ExitCode(t, &pod, "main"); code != 3 {
		t.Errorf("exit code %d", code)
	}
	cluster.WaitForJob(t, namespace, "failing", time.Minute, batchv1.JobFailed)
}

func TestHollowPodsKeepTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	for key, end := range barrierEnds {
		t.Run(key, func(t *testing.T) {
			namespace := cluster.Namespace(t, nil)
			job := harness.HollowJob("gang", end.pods)
			job.Spec.BackoffLimit = new(int32)
			harness.AddWaiter(&job.Spec.Template, "gate")
			cluster.CreateJob(t, namespace, job)
			pods := cluster.WaitForPods(t, namespace, "gang", int(end.pods), time.Minute, "waiting", harness.WaiterRuns)

			harness.WriteDecision(t, cluster, namespace, "gate", map[string]string{key: harness.WaiterToken})
			harness.NudgePods(t, cluster, namespace, pods)
			for _, pod := range cluster.WaitForPods(t, namespace, "gang", int(end.pods), time.Minute, "past the barrier", end.reached) {
				if code := harness.ExitCode(t, &pod, harness.BarrierContainer); code != end.exitCode {
					t.Errorf("the waiter of %s ended with %d", pod.Name, code)
				}
				if ran := !harness.StartedAt(&pod, "main").IsZero(); ran != (end.exitCode == 0) {
					t.Errorf("the main container of %s ran: %t", pod.Name, ran)
				}
			}
		})
	}
}

func TestDeletedHollowPodIsReplacedAndWaits(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.HollowJob("gang", 2)
	harness.AddWaiter(&job.Spec.Template, "gate")
	cluster.CreateJob(t, namespace, job)
	first := cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "waiting", harness.WaiterRuns)[0]

	harness.Must(t, cluster.Client.CoreV1().Pods(namespace).Delete(harness.Context(t), first.Name, metav1.DeleteOptions{}))
	cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "waiting, the deleted one not among them", func(pod *corev1.Pod) bool {
		return harness.WaiterRuns(pod) && pod.UID != first.UID
	})
}
