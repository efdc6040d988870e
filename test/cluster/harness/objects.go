package harness

import (
	"context"
	"maps"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Names that users and other tools write; they are muster's contract.
const (
	QueueLabel        = "kueue.x-k8s.io/queue-name"
	TimeoutAnnotation = "muster.batch/group-scheduling-timeout-seconds"
	BarrierContainer  = "group-scheduling-init"
	BarrierVolume     = "group-scheduling"
	JobSetGroup       = "jobset.x-k8s.io"
	KueueGroup        = "kueue.x-k8s.io"
)

// DryRun and ForReal are how to create.
var (
	DryRun  = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	ForReal = metav1.CreateOptions{}
)

// Queue is the label that puts a Job into a queue.
func Queue(name string) map[string]string { return map[string]string{QueueLabel: name} }

// Job is a Job that is valid and cheap: with no parallelism the controller
// creates no pod for it.
func Job(name string, labels map[string]string) *batchv1.Job {
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(labels)},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "example.test/main:1"}},
			}},
		},
	}
}

// JobSet is a JobSet with one replicated Job for each name.
func JobSet(name string, replicatedJobs ...string) *unstructured.Unstructured {
	var jobs []any
	for _, job := range replicatedJobs {
		jobs = append(jobs, map[string]any{
			"name": job, "replicas": int64(1),
			"template": map[string]any{"spec": map[string]any{
				"parallelism": int64(2), "completions": int64(2), "backoffLimit": int64(0),
				"template": map[string]any{"spec": map[string]any{
					"restartPolicy": "Never",
					"containers":    []any{map[string]any{"name": "main", "image": "example.test/main:1"}},
				}},
			}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": JobSetGroup + "/v1alpha2", "kind": "JobSet",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"replicatedJobs": jobs},
	}}
}

// GroupScheduling gives a JobSet a start barrier.
func GroupScheduling(jobSet *unstructured.Unstructured, seconds int64, targets ...string) *unstructured.Unstructured {
	config := map[string]any{"timeoutAfterSeconds": seconds}
	if len(targets) > 0 {
		var list []any
		for _, target := range targets {
			list = append(list, target)
		}
		config["targetReplicatedJobs"] = list
	}
	Set(jobSet, config, "spec", "groupSchedulingConfig")
	return jobSet
}

// Set writes a field; it panics on a path that leads through something that is
// not an object, which is a mistake in a test.
func Set(object *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		panic(err)
	}
}

// PodSpecOf returns the pod spec of the index-th replicated Job of a JobSet.
func PodSpecOf(jobSet *unstructured.Unstructured, index int) map[string]any {
	jobs, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	if index >= len(jobs) {
		return nil
	}
	job, _ := jobs[index].(map[string]any)
	spec, _, _ := unstructured.NestedMap(job, "template", "spec", "template", "spec")
	return spec
}

// CreateConfigMap makes an empty one.
func CreateConfigMap(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}, ForReal)
	return err
}

// CreatePod makes a pod that waits behind a gate for ever.
func CreatePod(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			// Gated, so that the scheduler need not look at it.
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.test/never"}},
			Containers:      []corev1.Container{{Name: "main", Image: "example.test/main:1"}},
		},
	}, ForReal)
	return err
}

// Impersonate acts as this user; with its groups too if it is to have their rights.
func Impersonate(t *testing.T, cluster *Cluster, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	Must(t, err)
	config.Impersonate.UserName = user
	config.Impersonate.Groups = groups
	client, err := kubernetes.NewForConfig(config)
	Must(t, err)
	return client
}

// EpochAnnotation names the run of a gang on its pods.
const EpochAnnotation = "muster.batch/group-scheduling-epoch"

// NudgeAnnotation is what muster changes so that a kubelet syncs a pod.
const NudgeAnnotation = "muster.batch/group-scheduling-nudge"

// DryRunPatch is DryRun for a patch.
var DryRunPatch = metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
