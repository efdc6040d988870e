package harness

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const jobNameLabel = "batch.kubernetes.io/job-name"

// PodsOfJob lists the pods of a Job.
func (c *Cluster) PodsOfJob(t testing.TB, namespace, job string) []corev1.Pod {
	t.Helper()
	pods, err := c.podsWith(namespace, jobNameLabel, job)
	if err != nil {
		t.Fatalf("listing the pods of %s: %v", job, err)
	}
	return pods
}

// podsWith lists pods by a label; polling must not end at the first error.
func (c *Cluster) podsWith(namespace, label, value string) ([]corev1.Pod, error) {
	list, err := c.Client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{LabelSelector: label + "=" + value})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// WaitForPods waits until a Job has exactly this number of pods that satisfy the condition, and returns them.
func (c *Cluster) WaitForPods(t testing.TB, namespace, job string, count int, within time.Duration, what string,
	condition func(*corev1.Pod) bool) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	Eventually(t, within, fmt.Sprintf("%d pods of %s: %s", count, job, what), func() error {
		all, err := c.podsWith(namespace, jobNameLabel, job)
		if err != nil {
			return err
		}
		pods = slices.DeleteFunc(slices.Clone(all), func(pod corev1.Pod) bool { return !condition(&pod) })
		if len(pods) != count {
			return fmt.Errorf("%d of %d pods; %s", len(pods), len(all), describe(all))
		}
		return nil
	})
	return pods
}

// WaitForPod is WaitForPods for one pod by its name.
func (c *Cluster) WaitForPod(t testing.TB, namespace, name string, within time.Duration, what string,
	condition func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	Eventually(t, within, "pod "+name+": "+what, func() error {
		var err error
		pod, err = c.Client.CoreV1().Pods(namespace).Get(Context(t), name, metav1.GetOptions{})
		if err == nil && !condition(pod) {
			err = fmt.Errorf("%s", describe([]corev1.Pod{*pod}))
		}
		return err
	})
	return pod
}

// Phase is a condition for the two above.
func Phase(phase corev1.PodPhase) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return pod.Status.Phase == phase }
}

// WaiterRuns is true while the start barrier holds the pod: the waiter has
// started and not ended.
func WaiterRuns(pod *corev1.Pod) bool {
	waiter := ContainerStatus(pod, BarrierContainer)
	return waiter != nil && waiter.State.Running != nil
}

// ContainerStatus is the status of a container or init container; nil before the
// node has reported one.
func ContainerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// StartedAt is when a container began to run, also if it has ended since; the
// zero time if it never ran. Nodes report it in whole seconds.
func StartedAt(pod *corev1.Pod, container string) time.Time {
	status := ContainerStatus(pod, container)
	switch {
	case status == nil:
		return time.Time{}
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// ExitCode is that of a container that has ended.
func ExitCode(t testing.TB, pod *corev1.Pod, container string) int32 {
	t.Helper()
	status := ContainerStatus(pod, container)
	if status == nil || status.State.Terminated == nil {
		t.Fatalf("%s of %s has not ended: %s", container, pod.Name, describe([]corev1.Pod{*pod}))
	}
	return status.State.Terminated.ExitCode
}

// describe gives the reason in a few lines why pods do not have the expected state.
func describe(pods []corev1.Pod) string {
	text := ""
	for i, pod := range pods {
		if i == 5 {
			return text + fmt.Sprintf("\n  and %d more", len(pods)-i)
		}
		text += fmt.Sprintf("\n  %s on %q is %s %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.Message)
		for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for _, status := range list {
				switch {
				case status.State.Waiting != nil:
					text += fmt.Sprintf("; %s waits: %s %s", status.Name, status.State.Waiting.Reason, status.State.Waiting.Message)
				case status.State.Running != nil:
					text += fmt.Sprintf("; %s runs", status.Name)
				case status.State.Terminated != nil:
					text += fmt.Sprintf("; %s ended with %d", status.Name, status.State.Terminated.ExitCode)
				}
			}
		}
	}
	return text
}
