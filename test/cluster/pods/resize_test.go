package pods

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// A pod of a queued Job has no label of muster's; a resize in place to more than was admitted is refused all the same.
func TestRunningPodsOfQueuesDoNotGrow(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"))
	teams.Job("q", "queued", 1, "100m")
	teams.Job("q", "free", 1, "100m", func(job *batchv1.Job) {
		job.Labels = nil
		job.Spec.Template.Spec.NodeSelector = map[string]string{harness.NodeLabel: "hollow"}
		job.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: harness.NodeLabel, Operator: corev1.TolerationOpExists}}
	})
	teams.RunsWith("queued", 1)
	teams.RunsWith("free", 1)
	resize := func(job, cpu string) error {
		pod := resizable(t, cluster, teams.Namespace, job)
		patch := fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"resources":{"requests":{"cpu":%q}}}]}}`, pod.Spec.Containers[0].Name, cpu)
		_, err := cluster.Client.CoreV1().Pods(teams.Namespace).Patch(harness.Context(t), pod.Name, types.StrategicMergePatchType,
			[]byte(patch), metav1.PatchOptions{}, "resize")
		return err
	}
	const told = `the pod belongs to Job "queued", which is in a queue, and cannot grow while it runs: cpu from 100m to 60`
	if err := resize("queued", "60"); err == nil || !strings.Contains(err.Error(), told) {
		t.Errorf("a pod of a queue grows: %v", err)
	}
	harness.Must(t, resize("queued", "50m"))
	harness.Must(t, resize("free", "60"))
	teams.End("queued")
}

// resizable is the Job's pod, once its status says what a kubelet would: without that the API server refuses every
// resize.
func resizable(t *testing.T, cluster *harness.Cluster, namespace, job string) *corev1.Pod {
	t.Helper()
	var made *corev1.Pod
	harness.Eventually(t, time.Minute, "the status of a pod has its resources", func() error {
		pod := &cluster.PodsOfJob(t, namespace, job)[0]
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].Resources = pod.Spec.Containers[i].Resources.DeepCopy()
			pod.Status.ContainerStatuses[i].AllocatedResources = pod.Spec.Containers[i].Resources.Requests
		}
		var err error
		made, err = cluster.Client.CoreV1().Pods(namespace).UpdateStatus(harness.Context(t), pod, metav1.UpdateOptions{})
		return err
	})
	return made
}
