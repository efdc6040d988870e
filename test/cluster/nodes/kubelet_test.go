package nodes

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"muster.batch/test/cluster/harness"
)

// The tests here write the barrier's ConfigMap by hand: they are about the
// contract between the waiter and a real kubelet (jobs/group_scheduling.h).

const (
	// releasedWithin is how long a nudged pod can take to leave its waiter, by
	// clocks that tick in seconds. Without a nudge it would take a minute or more.
	releasedWithin = 10 * time.Second
)

// barrierEnds are the two decisions about a group and what they do to its pods.
// Where pods fail there is one: the Job controller deletes the others of a Job
// that has failed, and then they never fail by themselves.
var barrierEnds = map[string]struct {
	pods     int32
	exitCode int32
	reached  func(*corev1.Pod) bool
}{
	"started": {3, 0, func(pod *corev1.Pod) bool { return !harness.StartedAt(pod, "main").IsZero() }},
	"expired": {1, 1, harness.Phase(corev1.PodFailed)},
}

func TestKubeletRunsAPodToItsEnd(t *testing.T) {
	cluster := harness.Connect(t)
	node := cluster.RealNode(t)
	namespace := cluster.Namespace(t, nil)

	cluster.CreateJob(t, namespace, harness.RealJob("simple", 1, "echo it runs"))
	pod := cluster.WaitForPods(t, namespace, "simple", 1, time.Minute, "succeeded", harness.Phase(corev1.PodSucceeded))[0]
	if pod.Spec.NodeName != node {
		t.Errorf("it ran on %s", pod.Spec.NodeName)
	}
	if log := cluster.Kubectl(t, "", "logs", "-n", namespace, pod.Name); log != "it runs\n" {
		t.Errorf("its log is %q", log)
	}
	cluster.WaitForJob(t, namespace, "simple", time.Minute, batchv1.JobComplete)
}

func TestMustersImageRunsInAPod(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.RealJob("version", 1, "")
	main := &job.Spec.Template.Spec.Containers[0]
	main.Image, main.Command, main.Args = harness.MusterImage, nil, []string{"version"}

	cluster.CreateJob(t, namespace, job)
	pod := cluster.WaitForPods(t, namespace, "version", 1, time.Minute, "succeeded", harness.Phase(corev1.PodSucceeded))[0]
	if log := cluster.Kubectl(t, "", "logs", "-n", namespace, pod.Name); !strings.HasPrefix(log, "muster ") {
		t.Errorf("its log is %q", log)
	}
}

func TestNudgedKubeletShowsTheDecisionToTheWaiter(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	for key, end := range barrierEnds {
		t.Run(key, func(t *testing.T) {
			namespace := cluster.Namespace(t, nil)
			job := harness.RealJob("gang", end.pods, "sleep 600")
			harness.AddWaiter(&job.Spec.Template, "gate")
			cluster.CreateJob(t, namespace, job)
			pods := cluster.WaitForPods(t, namespace, "gang", int(end.pods), time.Minute, "waiting", harness.WaiterRuns)

			harness.WriteDecision(t, cluster, namespace, "gate", map[string]string{key: harness.WaiterToken})
			decided := time.Now()
			released := nudgeUntil(t, cluster, namespace, pods, end.reached)
			for _, pod := range released {
				if code := harness.ExitCode(t, &pod, harness.BarrierContainer); code != end.exitCode {
					t.Errorf("the waiter of %s ended with %d", pod.Name, code)
				}
				if ran := !harness.StartedAt(&pod, "main").IsZero(); ran != (end.exitCode == 0) {
					t.Errorf("the main container of %s ran: %t", pod.Name, ran)
				}
				ended := harness.ContainerStatus(&pod, harness.BarrierContainer).State.Terminated.FinishedAt.Time
				if took := ended.Sub(decided); took > harness.UnderLoad(releasedWithin) {
					t.Errorf("the waiter of %s ended %s after the decision", pod.Name, took)
				}
			}
		})
	}
}

// nudgeUntil nudges those pods of the Job "gang" that have not got there, again and
// again: one nudge can overtake the ConfigMap on its way to the kubelet.
func nudgeUntil(t *testing.T, cluster *harness.Cluster, namespace string, pods []corev1.Pod,
	reached func(*corev1.Pod) bool) []corev1.Pod {
	t.Helper()
	const again = 3 * time.Second
	harness.NudgePods(t, cluster, namespace, pods)
	nudged := time.Now()
	return cluster.WaitForPods(t, namespace, "gang", len(pods), time.Minute, "past the barrier", func(pod *corev1.Pod) bool {
		if reached(pod) {
			return true
		}
		if time.Since(nudged) > again {
			nudged = time.Now()
			harness.NudgePods(t, cluster, namespace, pods)
		}
		return false
	})
}

func TestAnotherRunsTokenDoesNotOpenTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.RealJob("gang", 1, "sleep 600")
	harness.AddWaiter(&job.Spec.Template, "gate")
	cluster.CreateJob(t, namespace, job)
	pods := cluster.WaitForPods(t, namespace, "gang", 1, time.Minute, "waiting", harness.WaiterRuns)

	// Both are decided, and the kubelet shows both to the waiter at once: that it
	// ends with 1 shows that it has read the other run's token and not taken it.
	harness.WriteDecision(t, cluster, namespace, "gate", map[string]string{"started": "owner/0/epoch-0\n", "expired": harness.WaiterToken})
	released := nudgeUntil(t, cluster, namespace, pods, harness.Phase(corev1.PodFailed))
	if code := harness.ExitCode(t, &released[0], harness.BarrierContainer); code != 1 {
		t.Errorf("the waiter ended with %d", code)
	}
}

func TestRestrictedNamespaceRunsTheInjectedWaiter(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	namespace := cluster.Namespace(t, map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
	})
	job := harness.RealJob("gang", 2, "sleep 600")
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "300"}
	restrict(&job.Spec.Template.Spec)

	muster := harness.StartMuster(t)
	made := cluster.CreateJob(t, namespace, job)
	pods := cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "waiting", harness.WaiterRuns)
	// From here on only this test opens the barrier.
	muster.Stop(t)

	epoch := made.Spec.Template.Annotations[harness.EpochAnnotation]
	harness.WriteDecision(t, cluster, namespace, "gang.job-group-scheduling", map[string]string{"started": string(made.UID) + "/0/" + epoch})
	for _, pod := range nudgeUntil(t, cluster, namespace, pods, barrierEnds["started"].reached) {
		if code := harness.ExitCode(t, &pod, harness.BarrierContainer); code != 0 {
			t.Errorf("the waiter of %s ended with %d", pod.Name, code)
		}
	}
}

// restrict makes the pod's own containers pass the restricted Pod Security level.
func restrict(spec *corev1.PodSpec) {
	yes, no, user := true, false, int64(1000)
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &user,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
