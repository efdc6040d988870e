package scheduling

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// waitForPodsReady with a node that has no room, and with pods that fail: what the hollow
// nodes only say, a kubelet does. Pods and tests talk through folders, as lab and tests
// are on one machine.

// tell makes a file that pods look for.
func tell(t *testing.T, folder, what string) {
	t.Helper()
	harness.Must(t, os.WriteFile(filepath.Join(folder, what), nil, 0o600))
}

// ofNode is this many hundredths of what the real node has for pods.
func ofNode(t *testing.T, cluster *harness.Cluster, percent int64) resource.Quantity {
	t.Helper()
	return *resource.NewMilliQuantity(cluster.AllocatableCPU(t, cluster.RealNode(t))*percent/100, resource.DecimalSI)
}

// bigJob is a queued Job of which each pod takes this many hundredths of the real node.
func bigJob(t *testing.T, cluster *harness.Cluster, name string, pods int32, percent int64, command string) *batchv1.Job {
	t.Helper()
	job := harness.QueuedJob(name, pods)
	main := &job.Spec.Template.Spec.Containers[0]
	main.Command = []string{"sh", "-c", command}
	main.Resources.Requests[corev1.ResourceCPU] = ofNode(t, cluster, percent)
	return job
}

// createFiller makes a pod that no queue knows and that takes this many hundredths of the real node.
func createFiller(t *testing.T, cluster *harness.Cluster, namespace string, percent int64) {
	t.Helper()
	filler := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "filler"}, Spec: harness.RealPod("sleep 600").Spec}
	filler.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: ofNode(t, cluster, percent)}
	_, err := cluster.Client.CoreV1().Pods(namespace).Create(harness.Context(t), filler, harness.ForReal)
	harness.Must(t, err)
}

// findsNoNode is a condition for pods: the scheduler has looked and found no room.
func findsNoNode(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

func TestPodsThatAreNotReadyOnAKubelet(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	startPodsReadyMuster(t, 8*time.Second, "requeuingStrategy: {backoffBaseSeconds: 2, backoffMaxSeconds: 2}")
	doesNotFit(t, cluster, cluster.Queues(t))
}

// doesNotFit: there is quota for both pods of the first Job, but no room on the node. It
// leaves, the next one gets its quota and runs, and the first comes back and has room.
func doesNotFit(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	createFiller(t, cluster, queues.Namespace, 30)
	cluster.WaitForPod(t, queues.Namespace, "filler", time.Minute, "runs", harness.Phase(corev1.PodRunning))
	quota := ofNode(t, cluster, 90)
	letInWith(t, cluster, queues, queues.Real, quota.String(), "Never")
	cluster.CreateJob(t, queues.Namespace, bigJob(t, cluster, "big", 2, 45, "sleep 600"))
	cluster.WaitForPods(t, queues.Namespace, "big", 1, time.Minute, "runs", harness.Phase(corev1.PodRunning))
	cluster.WaitForPods(t, queues.Namespace, "big", 1, time.Minute, "finds no node", findsNoNode)
	cluster.CreateJob(t, queues.Namespace, bigJob(t, cluster, "next", 1, 45, "sleep 1"))
	workloadIs(t, cluster, queues, "next", "waits for quota", "QuotaReserved", "False", "WaitingForQuota")

	late := cluster.WaitForWorkload(t, queues.Namespace, "big", "is evicted", harness.HasCondition("Evicted", "True", "PodsReadyTimeout"), tries(1))
	if evictions(late, "PodsReadyTimeout", "WaitForStart") != 1 {
		t.Errorf("its evictions are counted as %v", late.Object["status"])
	}
	cluster.Kubectl(t, "", "delete", "pod", "filler", "-n", queues.Namespace)
	workloadIs(t, cluster, queues, "next", "runs to its end", "Finished", "True", "Succeeded")

	again := workloadIs(t, cluster, queues, "big", "comes back and runs", "PodsReady", "True", "Started")
	if requeued := harness.ConditionOf(again, "Requeued"); requeued["status"] != "True" || requeued["reason"] != "BackoffFinished" {
		t.Errorf("it came back by %v", requeued)
	}
	if at, wanted := transition(t, again, "QuotaReserved"), requeueAt(t, late); at.Before(wanted) {
		t.Errorf("it came back at %v, and its backoff lasted until %v", at, wanted)
	}
}

// The Job controller replaces a failed pod after ten seconds.
const kubeletRecovery = 20 * time.Second

func TestPodsThatFailOnAKubelet(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	startPodsReadyMuster(t, time.Minute, "recoveryTimeout: "+kubeletRecovery.String()+", requeuingStrategy: {backoffBaseSeconds: 600}")
	harness.RunBehaviours(t, cluster, []harness.Behaviour{
		{Name: "a failed pod that is replaced within recoveryTimeout costs nothing", Run: failsAndRecovers},
		{Name: "a failed pod whose replacement finds no node in time costs the place", Run: failsForGood},
	})
}

// failsWhenTold ends one of the pods that run it for each file "fail".
const failsWhenTold = "until rm " + harness.SharedFolder + "/fail 2>/dev/null; do sleep 0.1; done; exit 1"

// startFailing makes the Job "train" of two pods that fail on a signal, and returns the folder of the signal when they
// run.
func startFailing(t *testing.T, cluster *harness.Cluster, queues harness.Queues, percent int64) string {
	t.Helper()
	letInWith(t, cluster, queues, queues.Real, "1000", "Never")
	job := bigJob(t, cluster, "train", 2, percent, failsWhenTold)
	*job.Spec.BackoffLimit = 5
	folder := harness.ShareFolder(t, &job.Spec.Template.Spec)
	cluster.CreateJob(t, queues.Namespace, job)
	workloadIs(t, cluster, queues, "train", "runs", "PodsReady", "True", "Started")
	return folder
}

func failsAndRecovers(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	folder := startFailing(t, cluster, queues, 1)
	before := cluster.PodsOfJob(t, queues.Namespace, "train")
	tell(t, folder, "fail")
	workloadIs(t, cluster, queues, "train", "has lost a pod", "PodsReady", "False", "WaitForRecovery")
	recovered := workloadIs(t, cluster, queues, "train", "runs again", "PodsReady", "True", "Recovered")
	if len(harness.ConditionOf(recovered, "Evicted")) > 0 {
		t.Errorf("it was evicted: %v", recovered.Object["status"])
	}
	survived := 0
	for _, pod := range cluster.WaitForPods(t, queues.Namespace, "train", 2, time.Minute, "run", harness.Phase(corev1.PodRunning)) {
		for _, each := range before {
			if each.UID == pod.UID {
				survived++
			}
		}
	}
	if failed := harness.GetJob(t, cluster, queues.Namespace, "train").Status.Failed; survived != 1 || failed != 1 {
		t.Errorf("%d of the first two pods survived, and the Job counts %d as failed", survived, failed)
	}
}

func failsForGood(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	folder := startFailing(t, cluster, queues, 45)
	createFiller(t, cluster, queues.Namespace, 45)
	cluster.WaitForPod(t, queues.Namespace, "filler", time.Minute, "finds no node", findsNoNode)
	tell(t, folder, "fail")
	lost := workloadIs(t, cluster, queues, "train", "has lost a pod", "PodsReady", "False", "WaitForRecovery")
	cluster.WaitForPod(t, queues.Namespace, "filler", time.Minute, "has taken its place", harness.Phase(corev1.PodRunning))
	cluster.WaitForPods(t, queues.Namespace, "train", 1, time.Minute, "finds no node", findsNoNode)

	evicted := cluster.WaitForWorkload(t, queues.Namespace, "train", "is evicted and has given its quota back",
		harness.HasCondition("Evicted", "True", "PodsReadyTimeout"), harness.HasCondition("Requeued", "False", "PodsReadyTimeout"),
		harness.Released, tries(1))
	if evictions(evicted, "PodsReadyTimeout", "WaitForRecovery") != 1 {
		t.Errorf("its evictions are counted as %v", evicted.Object["status"])
	}
	if waited := transition(t, evicted, "Evicted").Sub(transition(t, lost, "PodsReady")); waited < kubeletRecovery {
		t.Errorf("it was evicted %s after it had lost a pod", waited)
	}
	harness.AwaitStopped(t, cluster, queues.Namespace, "train")
}

// gangSize pods of a gang fill the real node; quota there is for any number of gangs.
const (
	gangSize    = 3
	gangPercent = 30
	gangGate    = "muster.batch/test"
)

// meets ends when all pods of its Job run it at once and the Job can end.
var meets = fmt.Sprintf("touch %[1]s/$(hostname); until [ $(ls %[1]s | wc -l) -eq %[2]d ] && [ -e %[1]s/.go ]; do sleep 0.1; done",
	harness.SharedFolder, gangSize)

// createGang makes a Job whose pods need each other, and returns the folder where they
// meet. No pod looks for a node before it is sent.
func createGang(t *testing.T, cluster *harness.Cluster, namespace, name string, edit ...func(*batchv1.Job)) string {
	t.Helper()
	job := bigJob(t, cluster, name, gangSize, gangPercent, meets)
	job.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gangGate}}
	folder := harness.ShareFolder(t, &job.Spec.Template.Spec)
	for _, each := range edit {
		each(job)
	}
	cluster.CreateJob(t, namespace, job)
	return folder
}

func isGated(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

// send lets this many more pods of a gang look for a node, when all of them are there.
func send(t *testing.T, cluster *harness.Cluster, namespace, name string, count int) {
	t.Helper()
	harness.Eventually(t, time.Minute, "the pods of "+name, func() error {
		if there := len(cluster.PodsOfJob(t, namespace, name)); there != gangSize {
			return fmt.Errorf("%d are there", there)
		}
		return nil
	})
	for _, pod := range cluster.PodsOfJob(t, namespace, name) {
		if count == 0 || !isGated(&pod) {
			continue
		}
		count--
		_, err := cluster.Client.CoreV1().Pods(namespace).Patch(harness.Context(t), pod.Name, types.MergePatchType,
			[]byte(`{"spec":{"schedulingGates":[]}}`), metav1.PatchOptions{})
		harness.Must(t, err)
	}
	if count > 0 {
		t.Fatalf("%d pods too few of %s were there to be sent", count, name)
	}
}

// awaitSplit waits until this many pods of a gang run and the scheduler has no room for
// the others.
func awaitSplit(t *testing.T, cluster *harness.Cluster, namespace, name string, running int) {
	t.Helper()
	cluster.WaitForPods(t, namespace, name, running, time.Minute, "run", harness.Phase(corev1.PodRunning))
	cluster.WaitForPods(t, namespace, name, gangSize-running, time.Minute, "find no node", findsNoNode)
}

// KEP-349, story 1: each of two Jobs has a part of the node that both need all of.
func TestTwoJobsThatNeedAllOfTheirPodsOnAKubelet(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	t.Run("without a queue they wait for each other until one is deleted", gangsDeadlock)
	startPodsReadyMuster(t, 2*time.Minute, "blockAdmission: true")
	t.Run("with a queue both finish one after the other", gangsTakeTurns)
}

func gangsDeadlock(t *testing.T) {
	cluster := harness.Connect(t)
	namespace := cluster.Namespace(t, nil)
	plain := func(job *batchv1.Job) {
		delete(job.Labels, harness.QueueLabel)
		harness.OnRealNode(&job.Spec.Template.Spec)
	}
	for _, name := range []string{"one", "other"} {
		tell(t, createGang(t, cluster, namespace, name, plain), ".go")
	}
	send(t, cluster, namespace, "one", 2)
	send(t, cluster, namespace, "other", 1)
	cluster.WaitForPods(t, namespace, "one", 2, time.Minute, "run", harness.Phase(corev1.PodRunning))
	cluster.WaitForPods(t, namespace, "other", 1, time.Minute, "run", harness.Phase(corev1.PodRunning))
	send(t, cluster, namespace, "one", 1)
	send(t, cluster, namespace, "other", 2)
	awaitSplit(t, cluster, namespace, "one", 2)
	awaitSplit(t, cluster, namespace, "other", 1)
	// Once more, so that there is a moment at which both are held up. That it is each other
	// that they wait for is shown by what ends it.
	awaitSplit(t, cluster, namespace, "one", 2)
	for _, name := range []string{"one", "other"} {
		if status := harness.GetJob(t, cluster, namespace, name).Status; len(status.Conditions) > 0 || status.Succeeded+status.Failed > 0 {
			t.Errorf("%s has come to %+v", name, status)
		}
	}
	cluster.Delete(t, harness.Jobs, namespace, "other", metav1.DeletePropagationForeground)
	cluster.WaitForJob(t, namespace, "one", time.Minute, batchv1.JobComplete)
	cluster.AwaitGone(t, harness.Jobs, namespace, "other")
}

func gangsTakeTurns(t *testing.T) {
	cluster := harness.Connect(t)
	queues := cluster.Queues(t)
	letInWith(t, cluster, queues, queues.Real, "1000", "Never")
	one := createGang(t, cluster, queues.Namespace, "one")
	workloadIs(t, cluster, queues, "one", "is admitted", "Admitted", "True", "Admitted")
	send(t, cluster, queues.Namespace, "one", 2)
	other := createGang(t, cluster, queues.Namespace, "other")
	awaitBlocked(t, cluster, queues, "other", "one")
	if pods := cluster.PodsOfJob(t, queues.Namespace, "other"); len(pods) > 0 {
		t.Errorf("%d pods of it are there", len(pods))
	}

	send(t, cluster, queues.Namespace, "one", 1)
	ready := workloadIs(t, cluster, queues, "one", "is ready", "PodsReady", "True", "Started")
	admitted := workloadIs(t, cluster, queues, "other", "is admitted", "Admitted", "True", "Admitted")
	if first, second := transition(t, ready, "PodsReady"), transition(t, admitted, "QuotaReserved"); second.Before(first) {
		t.Errorf("the other was let in at %v, before the one was ready at %v", second, first)
	}
	send(t, cluster, queues.Namespace, "other", gangSize)
	awaitSplit(t, cluster, queues.Namespace, "other", 0)
	tell(t, one, ".go")
	cluster.WaitForJob(t, queues.Namespace, "one", time.Minute, batchv1.JobComplete)
	tell(t, other, ".go")
	cluster.WaitForJob(t, queues.Namespace, "other", time.Minute, batchv1.JobComplete)
	for _, name := range []string{"one", "other"} {
		end := workloadIs(t, cluster, queues, name, "is finished", "Finished", "True", "Succeeded")
		if len(harness.ConditionOf(end, "Evicted")) > 0 {
			t.Errorf("%s was evicted: %v", name, end.Object["status"])
		}
	}
}
