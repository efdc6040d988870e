package jobsets

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

const jobRestartAttempt = "jobset.sigs.k8s.io/job-restart-attempt"

func jobRestarts(jobSet *unstructured.Unstructured, replicatedJob string) (counts []any) {
	for _, entry := range harness.ObjectsAt(jobSet.Object, "status", "replicatedJobsStatus") {
		if entry["name"] == replicatedJob {
			counts, _ = entry["jobRestarts"].([]any)
		}
	}
	return counts
}

// On a real kubelet: the second worker fails in its first attempt. It alone is made again, in a queue and within
// the quota that it has; the other pods are those of the beginning.
func TestOneJobOfAJobSetIsRestarted(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartQueueMuster(t, "--jobset-feature-gates", "RestartJob=true")
	teams := cluster.Teams(t)
	teams.RealFlavor("f")
	teams.Queue("q", teams.Cpus("f=1"))
	worker := harness.RealPod(`echo "$JOB/$ATTEMPT"; [ "$JOB/$ATTEMPT" = 1/0 ] && exit 1; until [ -e /tmp/never ] || [ "$ATTEMPT" = 1 ]; do sleep 1; done`)
	fromAnnotation := func(name, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + key + "']"}}}
	}
	worker.Spec.Containers[0].Env = []corev1.EnvVar{fromAnnotation("JOB", "jobset.sigs.k8s.io/job-index"), fromAnnotation("ATTEMPT", jobRestartAttempt)}
	jobSet := harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "driver", Template: harness.RealPod("sleep 3600")},
		harness.ReplicatedJob{Name: "workers", Replicas: 2, Template: worker})
	for index := range 2 {
		spec := harness.PodSpecOf(jobSet, index)
		harness.Must(t, unstructured.SetNestedField(spec["containers"].([]any)[0].(map[string]any), "300m", "resources", "requests", "cpu"))
	}
	harness.Set(jobSet, map[string]any{"maxRestarts": int64(1), "rules": []any{map[string]any{"action": "RestartJob"}}}, "spec", "failurePolicy")
	jobSet.SetLabels(harness.Queue("q"))
	cluster.CreateJobSet(t, teams.Namespace, jobSet)

	restarted := cluster.WaitForJobSet(t, teams.Namespace, "train", 2*time.Minute, "the second worker was restarted", func(live *unstructured.Unstructured) error {
		counts := jobRestarts(live, "workers")
		if len(counts) != 2 || counts[0] != int64(0) || counts[1] != int64(1) {
			return fmt.Errorf("jobRestarts of the workers are %v", counts)
		}
		return nil
	})
	if global, _, _ := unstructured.NestedInt64(restarted.Object, "status", "restarts"); global != 0 {
		t.Errorf("the JobSet was restarted %d times", global)
	}
	cluster.WaitForEvent(t, teams.Namespace, "train", "RestartJobFailurePolicyAction: applying RestartJob failure policy action (first failed job: train-workers-1)")
	cluster.WaitForJobSetPods(t, teams.Namespace, "train", 1, time.Minute, "of the second attempt and done", func(pod *corev1.Pod) bool {
		return pod.Labels[jobRestartAttempt] == "1" && pod.Status.Phase == corev1.PodSucceeded
	})
	for _, pod := range cluster.WaitForJobSetPods(t, teams.Namespace, "train", 2, time.Minute, "running since the beginning", harness.IsRunning) {
		if pod.Labels[jobRestartAttempt] != "0" {
			t.Errorf("%s is of attempt %s", pod.Name, pod.Labels[jobRestartAttempt])
		}
	}
	teams.Admitted("train")
}

// A Job that fails again and again ends the JobSet when maxRestarts is reached.
func TestJobSetFailsWhenASingleJobHasRestartedTooOften(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native", "--jobset-feature-gates", "RestartJob=true")
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "driver", Template: harness.HollowPod(-1, 0)},
		harness.ReplicatedJob{Name: "workers", Template: harness.HollowPod(0, 3)})
	harness.Set(jobSet, map[string]any{"maxRestarts": int64(2), "rules": []any{map[string]any{"action": "RestartJob"}}}, "spec", "failurePolicy")
	cluster.CreateJobSet(t, namespace, jobSet)
	failed := cluster.WaitForJobSet(t, namespace, "train", time.Minute, "failed", harness.HasCondition("Failed", "True", "ReachedMaxRestarts"))
	if counts := jobRestarts(failed, "workers"); len(counts) != 1 || counts[0] != int64(2) {
		t.Errorf("jobRestarts are %v", counts)
	}
}
