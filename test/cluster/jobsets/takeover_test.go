package jobsets

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// childrenAndPods is what must not change while another controller takes the JobSets over.
func childrenAndPods(t *testing.T, cluster *harness.Cluster, jobSets ...string) string {
	t.Helper()
	text := ""
	for _, name := range jobSets {
		jobs, err := cluster.Client.BatchV1().Jobs("default").List(harness.Context(t), metav1.ListOptions{LabelSelector: harness.JobSetNameLabel + "=" + name})
		harness.Must(t, err)
		for _, job := range jobs.Items {
			text += fmt.Sprintf("job %s %s suspend=%t attempt=%s\n", job.Name, job.UID, harness.Suspended(&job),
				job.Labels[harness.RestartAttemptLabel])
		}
		for _, pod := range cluster.PodsOfJobSet(t, "default", name) {
			text += fmt.Sprintf("pod %s %s %s\n", pod.Name, pod.UID, pod.Status.Phase)
		}
	}
	return text
}

// JobSets that JobSet's own controller runs go on under muster, and under that controller again.
func TestMigrationPageTakesJobSetsOverAndGivesThemBack(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	foreign := cluster.InstallForeignJobSet(t)
	foreign.Deploy(t)
	harness.FollowPage(t, cluster, "install.md", "With kubectl")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(harness.ClusterState(cluster))
		}
	})
	for _, name := range []string{"runs", "restarts", "ends"} {
		jobSet := harness.JobSetOf(name, harness.ReplicatedJob{Name: "workers", Replicas: 2, Template: harness.RealPod("sleep 3600")})
		harness.Set(jobSet, int64(1), "spec", "failurePolicy", "maxRestarts")
		cluster.CreateJobSet(t, "default", jobSet)
		cluster.WaitForJobSetPods(t, "default", name, 2, time.Minute, "running", harness.IsRunning)
	}
	paused := harness.JobSetOf("paused", harness.ReplicatedJob{Name: "workers", Template: harness.RealPod("sleep 3600")})
	harness.Set(paused, true, "spec", "suspend")
	cluster.CreateJobSet(t, "default", paused)
	all := []string{"runs", "restarts", "ends", "paused"}
	harness.Eventually(t, time.Minute, "the suspended JobSet has its Job", func() error {
		if text := childrenAndPods(t, cluster, "paused"); !strings.Contains(text, "suspend=true") {
			return fmt.Errorf("%q", text)
		}
		return nil
	})
	before := childrenAndPods(t, cluster, all...)

	said := harness.FollowPage(t, cluster, "migration.md", "JobSet")
	if after := childrenAndPods(t, cluster, all...); after != before {
		t.Fatalf("before the move:\n%s\nafter it:\n%s\n%s", before, after, said)
	}
	if foreign.Runs(context.Background()) {
		t.Error("JobSet's controller runs")
	}
	// muster restarts, resumes and ends what the other controller has begun.
	victim := cluster.PodsOfJobSet(t, "default", "restarts")[0].Name
	harness.Must(t, cluster.Client.CoreV1().Pods("default").Delete(harness.Context(t), victim, metav1.DeleteOptions{}))
	cluster.WaitForJobSetPods(t, "default", "restarts", 2, time.Minute, "running in attempt 1", func(pod *corev1.Pod) bool {
		return harness.IsRunning(pod) && pod.Labels[harness.RestartAttemptLabel] == "1"
	})
	cluster.PatchJobSet(t, "default", "paused", `{"spec":{"suspend":false}}`)
	cluster.WaitForJobSetPods(t, "default", "paused", 1, time.Minute, "running", harness.IsRunning)
	cluster.Delete(t, harness.JobSets, "default", "ends", metav1.DeletePropagationForeground)
	cluster.AwaitGone(t, harness.JobSets, "default", "ends")
	cluster.CreateJobSet(t, "default", harness.JobSetOf("new", harness.ReplicatedJob{Name: "workers", Template: harness.RealPod("true")}))
	cluster.WaitForJobSet(t, "default", "new", time.Minute, "completed", harness.HasCondition("Completed", "True", "AllJobsCompleted"))

	all = []string{"runs", "restarts", "paused"}
	before = childrenAndPods(t, cluster, all...)
	harness.FollowPage(t, cluster, "migration.md", "Back")
	harness.Eventually(t, time.Minute, "JobSet's controller runs", func() error {
		if !foreign.Runs(harness.Context(t)) {
			return fmt.Errorf("it has no pod")
		}
		return nil
	})
	cluster.CreateJobSet(t, "default", harness.JobSetOf("after", harness.ReplicatedJob{Name: "workers", Template: harness.RealPod("true")}))
	cluster.WaitForJobSet(t, "default", "after", time.Minute, "completed", harness.HasCondition("Completed", "True", "AllJobsCompleted"))
	if after := childrenAndPods(t, cluster, all...); after != before {
		t.Errorf("before the way back:\n%s\nafter it:\n%s", before, after)
	}
}
