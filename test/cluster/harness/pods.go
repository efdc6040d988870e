package harness

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// OneCPU is a pod on a hollow node that asks for a cpu and runs until it is deleted.
func OneCPU() corev1.PodTemplateSpec {
	template := HollowPod(-1, 0)
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	return template
}

// ClaimPolicy is one of spec.volumeClaimPolicies. Without a class, no volume is found for the claim.
func ClaimPolicy(name, whenDeleted string, class any) map[string]any {
	spec := map[string]any{"accessModes": []any{"ReadWriteOnce"},
		"resources": map[string]any{"requests": map[string]any{"storage": "1Mi"}}}
	if class != nil {
		spec["storageClassName"] = class
	}
	return map[string]any{"retentionPolicy": map[string]any{"whenDeleted": whenDeleted},
		"templates": []any{map[string]any{"metadata": map[string]any{"name": name}, "spec": spec}}}
}

// Mounting is a copy of a template whose main container mounts these volumes.
func Mounting(template corev1.PodTemplateSpec, volumes ...string) corev1.PodTemplateSpec {
	template = *template.DeepCopy()
	for _, volume := range volumes {
		main := &template.Spec.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + volume})
	}
	return template
}

// AwaitClaim waits until there is a claim of that name.
func AwaitClaim(t *testing.T, cluster *Cluster, namespace, name string) (claim *corev1.PersistentVolumeClaim) {
	t.Helper()
	Eventually(t, time.Minute, "claim "+name, func() (err error) {
		claim, err = cluster.Client.CoreV1().PersistentVolumeClaims(namespace).Get(Context(t), name, metav1.GetOptions{})
		return err
	})
	return claim
}

// IsRunning is whether a pod runs.
func IsRunning(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }

// SharedFolder is where pods find the folder of ShareFolder.
const SharedFolder = "/shared"

// ShareFolder gives the pods a folder of this machine, at SharedFolder, and returns its path.
func ShareFolder(t *testing.T, spec *corev1.PodSpec) string {
	t.Helper()
	folder, kind := t.TempDir(), corev1.HostPathDirectory
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "shared", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: &kind},
	}})
	main := &spec.Containers[0]
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "shared", MountPath: SharedFolder})
	return folder
}

// InPodGroup puts a pod into a group of that size.
func InPodGroup(pod *corev1.Pod, group string, total int) *corev1.Pod {
	pod.Labels["kueue.x-k8s.io/pod-group-name"] = group
	pod.Annotations["kueue.x-k8s.io/pod-group-total-count"] = fmt.Sprint(total)
	return pod
}

// IsGated is whether a pod waits for its scheduling gates.
func IsGated(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

// ActivePods have not ended, and are not deleted.
func ActivePods(t *testing.T, cluster *Cluster, namespace, job string) (active int) {
	t.Helper()
	for _, pod := range cluster.PodsOfJob(t, namespace, job) {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			active++
		}
	}
	return active
}

// ServingTemplate is of pods that ask for so much and run until they are deleted.
func ServingTemplate(cpu string) corev1.PodTemplateSpec {
	spec := RealPod("sleep 600").Spec
	spec.RestartPolicy = corev1.RestartPolicyAlways
	spec.NodeSelector, spec.Tolerations = nil, nil
	spec.TerminationGracePeriodSeconds = new(int64)
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "srv"}}, Spec: spec}
}
