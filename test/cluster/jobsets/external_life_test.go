package jobsets

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// Lives beside a foreign JobSet controller: restarts, suspends, ends and queues are its part, gangs and quota muster's.

// runWaits waits for the two workers of a run, which must not pass before the third pod has come.
func runWaits(t *testing.T, cluster *harness.Cluster, namespace string, uid types.UID, attempt string) {
	t.Helper()
	workers := cluster.WaitForJobSetPods(t, namespace, "train", 2, 2*time.Minute, "waiting in attempt "+attempt+" of "+string(uid), func(pod *corev1.Pod) bool {
		return harness.WaiterRuns(pod) && pod.Labels[harness.RestartAttemptLabel] == attempt && pod.Labels["jobset.sigs.k8s.io/jobset-uid"] == string(uid)
	})
	for _, pod := range workers {
		if harness.MainStarted(&pod) {
			t.Errorf("%s did not wait", pod.Name)
		}
	}
}

func runStarts(t *testing.T, cluster *harness.Cluster, namespace string) []corev1.Pod {
	t.Helper()
	harness.OpenGate(t, cluster, namespace)
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 3, 2*time.Minute, "started", harness.MainStarted)
	harness.CheckStartedTogether(t, pods)
	return pods
}

func TestBesideAForeignControllerEachRunOfAGangWaitsAnew(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	cluster.RealNode(t)
	flags := []string{"--jobset-controller", "external", "--waiter-image", harness.MusterImage}
	muster := harness.StartMuster(t, flags...)
	harness.Eventually(t, 20*time.Second, "the field is added", func() error { return foreign.KnowsGroups(t) })
	namespace := cluster.Namespace(t, nil)
	gang := harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.RealPod("sleep 600"), namespace)}), 300)
	harness.Set(gang, int64(1), "spec", "failurePolicy", "maxRestarts")
	uid := cluster.CreateJobSet(t, namespace, gang).GetUID()
	runWaits(t, cluster, namespace, uid, "0")
	pods := runStarts(t, cluster, namespace)

	// A restart: the foreign controller makes new Jobs.
	harness.ShutGate(t, cluster)
	harness.Must(t, cluster.Client.CoreV1().Pods(namespace).Delete(harness.Context(t), pods[0].Name, metav1.DeleteOptions{}))
	runWaits(t, cluster, namespace, uid, "1")
	runStarts(t, cluster, namespace)

	// Suspend and resume: the same Jobs, the same attempt.
	cluster.PatchJobSet(t, namespace, "train", `{"spec":{"suspend":true}}`)
	cluster.WaitForNoPods(t, namespace, "train")
	harness.ShutGate(t, cluster)
	cluster.PatchJobSet(t, namespace, "train", `{"spec":{"suspend":false}}`)
	runWaits(t, cluster, namespace, uid, "1")
	runStarts(t, cluster, namespace)

	// Another of the same name, and muster dies while it waits: nothing passes, and the deadline stays.
	harness.ShutGate(t, cluster)
	background := metav1.DeletePropagationBackground
	harness.Must(t, cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Delete(harness.Context(t), "train",
		metav1.DeleteOptions{PropagationPolicy: &background}))
	uid = cluster.CreateJobSet(t, namespace, gang).GetUID()
	runWaits(t, cluster, namespace, uid, "0")
	before := deadlineOf(t, cluster, namespace)
	muster.Kill(t)
	next := harness.StartMuster(t, flags...)
	harness.Eventually(t, time.Minute, "the next muster leads", func() error {
		if !next.Leads(t) {
			return errors.New("it does not")
		}
		return nil
	})
	if after := deadlineOf(t, cluster, namespace); after != before {
		t.Errorf("the deadline was %s and is %s", before, after)
	}
	runStarts(t, cluster, namespace)
}

// deadlineOf waits for the deadline of the gang of the JobSet "train" in its ConfigMap: muster writes it once it has seen a waiter.
func deadlineOf(t *testing.T, cluster *harness.Cluster, namespace string) string {
	t.Helper()
	deadline := ""
	harness.Eventually(t, 20*time.Second, "the deadline is written", func() error {
		decided, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(harness.Context(t), "train-group-scheduling", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if deadline = decided.Data["deadlines"]; deadline == "" {
			return fmt.Errorf("%v", decided.Data)
		}
		return nil
	})
	return deadline
}

func TestBesideAForeignControllerAGangThatExpiresEndsForGood(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	cluster.RealNode(t)
	harness.StartMuster(t, "--jobset-controller", "external", "--waiter-image", harness.MusterImage)
	harness.Eventually(t, 20*time.Second, "the field is added", func() error { return foreign.KnowsGroups(t) })
	namespace := cluster.Namespace(t, nil)
	expiring := func(name, onTimeout string) *unstructured.Unstructured {
		gang := harness.GroupScheduling(harness.JobSetOf(name,
			harness.ReplicatedJob{Name: "workers", Template: harness.RealPod("sleep 600")},
			harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.RealPod("sleep 600"), "never")}), 4)
		harness.Set(gang, onTimeout, "spec", "groupSchedulingConfig", "onTimeout")
		harness.Set(gang, int64(2), "spec", "failurePolicy", "maxRestarts")
		return gang
	}
	cluster.CreateJobSet(t, namespace, expiring("fails", "Fail"))
	cluster.CreateJobSet(t, namespace, expiring("pauses", "Suspend"))
	brief := expiring("brief", "Fail")
	harness.Set(brief, int64(1), "spec", "ttlSecondsAfterFinished")
	cluster.CreateJobSet(t, namespace, brief)

	failed := cluster.WaitForJobSet(t, namespace, "fails", time.Minute, "failed", harness.HasCondition("Failed", "True", "GroupSchedulingTimeout"))
	cluster.WaitForNoPods(t, namespace, "fails")
	if restarts, _, _ := unstructured.NestedInt64(failed.Object, "status", "restarts"); restarts != 0 {
		t.Errorf("%d restarts", restarts)
	}
	cluster.WaitForJobSet(t, namespace, "pauses", time.Minute, "suspended", harness.FieldIs(true, "spec", "suspend"))
	cluster.WaitForNoPods(t, namespace, "pauses")
	cluster.AwaitGone(t, harness.JobSets, namespace, "brief")
}

// queuedTwoPods is a JobSet of two pods of a cpu each, with all that upstream's webhook would default written out.
func queuedTwoPods(name, queue, class string) *unstructured.Unstructured {
	template := harness.RealPod("sleep 600")
	template.Spec.NodeSelector, template.Spec.Tolerations = nil, nil
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	jobSet := harness.JobSetOf(name, harness.ReplicatedJob{Name: "workers", Pods: 2, Template: template})
	replicated, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	harness.Set(&unstructured.Unstructured{Object: replicated[0].(map[string]any)}, "Indexed", "template", "spec", "completionMode")
	harness.Set(jobSet, replicated, "spec", "replicatedJobs")
	jobSet.SetLabels(harness.Queue(queue))
	if class != "" {
		jobSet.SetLabels(map[string]string{harness.QueueLabel: queue, harness.PriorityLabel: class})
	}
	return jobSet
}

func TestBesideAForeignControllerAQueuedJobSetIsAppliedAgainPreemptedAndResumed(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	cluster.RealNode(t)
	harness.StartMuster(t, "--jobset-controller", "external", "--waiter-image", harness.MusterImage)
	foreign.Guard(t)
	teams := cluster.Teams(t)
	teams.RealFlavor("f")
	teams.Class("high", 100)
	teams.Queue("q", teams.Cpus("f=20m"), map[string]any{"preemption": map[string]any{"withinClusterQueue": "LowerPriority"}})
	manifest := harness.ToJSON(t, queuedTwoPods("low", "q", "").Object)
	apply := func() { cluster.Kubectl(t, manifest, "apply", "-n", teams.Namespace, "-f", "-") }
	apply()
	teams.Admitted("low")
	first := map[types.UID]bool{}
	for _, pod := range cluster.WaitForJobSetPods(t, teams.Namespace, "low", 2, time.Minute, "running", harness.IsRunning) {
		first[pod.UID] = true
	}

	// What muster has put into the templates is not in the manifest.
	apply()
	for _, pod := range cluster.WaitForJobSetPods(t, teams.Namespace, "low", 2, time.Minute, "running", harness.IsRunning) {
		if !first[pod.UID] {
			t.Errorf("%s is not of the first run", pod.Name)
		}
	}

	cluster.CreateJobSet(t, teams.Namespace, queuedTwoPods("high", "q", teams.Name("high")))
	teams.Admitted("high")
	teams.Await("low", "was preempted", harness.HasCondition("Preempted", "True", "InClusterQueue"), harness.Released)
	cluster.WaitForNoPods(t, teams.Namespace, "low")
	cluster.WaitForJobSetPods(t, teams.Namespace, "high", 2, time.Minute, "running", harness.IsRunning)
	cluster.Delete(t, harness.JobSets, teams.Namespace, "high", metav1.DeletePropagationForeground)
	teams.Admitted("low")
	cluster.WaitForJobSetPods(t, teams.Namespace, "low", 2, time.Minute, "running again", harness.IsRunning)
}
