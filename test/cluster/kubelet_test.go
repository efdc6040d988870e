package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// The tests here write the barrier's ConfigMap by hand: they are about the
// contract between the waiter and a real kubelet (jobs/group_scheduling.h).

const (
	epochAnnotation = "muster.batch/group-scheduling-epoch"
	nudgeAnnotation = "muster.batch/group-scheduling-nudge"
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

// token of the runs that wait makes.
const token = "owner/0/epoch-1"

// wait puts a waiter for the ConfigMap before the containers of a template, as
// muster's webhook would.
func wait(template *corev1.PodTemplateSpec, configMap string) {
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	template.Annotations[epochAnnotation] = "epoch-1"
	yes := true
	template.Spec.InitContainers = append(template.Spec.InitContainers, corev1.Container{
		Name: harness.BarrierContainer, Image: harness.MusterImage,
		Command: []string{"/muster-wait"}, Args: []string{"--dir=/mnt/group-scheduling", "--timeout-seconds=300"},
		Env: []corev1.EnvVar{
			{Name: "MUSTER_OWNER_UID", Value: "owner"},
			{Name: "MUSTER_RESTART_ATTEMPT", Value: "0"},
			{Name: "MUSTER_EPOCH", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: "metadata.annotations['" + epochAnnotation + "']",
			}}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: harness.BarrierVolume, MountPath: "/mnt/group-scheduling", ReadOnly: true}},
	})
	template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{
		Name: harness.BarrierVolume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Optional: &yes,
		}},
	})
}

// decide writes the ConfigMap that the waiters watch, as muster: its webhooks let no other user.
func decide(t *testing.T, cluster *harness.Cluster, namespace, name string, data map[string]string) {
	t.Helper()
	configMaps, ctx := impersonate(t, cluster, "system:serviceaccount:muster-system:muster", "system:masters").CoreV1().ConfigMaps(namespace), harness.Context(t)
	decided := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := configMaps.Create(ctx, decided, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = configMaps.Update(ctx, decided, metav1.UpdateOptions{})
	}
	must(t, err)
}

// nudge changes an annotation of every pod, with its status as muster does, so that the kubelet syncs it.
func nudge(t *testing.T, cluster *harness.Cluster, namespace string, pods []corev1.Pod) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, nudgeAnnotation, fmt.Sprint(time.Now().UnixNano()))
	outcome := harness.Load(harness.Context(t), 32, len(pods), func(number int) error {
		_, err := cluster.Client.CoreV1().Pods(namespace).Patch(harness.Context(t), pods[number].Name,
			types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
	if outcome.Failed > 0 {
		t.Fatalf("nudging: %s", outcome)
	}
}

// realJob is a Job on the kubelet whose containers run a shell command.
func realJob(name string, pods int32, command string) *batchv1.Job {
	job := harness.Job(name, nil)
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &pods, &pods, new(int32)
	spec := &job.Spec.Template.Spec
	harness.OnRealNode(spec)
	spec.TerminationGracePeriodSeconds = new(int64)
	main := &spec.Containers[0]
	main.Image, main.ImagePullPolicy = harness.BusyboxImage, corev1.PullIfNotPresent
	main.Command = []string{"sh", "-c", command}
	return job
}

func TestKubeletRunsAPodToItsEnd(t *testing.T) {
	cluster := harness.Connect(t)
	node := cluster.RealNode(t)
	namespace := cluster.Namespace(t, nil)

	cluster.CreateJob(t, namespace, realJob("simple", 1, "echo it runs"))
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
	job := realJob("version", 1, "")
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
			job := realJob("gang", end.pods, "sleep 600")
			wait(&job.Spec.Template, "gate")
			cluster.CreateJob(t, namespace, job)
			pods := cluster.WaitForPods(t, namespace, "gang", int(end.pods), time.Minute, "waiting", harness.WaiterRuns)

			decide(t, cluster, namespace, "gate", map[string]string{key: token})
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
	nudge(t, cluster, namespace, pods)
	nudged := time.Now()
	return cluster.WaitForPods(t, namespace, "gang", len(pods), time.Minute, "past the barrier", func(pod *corev1.Pod) bool {
		if reached(pod) {
			return true
		}
		if time.Since(nudged) > again {
			nudged = time.Now()
			nudge(t, cluster, namespace, pods)
		}
		return false
	})
}

func TestAnotherRunsTokenDoesNotOpenTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	namespace := cluster.Namespace(t, nil)
	job := realJob("gang", 1, "sleep 600")
	wait(&job.Spec.Template, "gate")
	cluster.CreateJob(t, namespace, job)
	pods := cluster.WaitForPods(t, namespace, "gang", 1, time.Minute, "waiting", harness.WaiterRuns)

	// Both are decided, and the kubelet shows both to the waiter at once: that it
	// ends with 1 shows that it has read the other run's token and not taken it.
	decide(t, cluster, namespace, "gate", map[string]string{"started": "owner/0/epoch-0\n", "expired": token})
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
	job := realJob("gang", 2, "sleep 600")
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "300"}
	restrict(&job.Spec.Template.Spec)

	muster := harness.StartMuster(t)
	made := cluster.CreateJob(t, namespace, job)
	pods := cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "waiting", harness.WaiterRuns)
	// From here on only this test opens the barrier.
	muster.Stop(t)

	epoch := made.Spec.Template.Annotations[epochAnnotation]
	decide(t, cluster, namespace, "gang.job-group-scheduling", map[string]string{"started": string(made.UID) + "/0/" + epoch})
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
