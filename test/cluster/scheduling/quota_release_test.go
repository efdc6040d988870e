package scheduling

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Quota is given back when nothing of a job runs, ends or was orphaned, and not before.

// releaseTeams: a queue of two cpus in which a Job of the class high preempts one of the class low.
func releaseTeams(t *testing.T, cluster *harness.Cluster) *harness.Teams {
	t.Helper()
	harness.StartQueueMuster(t)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Class("low", 1)
	teams.Class("high", 1000)
	teams.Queue("q", teams.Cpus("f=2"), map[string]any{"preemption": map[string]any{"withinClusterQueue": "LowerPriority"}})
	return teams
}

func TestADeletedJobThatAFinalizerHoldsIsPreempted(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	teams := releaseTeams(t, cluster)
	teams.Job("q", "low", 2, "1", teams.OfClass("low"), func(job *batchv1.Job) { job.Finalizers = []string{harness.HeldFinalizer} })
	t.Cleanup(func() {
		cluster.Kubectl(t, "", "patch", "job", "low", "-n", teams.Namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	})
	teams.RunsWith("low", 2)
	teams.Kubectl("delete", "job", "low", "--wait=false")
	teams.Job("q", "high", 2, "1", teams.OfClass("high"))
	teams.RunsWith("high", 2)
	if pods := harness.ActivePods(t, cluster, teams.Namespace, "low"); pods != 0 {
		t.Errorf("%d pods of the deleted Job run beside", pods)
	}
	if job := harness.GetJob(t, cluster, teams.Namespace, "low"); job.DeletionTimestamp == nil {
		t.Error("the Job was made anew")
	}
}

func TestOrphanedPodsKeepTheQuotaOfTheirJob(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	teams := releaseTeams(t, cluster)
	teams.Job("q", "orphaned", 2, "1")
	teams.RunsWith("orphaned", 2)
	teams.Kubectl("delete", "job", "orphaned", "--cascade=orphan")
	teams.Job("q", "next", 2, "1")
	teams.Waits("next", "WaitingForQuota")
	teams.QueueUses("q", "2")
	if pods := harness.ActivePods(t, cluster, teams.Namespace, "orphaned"); pods != 2 {
		t.Fatalf("%d pods were orphaned", pods)
	}
	teams.Kubectl("delete", "pods", "-l", batchv1.JobNameLabel+"=orphaned")
	teams.RunsWith("next", 2)
}

// stuck makes a Job of two pods of the class low on a node without a kubelet: what runs there does not end.
func stuck(t *testing.T, cluster *harness.Cluster, teams *harness.Teams, name string) {
	t.Helper()
	node := silentNode(t, cluster, teams.Name(name))
	teams.Job("q", name, 2, "1", teams.OfClass("low"), func(job *batchv1.Job) {
		spec, grace := &job.Spec.Template.Spec, int64(86400)
		spec.TerminationGracePeriodSeconds = &grace
		spec.NodeName = node
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	harness.Eventually(t, time.Minute, "the pods are there", func() error {
		if pods := harness.ActivePods(t, cluster, teams.Namespace, name); pods != 2 {
			return fmt.Errorf("there are %d", pods)
		}
		return nil
	})
	for _, pod := range cluster.PodsOfJob(t, teams.Namespace, name) {
		cluster.Kubectl(t, "", "patch", "pod", pod.Name, "-n", teams.Namespace, "--subresource=status", "--type=merge",
			"-p", `{"status":{"phase":"Running"}}`)
	}
}

// endPods plays the kubelet of a silent node.
func endPods(teams *harness.Teams, job string) {
	teams.Kubectl("delete", "pods", "-l", batchv1.JobNameLabel+"="+job, "--grace-period=0", "--force")
}

func TestPodsInTheirGraceKeepTheQuotaOfTheirJob(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	teams := releaseTeams(t, cluster)
	stuck(t, cluster, teams, "low")
	teams.Job("q", "high", 2, "1", teams.OfClass("high"))
	harness.Eventually(t, time.Minute, "the Job is suspended, and its pods terminate", func() error {
		job := harness.GetJob(t, cluster, teams.Namespace, "low")
		if job.Status.Active != 0 || job.Status.Terminating == nil || *job.Status.Terminating != 2 {
			return fmt.Errorf("%+v", job.Status)
		}
		return nil
	})
	teams.QueueUses("q", "2")
	teams.Await("low", "keeps its quota", harness.HasCondition("Evicted", "True", ""), harness.HasCondition("QuotaReserved", "True", ""))
	endPods(teams, "low")
	teams.RunsWith("high", 2)
}

func TestPodsOfADeletedJobKeepItsQuotaHoweverItIsDeleted(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	teams := releaseTeams(t, cluster)
	for _, how := range []string{"background", "foreground"} {
		stuck(t, cluster, teams, how)
		teams.Kubectl("delete", "job", how, "--cascade="+how, "--wait=false")
		harness.Eventually(t, time.Minute, "its pods are being deleted", func() error {
			if pods := harness.ActivePods(t, cluster, teams.Namespace, how); pods > 0 {
				return fmt.Errorf("%d are not", pods)
			}
			return nil
		})
		next := "after-" + how
		teams.Job("q", next, 2, "1", teams.OfClass("low"))
		teams.Waits(next, "WaitingForQuota")
		teams.QueueUses("q", "2")
		endPods(teams, how)
		teams.RunsWith(next, 2)
		teams.Kubectl("delete", "job", next)
	}
}

func silentNode(t *testing.T, cluster *harness.Cluster, name string) string {
	t.Helper()
	nodes := cluster.Client.CoreV1().Nodes()
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), corev1.ResourcePods: resource.MustParse("100")}
	_, err := nodes.Create(harness.Context(t), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}, metav1.CreateOptions{})
	harness.Must(t, err)
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "node", name) })
	return name
}
