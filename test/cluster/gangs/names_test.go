package gangs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// A Job `train` and a JobSet `train-job` are two gangs with two ConfigMaps, and both start.
func TestGangsOfAJobAndOfAJobSetHaveTwoConfigMaps(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.RealJob("train", 1, "sleep 600")
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "120"}
	cluster.CreateJob(t, namespace, job)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train-job",
		harness.ReplicatedJob{Name: "workers", Template: harness.RealPod("sleep 600")}), 120))
	cluster.WaitForJobSetPods(t, namespace, "train-job", 1, 2*time.Minute, "started", harness.MainStarted)
	harness.Eventually(t, 2*time.Minute, "the Job's pod has started", func() error {
		for _, pod := range cluster.PodsOfJob(t, namespace, "train") {
			if harness.MainStarted(&pod) {
				return nil
			}
		}
		return fmt.Errorf("it waits")
	})
	for name, kind := range map[string]string{"train.job-group-scheduling": "Job", "train-job-group-scheduling": "JobSet"} {
		made, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(harness.Context(t), name, metav1.GetOptions{})
		harness.Must(t, err)
		if len(made.OwnerReferences) != 1 || made.OwnerReferences[0].Kind != kind {
			t.Errorf("%s belongs to %+v", name, made.OwnerReferences)
		}
	}
}

// The condition of a gang says which member the API server refuses, and in its words.
func TestARefusedMemberOfAGangIsNamedWithItsReason(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartGangMuster(t)
	namespace := cluster.Namespace(t, nil)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "no-jobs"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}}}
	_, err := cluster.Client.CoreV1().ResourceQuotas(namespace).Create(harness.Context(t), quota, harness.ForReal)
	harness.Must(t, err)
	harness.Eventually(t, time.Minute, "the quota acts", func() error {
		found, err := cluster.Client.CoreV1().ResourceQuotas(namespace).Get(harness.Context(t), "no-jobs", metav1.GetOptions{})
		if err == nil && len(found.Status.Hard) == 0 {
			err = fmt.Errorf("it has no status")
		}
		return err
	})
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Replicas: 2, Template: harness.HollowPod(-1, 0)}), 120))
	cluster.WaitForJobSet(t, namespace, "train", time.Minute, "says what is refused", func(waiting *unstructured.Unstructured) error {
		message := fmt.Sprint(harness.ConditionOf(waiting, "GroupStarted")["message"])
		if !strings.Contains(message, "Job train-workers-0 (not created, 1 pod: ") || !strings.Contains(message, "count/jobs.batch") {
			return fmt.Errorf("it says %q", message)
		}
		return nil
	})
}
