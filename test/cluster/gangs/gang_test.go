package gangs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// Gangs under muster, their pods on the real kubelet.

func TestGangJobSetWaitsForItsThirdPodAndStartsTogether(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.RealPod("sleep 600"), namespace)}), 300))

	cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "waiting", harness.WaiterRuns)
	cluster.WaitForJobSet(t, namespace, "train", time.Minute, "says who is missing", harness.HasCondition("GroupStarted", "False", ""))
	cluster.WaitForJobSet(t, namespace, "train", 20*time.Second, "counts and names", func(waiting *unstructured.Unstructured) error {
		message := fmt.Sprint(harness.ConditionOf(waiting, "GroupStarted")["message"])
		if !strings.Contains(message, "2 of 3") || !strings.Contains(message, "train-late-0") {
			return fmt.Errorf("it says %q", message)
		}
		return nil
	})
	for _, pod := range cluster.PodsOfJobSet(t, namespace, "train") {
		if harness.MainStarted(&pod) {
			t.Errorf("%s did not wait", pod.Name)
		}
	}

	harness.OpenGate(t, cluster, namespace)
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 3, time.Minute, "started", harness.MainStarted)
	harness.CheckStartedTogether(t, pods)
	cluster.WaitForJobSet(t, namespace, "train", time.Minute, "started", harness.HasCondition("GroupStarted", "True", ""))

	// A member that is replaced finds the gate open.
	harness.Must(t, cluster.Client.CoreV1().Pods(namespace).Delete(harness.Context(t), pods[0].Name, metav1.DeleteOptions{}))
}

func TestReplacedMemberOfAStartedGangPassesAtOnce(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.RealJob("gang", 2, "sleep 600")
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "300"}
	*job.Spec.BackoffLimit = 3
	cluster.CreateJob(t, namespace, job)
	first := cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "started", harness.MainStarted)[0]

	harness.Must(t, cluster.Client.CoreV1().Pods(namespace).Delete(harness.Context(t), first.Name, metav1.DeleteOptions{}))
	replaced := cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "started, the deleted one not among them", func(pod *corev1.Pod) bool {
		return harness.MainStarted(pod) && pod.UID != first.UID
	})
	for _, pod := range replaced {
		waited := harness.StartedAt(&pod, "main").Sub(harness.StartedAt(&pod, harness.BarrierContainer))
		if pod.CreationTimestamp.After(first.CreationTimestamp.Time) && waited > 5*time.Second {
			t.Errorf("%s waited for %s", pod.Name, waited)
		}
	}
}

func TestGangJobThatIsNeverCompleteFailsAtItsDeadlineAndSaysWhoWasMissing(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
	namespace := cluster.Namespace(t, nil)
	// One of the pods has to wait by then.
	deadline := min(max(4, int(2*harness.StartUpTime(t, cluster, harness.RealJob("pace", 1, "sleep 60")).Seconds())), 40)
	job := harness.RealJob("gang", 2, "echo this must not run")
	job.Annotations = map[string]string{harness.TimeoutAnnotation: fmt.Sprint(deadline)}
	// The second pod finds no place: both must not be on one node.
	job.Spec.Template.Labels = map[string]string{"gang": "one-per-node"}
	job.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: job.Spec.Template.Labels}, TopologyKey: corev1.LabelHostname,
		}},
	}}
	cluster.CreateJob(t, namespace, job)

	failed := cluster.WaitForJob(t, namespace, "gang", time.Minute, batchv1.JobFailed)
	for _, condition := range failed.Status.Conditions {
		if condition.Type != batchv1.JobFailed {
			continue
		}
		if condition.Reason != "GroupSchedulingTimeout" || !strings.Contains(condition.Message, "1 of 2") {
			t.Errorf("it failed with %s: %s", condition.Reason, condition.Message)
		}
	}
	for _, pod := range cluster.PodsOfJob(t, namespace, "gang") {
		if harness.MainStarted(&pod) {
			t.Errorf("the main container of %s has run", pod.Name)
		}
	}
	cluster.WaitForEvent(t, namespace, "gang", "GroupSchedulingTimeout", "gang-")
}

func TestSuspendedAndResumedGangWaitsAnew(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")}), 300))
	old := map[types.UID]bool{}
	for _, pod := range cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "started", harness.MainStarted) {
		old[pod.UID] = true
	}

	cluster.PatchJobSet(t, namespace, "train", `{"spec":{"suspend":true}}`)
	cluster.WaitForNoPods(t, namespace, "train")
	cluster.PatchJobSet(t, namespace, "train", `{"spec":{"suspend":false}}`)
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "started", harness.MainStarted)
	for _, pod := range pods {
		if old[pod.UID] {
			t.Errorf("%s is of the old run", pod.Name)
		}
	}
	harness.CheckStartedTogether(t, pods)
	decided, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(harness.Context(t), "train-group-scheduling", metav1.GetOptions{})
	harness.Must(t, err)
	if epoch := pods[0].Annotations[harness.EpochAnnotation]; !strings.Contains(decided.Data["started"], epoch) {
		t.Errorf("epoch %s is not among the started: %q", epoch, decided.Data["started"])
	}
}

func TestForeignConfigMapUnderTheGangsNameIsNeverTouched(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartGangMuster(t)
	namespace := cluster.Namespace(t, nil)
	// A user's file `started` must open nothing either.
	harness.WriteDecision(t, cluster, namespace, "gang.job-group-scheduling", map[string]string{"started": "yes"})
	job := harness.RealJob("gang", 1, "echo this must not run")
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "4"}
	cluster.CreateJob(t, namespace, job)

	cluster.WaitForJob(t, namespace, "gang", time.Minute, batchv1.JobFailed)
	left, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(harness.Context(t), "gang.job-group-scheduling", metav1.GetOptions{})
	harness.Must(t, err)
	if len(left.Data) != 1 || left.Data["started"] != "yes" || len(left.OwnerReferences) != 0 {
		t.Errorf("it is now %+v", left)
	}
	cluster.WaitForEvent(t, namespace, "gang", "gang.job-group-scheduling")
}
