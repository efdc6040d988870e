package gangs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"muster.batch/test/cluster/harness"
)

// What users can write does not open the barrier of a gang.

// forgedPod says of itself that it is a member of the same run as `member`.
func forgedPod(member *corev1.Pod, namespace string, owners []metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "fake", Namespace: namespace, Labels: member.Labels, Annotations: member.Annotations, OwnerReferences: owners,
	}}
	pod.Spec.SchedulerName = "nobody" // so that no kubelet says otherwise
	pod.Spec.Volumes = []corev1.Volume{{Name: "group-scheduling", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "train-group-scheduling"}, Optional: new(true),
	}}}}
	pod.Spec.InitContainers = []corev1.Container{{Name: harness.BarrierContainer, Image: "true"}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "true"}}
	return pod
}

// asJobController is a client for whom the webhook on pods is not called.
func asJobController(t *testing.T, cluster *harness.Cluster) kubernetes.Interface {
	t.Helper()
	return harness.Impersonate(t, cluster, "system:serviceaccount:kube-system:job-controller")
}

func TestPodsThatUsersMakeOpenNoBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
	namespace, evil := cluster.Namespace(t, nil), cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.RealPod("sleep 600"), namespace)}), 300))
	member := cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "waiting", harness.WaiterRuns)[0]

	for _, ns := range []string{namespace, evil} {
		_, err := cluster.Client.CoreV1().Pods(ns).Create(harness.Context(t), forgedPod(&member, ns, member.OwnerReferences), metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "only the Job controller makes those") {
			t.Errorf("a forged pod in %s: %v", ns, err)
		}
	}
	// A pod that is there already does not become a member, nor does a member become another's.
	plain := forgedPod(&member, namespace, nil)
	plain.Labels, plain.Annotations = nil, nil
	_, err := cluster.Client.CoreV1().Pods(namespace).Create(harness.Context(t), plain, metav1.CreateOptions{})
	harness.Must(t, err)
	for pod, patch := range map[string]string{
		"fake":      `{"metadata":{"labels":{"muster.batch/group-scheduling":"true"}}}`,
		member.Name: `{"metadata":{"annotations":{"batch.kubernetes.io/job-completion-index":"7"}}}`,
	} {
		_, err := cluster.Client.CoreV1().Pods(namespace).Patch(harness.Context(t), pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err == nil || !strings.Contains(err.Error(), "group that starts together") {
			t.Errorf("%s: %v", pod, err)
		}
	}
	harness.Must(t, cluster.Client.CoreV1().Pods(namespace).Delete(harness.Context(t), "fake", *metav1.NewDeleteOptions(0)))

	// And past the webhook: a passed pod of another namespace proves nothing. In the gang's own the Job
	// controller would adopt such a pod, by its labels; there the webhook prevents it.
	passed := `{"status":{"phase":"Running","initContainerStatuses":[{"name":"` + harness.BarrierContainer + `","image":"true","imageID":"",
		"ready":true,"restartCount":0,"state":{"terminated":{"exitCode":0,"startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:00:01Z"}}}]}}`
	_, err = asJobController(t, cluster).CoreV1().Pods(evil).Create(harness.Context(t), forgedPod(&member, evil, nil), metav1.CreateOptions{})
	harness.Must(t, err)
	_, err = cluster.Client.CoreV1().Pods(evil).Patch(harness.Context(t), "fake", types.MergePatchType, []byte(passed), metav1.PatchOptions{}, "status")
	harness.Must(t, err)
	// muster takes in pods in the order of their changes: once it has released a gang that came later, it has seen these.
	marker := harness.RealJob("marker", 1, "sleep 600")
	marker.Annotations = map[string]string{harness.TimeoutAnnotation: "300"}
	cluster.CreateJob(t, namespace, marker)
	cluster.WaitForPods(t, namespace, "marker", 1, time.Minute, "started", harness.MainStarted)
	decided, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(harness.Context(t), "train-group-scheduling", metav1.GetOptions{})
	harness.Must(t, err)
	if decided.Data["started"] != "" {
		t.Errorf("the gang has started: %q", decided.Data["started"])
	}
	for _, pod := range cluster.PodsOfJobSet(t, namespace, "train") {
		if harness.MainStarted(&pod) {
			t.Errorf("%s did not wait", pod.Name)
		}
	}
	harness.Must(t, cluster.Client.CoreV1().Pods(evil).Delete(harness.Context(t), "fake", *metav1.NewDeleteOptions(0)))
	harness.OpenGate(t, cluster, namespace)
	harness.CheckStartedTogether(t, cluster.WaitForJobSetPods(t, namespace, "train", 3, time.Minute, "started", harness.MainStarted))
}

// epochOf is the epoch in the first pod template of a JobSet.
func epochOf(t *testing.T, jobSet *unstructured.Unstructured) string {
	t.Helper()
	jobs, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	epoch, found, _ := unstructured.NestedString(jobs[0].(map[string]any), "template", "spec", "template", "metadata",
		"annotations", harness.EpochAnnotation)
	if !found {
		t.Fatalf("no epoch in %v", jobs[0])
	}
	return epoch
}

func TestResumeOfAPrunedGangIsANewRun(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	cluster.RealNode(t)
	// This one leaves the definition as it was installed; so the field is the test's to add.
	harness.StartMuster(t, "--jobset-controller", "external", "--no-patch-jobset-definition", "--waiter-image", harness.MusterImage)
	foreign.AddGroups(t)
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")}), 300))
	cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "started", harness.MainStarted)
	jobSets := cluster.Resource(t, harness.JobSetGroup, "JobSet", namespace)
	started, err := jobSets.Get(harness.Context(t), "train", metav1.GetOptions{})
	harness.Must(t, err)

	foreign.Reinstall(t)
	touched := func() error {
		patch := fmt.Appendf(nil, `{"status":{"restarts":0,"conditions":[{"type":"Touched","status":"True","reason":"Test","message":"%d","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, time.Now().UnixNano())
		pruned, err := jobSets.Patch(harness.Context(t), "train", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			return err
		}
		if _, found, _ := unstructured.NestedMap(pruned.Object, "spec", "groupSchedulingConfig"); found {
			return fmt.Errorf("the field is still there")
		}
		return nil
	}
	harness.Eventually(t, time.Minute, "the field is pruned", touched)

	cluster.PatchJobSet(t, namespace, "train", `{"spec":{"suspend":true}}`)
	harness.Eventually(t, time.Minute, "the decision ends with the run", func() error {
		decided, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(harness.Context(t), "train-group-scheduling", metav1.GetOptions{})
		if err == nil && decided.Data["started"] != "" {
			err = fmt.Errorf("started: %q", decided.Data["started"])
		}
		return err
	})
	cluster.PatchJobSet(t, namespace, "train", `{"spec":{"suspend":false}}`)
	resumed, err := jobSets.Get(harness.Context(t), "train", metav1.GetOptions{})
	harness.Must(t, err)
	if epochOf(t, resumed) == epochOf(t, started) {
		t.Errorf("the resumed JobSet has the epoch of its first run, %s", epochOf(t, started))
	}
}
