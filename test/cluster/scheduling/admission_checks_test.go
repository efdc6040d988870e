package scheduling

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Admission checks on queues and flavors, with muster as the scheduler and the tests as the
// controllers of the checks.

func TestAdmissionChecksDecideOnWhoHasQuota(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	runDecisions(t, cluster, checkedQueues(cluster))
}

func checkedQueues(cluster *harness.Cluster) []decision {
	with := func(run func(*testing.T, *harness.Cluster, *harness.Teams)) func(*testing.T, *harness.Teams) {
		return func(t *testing.T, teams *harness.Teams) { run(t, cluster, teams) }
	}
	return []decision{
		{"a Workload has its quota and does not start until the last check is ready", with(lastCheckAdmits)},
		{"what checks want in the pods is there as long as the Job runs", with(updatesOfPods)},
		{"what a check wants in one pod set of a JobSet is in no other", with(updatesOfOnePodSet)},
		{"a check that wants a retry gives the quota to others and asks again in its time", retriedCheck},
		{"a rejected check deactivates a Workload that waits for it and one that runs", with(rejectedCheck)},
		{"a check of one flavor is for the Workloads that got that flavor", checkOfOneFlavor},
		{"a check that its queue gives up is waited for no more and a new one is asked too", changedChecks},
		{"a queue whose check cannot work says so and its Jobs run on", inactiveCheck},
	}
}

// trainBehindTwoChecks makes the Job "train", the first in the queue q, where the checks a and b are asked.
func trainBehindTwoChecks(teams *harness.Teams) {
	teams.Flavor("f")
	teams.Check("a")
	teams.Check("b")
	teams.Queue("q", teams.Cpus("f=1"), teams.Checks("a", "b"))
	teams.Job("q", "train", 1, "1")
}

func lastCheckAdmits(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	timeline := cluster.Timeline(t, teams.Namespace)
	trainBehindTwoChecks(teams)
	name := teams.HoldsQuota("train", "a=Pending", "b=Pending").GetName()
	teams.Says("a", "train", "Ready")
	// When muster has evaluated this one, which has come later, it has seen the check too.
	teams.Job("q", "next", 1, "1")
	teams.Waits("next", "WaitingForQuota", "insufficient unused quota for cpu")
	teams.HoldsQuota("train", "a=Ready", "b=Pending")
	if !harness.Suspended(harness.GetJob(t, cluster, teams.Namespace, "train")) {
		t.Error("it runs, and one of its checks is not ready")
	}
	teams.Says("b", "train", "Ready")
	teams.Admitted("train")
	teams.RunsWith("train", 1)
	teams.QueueUses("q", "1")
	cluster.WaitForEvent(t, teams.Namespace, name, "QuotaReserved", "Admitted")
	teams.End("train")
	teams.HoldsQuota("next", "a=Pending", "b=Pending")
	timeline.Check(t)
}

// updatesFor is what a check wants in the pods of a pod set.
func updatesFor(podSet, value string) map[string]any {
	return map[string]any{"podSetUpdates": []any{map[string]any{
		"name":         podSet,
		"labels":       map[string]any{"muster.batch/label-" + value: value},
		"annotations":  map[string]any{"muster.batch/annotation-" + value: value},
		"nodeSelector": map[string]any{"muster.batch/selector-" + value: value},
		"tolerations":  []any{map[string]any{"key": "muster.batch/taint-" + value, "operator": "Exists", "effect": "NoSchedule"}},
	}}}
}

// missingOf tells which parts of updatesFor are not in a Job's template.
func missingOf(value string, template *corev1.PodTemplateSpec) (missing []string) {
	for name, in := range map[string]map[string]string{
		"label": template.Labels, "annotation": template.Annotations, "selector": template.Spec.NodeSelector,
	} {
		if in["muster.batch/"+name+"-"+value] != value {
			missing = append(missing, name)
		}
	}
	for _, each := range template.Spec.Tolerations {
		if each.Key == "muster.batch/taint-"+value && each.Operator == corev1.TolerationOpExists {
			return missing
		}
	}
	return append(missing, "toleration")
}

func updatesOfPods(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	timeline := cluster.Timeline(t, teams.Namespace)
	trainBehindTwoChecks(teams)
	before := harness.ToJSON(t, harness.GetJob(t, cluster, teams.Namespace, "train").Spec.Template)
	admit := func(first, second string) {
		t.Helper()
		teams.HoldsQuota("train", "a=Pending", "b=Pending")
		teams.Says("a", "train", "Ready", updatesFor("main", first))
		teams.Says("b", "train", "Ready", updatesFor("main", second))
		teams.Admitted("train")
		harness.Eventually(t, time.Minute, "train is started", func() error {
			if job, err := cluster.Client.BatchV1().Jobs(teams.Namespace).Get(context.Background(), "train", metav1.GetOptions{}); err != nil || harness.Suspended(job) {
				return fmt.Errorf("it is suspended: %v", err)
			}
			return nil
		})
		template := harness.GetJob(t, cluster, teams.Namespace, "train").Spec.Template
		for _, value := range []string{first, second} {
			if missing := missingOf(value, &template); len(missing) > 0 {
				t.Errorf("%v of the check that said %s are missing in %s", missing, value, harness.ToJSON(t, template))
			}
		}
		if template.Spec.NodeSelector[harness.NodeLabel] != "hollow" {
			t.Errorf("the flavor's labels are missing in %s", harness.ToJSON(t, template))
		}
	}
	admit("one", "two")
	teams.NextSecond()
	// As long as it takes to look, on a machine with much to do.
	teams.Says("a", "train", "Retry", map[string]any{"requeueAfterSeconds": int64(8), "podSetUpdates": []any{}})
	teams.Await("train", "has left", harness.HasCondition("Evicted", "True", "AdmissionCheck"), harness.Released,
		teams.CheckIs("a", "Pending"), teams.CheckIs("b", "Pending"))
	if after := harness.ToJSON(t, harness.AwaitStopped(t, cluster, teams.Namespace, "train").Spec.Template); after != before {
		t.Errorf("its template was\n%s\nand is now\n%s", before, after)
	}
	again := teams.HoldsQuota("train", "a=Pending", "b=Pending")
	for check, retries := range map[string]any{"a": int64(1), "b": nil} {
		found := teams.CheckOf(again, check)
		if found["podSetUpdates"] != nil || found["retryCount"] != retries {
			t.Errorf("the check is %v and should have been tried again %v times", found, retries)
		}
	}
	admit("three", "four")
	template := harness.GetJob(t, cluster, teams.Namespace, "train").Spec.Template
	for _, value := range []string{"one", "two"} {
		if missing := missingOf(value, &template); len(missing) != 4 {
			t.Errorf("what the check wanted the first time is still in %s", harness.ToJSON(t, template))
		}
	}
	timeline.Check(t)
}

func updatesOfOnePodSet(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Check("c")
	teams.Queue(harness.LocalQueueName, teams.Cpus("f=2"), teams.Checks("c"))
	template := harness.FlavoredPod()
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	made := cluster.CreateJobSet(t, teams.Namespace, harness.QueuedJobSet("train",
		harness.ReplicatedJob{Name: "driver", Template: template}, harness.ReplicatedJob{Name: "workers", Template: template}))
	teams.HoldsQuota("train", "c=Pending")
	teams.Says("c", "train", "Ready", updatesFor("workers", "one"))
	started := cluster.WaitForJobSet(t, teams.Namespace, "train", time.Minute, "started", harness.FieldIs(false, "spec", "suspend"))
	for i, want := range []any{nil, "one"} {
		selector, _, _ := unstructured.NestedMap(harness.PodSpecOf(started, i), "nodeSelector")
		if selector["muster.batch/selector-one"] != want || selector[harness.NodeLabel] != "hollow" {
			t.Errorf("the nodes of pod set %d are selected by %v", i, selector)
		}
	}
	teams.Says("c", "train", "Rejected")
	teams.Await("train", "has left", harness.Released, harness.HasCondition("Evicted", "True", "DeactivatedDueToAdmissionCheck"))
	stopped := cluster.WaitForJobSet(t, teams.Namespace, "train", time.Minute, "suspended", harness.FieldIs(true, "spec", "suspend"))
	if before, after := harness.ToJSON(t, made.Object["spec"]), harness.ToJSON(t, stopped.Object["spec"]); before != after {
		t.Errorf("it was\n%s\nand is now\n%s", before, after)
	}
}

func retriedCheck(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Check("c")
	teams.Queue("q", teams.Cpus("f=1"), teams.Checks("c"))
	teams.Job("q", "train", 1, "1")
	teams.HoldsQuota("train", "c=Pending")
	teams.NextSecond()
	teams.Job("q", "next", 1, "1")
	teams.Waits("next", "WaitingForQuota")

	teams.Says("c", "train", "Retry", map[string]any{"requeueAfterSeconds": int64(3)})
	evicted := teams.Await("train", "has given its quota back", harness.Released, harness.HasCondition("Evicted", "True", "AdmissionCheck"),
		harness.HasCondition("Requeued", "False", "AdmissionCheck"), teams.CheckIs("c", "Pending"), tries(nil))
	if check := teams.CheckOf(evicted, "c"); check["retryCount"] != int64(1) {
		t.Errorf("its check is %v", check)
	}
	if count := evictions(evicted, "AdmissionCheck", "<nil>") + evictions(evicted, "AdmissionCheck", ""); count != 1 {
		t.Errorf("its evictions are counted as %v", evicted.Object["status"])
	}
	requeueAt, _, _ := unstructured.NestedString(evicted.Object, "status", "requeueState", "requeueAt")
	end, err := time.Parse(time.RFC3339, requeueAt)
	harness.Must(t, err)
	if waits := end.Sub(transition(t, evicted, "Evicted")); waits < 2*time.Second || waits > 3*time.Second {
		t.Errorf("it waits until %s, which is %s after its eviction", requeueAt, waits)
	}
	teams.HoldsQuota("next", "c=Pending")
	back := teams.Await("train", "comes back", harness.HasCondition("Requeued", "True", "BackoffFinished"))
	if at := transition(t, back, "Requeued"); at.Before(end) {
		t.Errorf("it came back at %s, before %s", at, requeueAt)
	}
	teams.Waits("train", "WaitingForQuota")

	// No time is given, so it is asked again at once.
	teams.Says("c", "next", "Rejected")
	teams.HoldsQuota("train", "c=Pending")
	teams.Says("c", "train", "Retry")
	teams.Await("train", "is asked a third time", harness.HasCondition("QuotaReserved", "True", ""),
		harness.HasCondition("Evicted", "False", "QuotaReserved"), teams.CheckIs("c", "Pending"),
		func(workload *unstructured.Unstructured) error {
			if check := teams.CheckOf(workload, "c"); check["retryCount"] != int64(2) {
				return fmt.Errorf("its check is %v", check)
			}
			return nil
		})
	teams.Says("c", "train", "Ready")
	teams.RunsWith("train", 1)
}

func rejectedCheck(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	timeline := cluster.Timeline(t, teams.Namespace)
	teams.Flavor("f")
	teams.Check("c")
	teams.Queue("q", teams.Cpus("f=1"), teams.Checks("c"))
	teams.Job("q", "train", 1, "1")
	name := teams.HoldsQuota("train", "c=Pending").GetName()
	reject := func() {
		t.Helper()
		teams.Says("c", "train", "Rejected")
		rejected := teams.Await("train", "is deactivated", harness.FieldIs(false, "spec", "active"), harness.Released,
			harness.HasCondition("Evicted", "True", "DeactivatedDueToAdmissionCheck"),
			harness.HasCondition("QuotaReserved", "False", "Deactivated"), teams.CheckIs("c", "Pending"))
		if target := harness.ConditionOf(rejected, "DeactivationTarget"); len(target) > 0 {
			t.Errorf("it is deactivated and shall be: %v", target)
		}
		harness.AwaitStopped(t, cluster, teams.Namespace, "train")
		teams.SetActive("train", true)
		teams.Await("train", "may come again", harness.HasCondition("Requeued", "True", "Reactivated"))
		teams.HoldsQuota("train", "c=Pending")
	}
	reject()
	teams.Says("c", "train", "Ready")
	teams.RunsWith("train", 1)
	reject()
	cluster.WaitForEvent(t, teams.Namespace, name, "AdmissionCheckRejected", "EvictedDueToDeactivatedDueToAdmissionCheck", "the test says Rejected")
	timeline.Check(t)
}

func checkOfOneFlavor(t *testing.T, teams *harness.Teams) {
	teams.Flavor("first")
	teams.Flavor("second")
	teams.Check("c")
	teams.Queue("q", teams.Cpus("first=1", "second=1"), teams.Checks("c@second"))
	teams.Job("q", "one", 1, "1")
	one := teams.Await("one", "is admitted", harness.HasCondition("Admitted", "True", ""))
	if teams.FlavorOf(one) != "first" || teams.CheckOf(one, "c") != nil {
		t.Errorf("its status is %v", one.Object["status"])
	}
	teams.Job("q", "two", 1, "1")
	if two := teams.HoldsQuota("two", "c=Pending"); teams.FlavorOf(two) != "second" {
		t.Errorf("its status is %v", two.Object["status"])
	}
	// It comes back on the other flavor, which does not ask.
	teams.End("one")
	teams.Says("c", "two", "Retry")
	two := teams.Await("two", "is admitted", harness.HasCondition("Admitted", "True", ""))
	if teams.FlavorOf(two) != "first" || teams.CheckOf(two, "c") != nil {
		t.Errorf("its status is %v", two.Object["status"])
	}
	teams.RunsWith("two", 1)
}

func changedChecks(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	for _, check := range []string{"a", "b", "c"} {
		teams.Check(check)
	}
	teams.Queue("q", teams.Cpus("f=1"), teams.Checks("a", "b"))
	teams.Job("q", "train", 1, "1")
	teams.HoldsQuota("train", "a=Pending", "b=Pending")
	teams.Says("a", "train", "Ready")
	teams.Change("q", teams.Checks("a", "b", "c"))
	teams.HoldsQuota("train", "a=Ready", "b=Pending", "c=Pending")
	teams.Says("c", "train", "Ready")
	teams.Change("q", teams.Checks("a", "c"))
	teams.Admitted("train")
	teams.RunsWith("train", 1)
}

func inactiveCheck(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Check("c")
	teams.Queue("q", teams.Cpus("f=2"), teams.Checks("c"))
	teams.QueueIs("q", "True", "Ready", "")
	teams.Job("q", "runs", 1, "1")
	teams.Says("c", "runs", "Ready")
	teams.RunsWith("runs", 1)
	teams.SetCheckActive("c", "False")
	teams.QueueIs("q", "False", "AdmissionCheckInactive", teams.Name("c"))
	teams.Job("q", "waits", 1, "1")
	teams.Waits("waits", "Suspended", teams.Name("q"), "inactive")
	teams.RunsWith("runs", 1)
	teams.SetCheckActive("c", "True")
	teams.QueueIs("q", "True", "Ready", "")
	teams.HoldsQuota("waits", "c=Pending")
}

// waitsForItsCheck: one that holds quota and waits for a user's decision keeps the others
// out no longer than pods can take to be ready.
func waitsForItsCheck(t *testing.T, teams *harness.Teams, timeout time.Duration) {
	teams.Flavor("f")
	teams.Check("c")
	teams.Queue("asks", teams.Cpus("f=1"), teams.Checks("c"))
	teams.Queue("free", teams.Cpus("f=1"))
	teams.Job("asks", "train", 1, "1")
	train := teams.HoldsQuota("train", "c=Pending")
	teams.Job("free", "next", 1, "1")
	teams.Waits("next", "WaitingForPodsReady", teams.Namespace+"/"+train.GetName())
	next := teams.Await("next", "is ready", harness.HasCondition("PodsReady", "True", "Started"))
	if waited := transition(t, next, "QuotaReserved").Sub(transition(t, train, "QuotaReserved")); waited < timeout {
		t.Errorf("it was kept out for %s, and the other has %s", waited, timeout)
	}
	// To wait for a check is no fault; when it is ready, the pods have all of their time.
	still := teams.HoldsQuota("train", "c=Pending")
	if !maps.Equal(harness.ConditionOf(still, "QuotaReserved"), harness.ConditionOf(train, "QuotaReserved")) {
		t.Errorf("it had its quota by %v and has it by %v", harness.ConditionOf(train, "QuotaReserved"), harness.ConditionOf(still, "QuotaReserved"))
	}
	teams.Says("c", "train", "Ready")
	teams.Await("train", "is ready", harness.HasCondition("PodsReady", "True", "Started"))
}
