package jobsets

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

// What a user's JobSet cannot have is reported on the JobSet: Jobs that Kubernetes refuses, and features
// that muster lacks, in a JobSet that is older than muster's webhooks.
func TestJobSetsThatCannotRunAreToldWhy(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	namespace := cluster.Namespace(t, nil)
	old := harness.JobSetOf("old", harness.ReplicatedJob{Name: "w", Replicas: 1, Pods: 1, Template: harness.HollowPod(-1, 0)})
	harness.Set(old, map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{}}}, "spec", "scheduling")
	muster := harness.LaunchMuster(t, "--jobset-controller", "native", "--no-metrics-authorization")
	cluster.CreateJobSet(t, namespace, old)
	muster.Register(t)
	cluster.WaitForJobSet(t, namespace, "old", time.Minute, "is not supported", harness.HasCondition("Unsupported", "True", "UnsupportedFeature"))
	cluster.WaitForEvent(t, namespace, "old", "Unsupported: spec.scheduling is not supported")
	if _, metrics := harness.AskMetricsPort(t, muster, "/metrics", ""); !strings.Contains(metrics, `muster_unsupported_objects{kind="JobSet",what="scheduling"`) {
		t.Error("muster_unsupported_objects does not count it")
	}

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
	cluster.CreateJobSet(t, namespace, harness.JobSetOf("refused", harness.ReplicatedJob{Name: "w", Replicas: 1, Pods: 1, Template: harness.HollowPod(-1, 0)}))
	cluster.WaitForEvent(t, namespace, "refused", "JobCreationFailed: Job "+namespace+"/refused-w-0 cannot be created: ", "exceeded quota: no-jobs")
	harness.Must(t, cluster.Client.CoreV1().ResourceQuotas(namespace).Delete(harness.Context(t), "no-jobs", metav1.DeleteOptions{}))
	cluster.WaitForJobSet(t, namespace, "refused", time.Minute, "runs at last", func(jobSet *unstructured.Unstructured) error {
		return harness.FieldIs(int64(1), "ready")(&unstructured.Unstructured{Object: firstOf(harness.ObjectsAt(jobSet.Object,
			"status", "replicatedJobsStatus"))})
	})
}

func firstOf(objects []map[string]any) map[string]any {
	if len(objects) == 0 {
		return nil
	}
	return objects[0]
}
