package harness

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GateLabel holds back the pods that ask for it until the node bears the label.
const GateLabel = "muster.batch/gate"

// Gated makes pods wait for OpenGate(name).
func Gated(template corev1.PodTemplateSpec, name string) corev1.PodTemplateSpec {
	template.Spec.NodeSelector[GateLabel] = name
	return template
}

// OpenGate lets the gated pods of that name be scheduled.
func OpenGate(t *testing.T, cluster *Cluster, name string) {
	t.Helper()
	Must(t, labelGate(t, cluster, fmt.Sprintf("%q", name)))
	t.Cleanup(func() {
		if err := labelGate(t, cluster, "null"); err != nil {
			t.Errorf("the node keeps its label: %v", err)
		}
	})
}

// ShutGate holds the gated pods that come from now on.
func ShutGate(t *testing.T, cluster *Cluster) {
	t.Helper()
	Must(t, labelGate(t, cluster, "null"))
}

func labelGate(t *testing.T, cluster *Cluster, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, GateLabel, value)
	_, err := cluster.Client.CoreV1().Nodes().Patch(Context(t), cluster.RealNode(t), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// CheckStartedTogether demands that no main container started before the last
// waiter had. Kubelets tell time in whole seconds.
func CheckStartedTogether(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	var last time.Time
	for _, pod := range pods {
		if started := StartedAt(&pod, BarrierContainer); started.After(last) {
			last = started
		}
	}
	for _, pod := range pods {
		if main := StartedAt(&pod, "main"); main.Before(last) {
			t.Errorf("%s started at %s, before the last waiter at %s", pod.Name, main.Format(time.TimeOnly), last.Format(time.TimeOnly))
		}
	}
}

// StartGangMuster starts muster as the JobSet controller, with the waiter of the lab's image.
func StartGangMuster(t *testing.T, flags ...string) *Muster {
	t.Helper()
	return StartMuster(t, append([]string{"--jobset-controller", "native", "--waiter-image", MusterImage}, flags...)...)
}

// WaiterToken is of the runs that AddWaiter makes.
const WaiterToken = "owner/0/epoch-1"

// AddWaiter puts a waiter for the ConfigMap before the containers of a template, as
// muster's webhook would.
func AddWaiter(template *corev1.PodTemplateSpec, configMap string) {
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	template.Annotations[EpochAnnotation] = "epoch-1"
	yes := true
	template.Spec.InitContainers = append(template.Spec.InitContainers, corev1.Container{
		Name: BarrierContainer, Image: MusterImage,
		Command: []string{"/muster-wait"}, Args: []string{"--dir=/mnt/group-scheduling", "--timeout-seconds=300"},
		Env: []corev1.EnvVar{
			{Name: "MUSTER_OWNER_UID", Value: "owner"},
			{Name: "MUSTER_RESTART_ATTEMPT", Value: "0"},
			{Name: "MUSTER_EPOCH", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: "metadata.annotations['" + EpochAnnotation + "']",
			}}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: BarrierVolume, MountPath: "/mnt/group-scheduling", ReadOnly: true}},
	})
	template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{
		Name: BarrierVolume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Optional: &yes,
		}},
	})
}

// WriteDecision writes the ConfigMap that the waiters watch, as muster: its webhooks let no other user.
func WriteDecision(t *testing.T, cluster *Cluster, namespace, name string, data map[string]string) {
	t.Helper()
	configMaps, ctx := Impersonate(t, cluster, "system:serviceaccount:muster-system:muster", "system:masters").CoreV1().ConfigMaps(namespace), Context(t)
	decided := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := configMaps.Create(ctx, decided, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = configMaps.Update(ctx, decided, metav1.UpdateOptions{})
	}
	Must(t, err)
}

// NudgePods changes an annotation of every pod, with its status as muster does, so that the kubelet syncs it.
func NudgePods(t *testing.T, cluster *Cluster, namespace string, pods []corev1.Pod) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, NudgeAnnotation, fmt.Sprint(time.Now().UnixNano()))
	outcome := Load(Context(t), 32, len(pods), func(number int) error {
		_, err := cluster.Client.CoreV1().Pods(namespace).Patch(Context(t), pods[number].Name,
			types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
	if outcome.Failed > 0 {
		t.Fatalf("nudging: %s", outcome)
	}
}

// StartUpTime is how long the Job, which is in no queue, takes until its pod is counted as ready. It is deleted then.
func StartUpTime(t *testing.T, cluster *Cluster, job *batchv1.Job) time.Duration {
	t.Helper()
	namespace, started := cluster.Namespace(t, nil), time.Now()
	cluster.CreateJob(t, namespace, job)
	Eventually(t, 2*time.Minute, "the pod of a Job is counted as ready", func() error {
		if live := GetJob(t, cluster, namespace, job.Name); live.Status.Ready == nil || *live.Status.Ready == 0 {
			return fmt.Errorf("its status is %v", live.Status)
		}
		return nil
	})
	took := time.Since(started)
	cluster.Kubectl(t, "", "delete", "job", job.Name, "-n", namespace, "--wait=false")
	return took
}
