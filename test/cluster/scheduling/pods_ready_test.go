package scheduling

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// The integration scenarios of KEP-349 and KEP-1282, with muster as the scheduler and
// timeouts of a few seconds.

// pace is what waitForPodsReady has to allow on this machine, under its present load.
type pace struct {
	late    time.Duration // time enough for a Job whose pods hollow nodes run
	backoff int           // seconds in which the tests see what is true until the backoff ends
}

// measurePace runs one Job. Beside the time that its pod takes to be counted as ready, the
// Job controller counts once a second, and Kubernetes' stamps, from which the time counts, have lost up to another
// one. The longest pace keeps the longest test within its own limit.
func measurePace(t *testing.T, cluster *harness.Cluster) pace {
	t.Helper()
	took := harness.StartUpTime(t, cluster, harness.HollowJob("pace", 1))
	late := min(max(5*time.Second, (2*took+2*time.Second).Round(time.Second)), 20*time.Second)
	its := pace{late: late, backoff: int(late/time.Second) / 2}
	t.Logf("a pod was ready after %v, so a Workload is late after %v and comes back %d s later", took, its.late, its.backoff)
	return its
}

// startPodsReadyMuster starts muster with waitForPodsReady; `rest` goes into its block.
func startPodsReadyMuster(t *testing.T, timeout time.Duration, rest string) {
	t.Helper()
	harness.StartQueueMuster(t, "--backoff-jitter", "0", "--config", harness.WriteFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady: {timeout: "+timeout.String()+", "+rest+"}\n"))
}

// letInWith does so with one flavor and so much quota.
func letInWith(t *testing.T, cluster *harness.Cluster, queues harness.Queues, flavor, cpu, preemption string) {
	t.Helper()
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, fmt.Sprintf(`{"spec":{"stopPolicy":"None",
		"preemption":{"withinClusterQueue":%q},"resourceGroups":[{"coveredResources":["cpu"],
		"flavors":[{"name":%q,"resources":[{"name":"cpu","nominalQuota":%q}]}]}]}}`, preemption, flavor, cpu))
}

// lateJob is one whose pod no node takes.
func lateJob(name string) *batchv1.Job {
	job := harness.QueuedJob(name, 1)
	job.Spec.Template.Spec.NodeSelector = map[string]string{"muster.batch/nowhere": "yes"}
	return job
}

func createLate(t *testing.T, cluster *harness.Cluster, queues harness.Queues, name string) {
	t.Helper()
	cluster.CreateJob(t, queues.Namespace, lateJob(name))
}

func workloadIs(t *testing.T, cluster *harness.Cluster, queues harness.Queues, job, what, kind, status, reason string) *unstructured.Unstructured {
	t.Helper()
	return cluster.WaitForWorkload(t, queues.Namespace, job, what, harness.HasCondition(kind, status, reason))
}

func tries(want any) func(*unstructured.Unstructured) error {
	return harness.FieldIs(want, "status", "requeueState", "count")
}

// evictions is how often a Workload was evicted for this reason and cause.
func evictions(workload *unstructured.Unstructured, reason, cause string) (count int64) {
	list, _, _ := unstructured.NestedSlice(workload.Object, "status", "schedulingStats", "evictions")
	for _, entry := range list {
		eviction := entry.(map[string]any)
		if eviction["reason"] == reason && fmt.Sprint(eviction["underlyingCause"]) == cause {
			count, _ = eviction["count"].(int64)
		}
	}
	return count
}

func TestPodsThatAreNotReadyInTime(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	its := measurePace(t, cluster)
	startPodsReadyMuster(t, its.late, fmt.Sprintf(
		"recoveryTimeout: 3s, requeuingStrategy: {backoffBaseSeconds: %d, backoffMaxSeconds: %d, backoffLimitCount: 2}", its.backoff, its.backoff))
	harness.RunBehaviours(t, cluster, []harness.Behaviour{
		{Name: "a late Workload is evicted, tried again, deactivated, and reactivated by hand", Run: lateWorkload},
		{Name: "a lost pod that is not replaced within recoveryTimeout costs the place", Run: lateRecovery},
	})
	for _, each := range []decision{
		{"others get the quota of a late Workload when its pods are gone", func(t *testing.T, teams *harness.Teams) {
			lateQuotaGoesOn(t, cluster, teams)
		}},
		{"a late Workload comes back behind who waited and on the flavor that has become free", func(t *testing.T, teams *harness.Teams) {
			lateComesBack(t, cluster, teams, "other", "late")
		}},
	} {
		t.Run(each.name, func(t *testing.T) {
			t.Parallel()
			each.run(t, cluster.Teams(t))
		})
	}
}

func lateWorkload(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	harness.LetIn(t, cluster, queues)
	createLate(t, cluster, queues, "train")
	workloadIs(t, cluster, queues, "train", "is admitted", "PodsReady", "False", "WaitForStart")
	evicted := cluster.WaitForWorkload(t, queues.Namespace, "train", "is evicted and has given its quota back",
		harness.HasCondition("Evicted", "True", "PodsReadyTimeout"), harness.HasCondition("Requeued", "False", "PodsReadyTimeout"),
		harness.Released, tries(1))
	if why := fmt.Sprint(harness.ConditionOf(evicted, "Evicted")["message"]); !strings.Contains(why, "cannot be scheduled (Unschedulable)") {
		t.Errorf("the eviction does not say why the pods were late: %q", why)
	}
	cluster.WaitForEvent(t, queues.Namespace, "train", "PodsNotReady", "cannot be scheduled (Unschedulable)")
	if count := evictions(evicted, "PodsReadyTimeout", "WaitForStart"); count != 1 {
		t.Errorf("its evictions are counted as %v", evicted.Object["status"])
	}
	harness.AwaitStopped(t, cluster, queues.Namespace, "train")
	workloadIs(t, cluster, queues, "train", "comes back after its backoff", "Requeued", "True", "BackoffFinished")
	workloadIs(t, cluster, queues, "train", "is tried again", "QuotaReserved", "True", "QuotaReserved")
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has had its second try", tries(2))

	end := cluster.WaitForWorkload(t, queues.Namespace, "train", "is deactivated", harness.FieldIs(false, "spec", "active"),
		harness.HasCondition("Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded"), harness.Released)
	harness.AwaitStopped(t, cluster, queues.Namespace, "train")
	if err := tries(2)(end); err != nil {
		t.Errorf("people cannot see how often it was tried: %v", err)
	}
	cluster.Patch(t, harness.Workloads, queues.Namespace, end.GetName(), `{"spec":{"active":true}}`)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "is tried again and its tries are forgotten",
		harness.HasCondition("QuotaReserved", "True", "QuotaReserved"), harness.FieldIs(nil, "status", "requeueState"))
	cluster.WaitForWorkload(t, queues.Namespace, "train", "begins a new count", tries(1))
	cluster.WaitForEvent(t, queues.Namespace, end.GetName(),
		"EvictedDueToPodsReadyTimeout", "EvictedDueToDeactivatedDueToRequeuingLimitExceeded")
	timeline.Check(t)
}

func lateRecovery(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	harness.LetIn(t, cluster, queues)
	job := harness.QueuedJob("train", 2)
	*job.Spec.BackoffLimit = 5
	cluster.CreateJob(t, queues.Namespace, job)
	workloadIs(t, cluster, queues, "train", "runs", "PodsReady", "True", "Started")
	// The Job controller waits ten seconds before it replaces a failed pod.
	cluster.EndHollowPods(t, queues.Namespace, 1)
	evicted := cluster.WaitForWorkload(t, queues.Namespace, "train", "is evicted", harness.HasCondition("Evicted", "True", "PodsReadyTimeout"), tries(1))
	if evictions(evicted, "PodsReadyTimeout", "WaitForRecovery") != 1 {
		t.Errorf("its evictions are counted as %v", evicted.Object["status"])
	}
	workloadIs(t, cluster, queues, "train", "comes back after its backoff", "Requeued", "True", "BackoffFinished")
}

// A Workload that is not ready keeps all others out, in all queues: one after the other.
func TestOneWorkloadAtATime(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	its := measurePace(t, cluster)
	startPodsReadyMuster(t, its.late, "recoveryTimeout: 1m, blockAdmission: true, requeuingStrategy: {timestamp: Creation, backoffBaseSeconds: 600}")
	for _, each := range []harness.Behaviour{
		{Name: "the next one is admitted when the one before is ready", Run: nextAfterReady},
		{Name: "the next one is admitted when the one before is late and evicted", Run: nextAfterLate},
		{Name: "the next one is admitted when the one before is deleted", Run: nextAfterDeleted},
		{Name: "a lost pod that is replaced in time costs nothing", Run: recoversInTime},
		{Name: "a preempted Workload does not come back before its preemptor", Run: noFlapping},
	} {
		t.Run(each.Name, func(t *testing.T) { each.Run(t, cluster, cluster.Queues(t)) })
	}
	t.Run("a Workload that waits for a check keeps nobody out for longer than the timeout", func(t *testing.T) {
		waitsForItsCheck(t, cluster.Teams(t), its.late)
	})
}

// awaitBlocked waits until the Workload says that it waits for that of the other job.
func awaitBlocked(t *testing.T, cluster *harness.Cluster, queues harness.Queues, job, by string) {
	t.Helper()
	blocker := cluster.WaitForWorkload(t, queues.Namespace, by, "is there").GetName()
	cluster.WaitForWorkload(t, queues.Namespace, job, "waits for "+by, harness.HasCondition("QuotaReserved", "False", "WaitingForPodsReady"),
		func(workload *unstructured.Unstructured) error {
			if message := fmt.Sprint(harness.ConditionOf(workload, "QuotaReserved")["message"]); !strings.Contains(message, queues.Namespace+"/"+blocker) {
				return fmt.Errorf("it says %q", message)
			}
			return nil
		})
	if !harness.Suspended(harness.GetJob(t, cluster, queues.Namespace, job)) {
		t.Errorf("%s is not suspended", job)
	}
}

func nextAfterReady(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	timeline := cluster.Timeline(t, queues.Namespace)
	const count = 5
	for i := range count {
		cluster.CreateJob(t, queues.Namespace, harness.QueuedJob(fmt.Sprint("train-", i), 1))
	}
	harness.LetIn(t, cluster, queues)
	for i := range count {
		workloadIs(t, cluster, queues, fmt.Sprint("train-", i), "is ready", "PodsReady", "True", "Started")
	}
	// The one before was ready when the next was admitted.
	var reserved, ready []time.Time
	for i := range count {
		workload := cluster.WaitForWorkload(t, queues.Namespace, fmt.Sprint("train-", i), "is there")
		reserved, ready = append(reserved, transition(t, workload, "QuotaReserved")), append(ready, transition(t, workload, "PodsReady"))
	}
	for i := range count {
		for j := range count {
			if reserved[i].Before(reserved[j]) && reserved[j].Before(ready[i]) {
				t.Errorf("train-%d was admitted at %v, while train-%d was not ready from %v to %v", j, reserved[j], i, reserved[i], ready[i])
			}
		}
	}
	timeline.Check(t)
}

func transition(t *testing.T, workload *unstructured.Unstructured, kind string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, fmt.Sprint(harness.ConditionOf(workload, kind)["lastTransitionTime"]))
	harness.Must(t, err)
	return at
}

// requeueAt is until when an evicted Workload is kept out.
func requeueAt(t *testing.T, workload *unstructured.Unstructured) time.Time {
	t.Helper()
	text, _, _ := unstructured.NestedString(workload.Object, "status", "requeueState", "requeueAt")
	at, err := time.Parse(time.RFC3339, text)
	harness.Must(t, err)
	return at
}

func nextAfterLate(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	createLate(t, cluster, queues, "late")
	harness.LetIn(t, cluster, queues)
	workloadIs(t, cluster, queues, "late", "is admitted", "Admitted", "True", "Admitted")
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("next", 1))
	awaitBlocked(t, cluster, queues, "next", "late")
	workloadIs(t, cluster, queues, "next", "is ready", "PodsReady", "True", "Started")
	cluster.WaitForWorkload(t, queues.Namespace, "late", "waits for its backoff", harness.HasCondition("Evicted", "True", "PodsReadyTimeout"),
		harness.HasCondition("Requeued", "False", "PodsReadyTimeout"), harness.Released, tries(1))
}

func nextAfterDeleted(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	createLate(t, cluster, queues, "late")
	harness.LetIn(t, cluster, queues)
	workloadIs(t, cluster, queues, "late", "is admitted", "Admitted", "True", "Admitted")
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("next", 1))
	awaitBlocked(t, cluster, queues, "next", "late")
	cluster.Kubectl(t, "", "delete", "job", "late", "-n", queues.Namespace, "--wait=false")
	workloadIs(t, cluster, queues, "next", "is ready", "PodsReady", "True", "Started")
}

func recoversInTime(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	harness.LetIn(t, cluster, queues)
	job := harness.QueuedJob("train", 1)
	*job.Spec.BackoffLimit = 5
	cluster.CreateJob(t, queues.Namespace, job)
	workloadIs(t, cluster, queues, "train", "runs", "PodsReady", "True", "Started")
	cluster.EndHollowPods(t, queues.Namespace, 1)
	workloadIs(t, cluster, queues, "train", "has lost a pod", "PodsReady", "False", "WaitForRecovery")
	recovered := workloadIs(t, cluster, queues, "train", "runs again", "PodsReady", "True", "Recovered")
	if len(harness.ConditionOf(recovered, "Evicted")) > 0 {
		t.Errorf("it was evicted: %v", recovered.Object["status"])
	}
}

func noFlapping(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	high := queues.Namespace + "-high"
	cluster.CreatePriorityClass(t, high, 1000)
	letInWith(t, cluster, queues, queues.Hollow, "10m", "LowerPriority")
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("low", 1))
	workloadIs(t, cluster, queues, "low", "is ready", "PodsReady", "True", "Started")
	preemptor := harness.QueuedJob("high", 1)
	preemptor.Labels[harness.PriorityLabel] = high
	cluster.CreateJob(t, queues.Namespace, preemptor)
	workloadIs(t, cluster, queues, "high", "is ready", "PodsReady", "True", "Started")
	low := cluster.WaitForWorkload(t, queues.Namespace, "low", "waits", harness.Released, harness.HasCondition("Requeued", "True", "Preempted"))
	if count := evictions(low, "Preempted", "<nil>") + evictions(low, "Preempted", ""); count != 1 {
		t.Errorf("it was preempted %d times: %v", count, low.Object["status"])
	}
	cluster.EndHollowPods(t, queues.Namespace, 0)
	workloadIs(t, cluster, queues, "low", "runs after it", "PodsReady", "True", "Started")
}
