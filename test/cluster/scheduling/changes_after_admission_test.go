package scheduling

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// What is changed after a Workload was admitted takes effect.

func TestChangesAfterAdmissionTakeEffect(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	runDecisions(t, cluster, []decision{
		{"a running Job whose label names a lower class makes way", func(t *testing.T, teams *harness.Teams) {
			runAndWait(t, cluster, teams, "high")
			harness.Must(t, harness.PatchJob(t, cluster, teams.Namespace, "runs",
				`{"metadata":{"labels":{"`+harness.PriorityLabel+`":"`+teams.Name("low")+`"}}}`))
			makesWay(t, teams)
		}},
		{"a running Job whose class is lowered makes way", func(t *testing.T, teams *harness.Teams) {
			runAndWait(t, cluster, teams, "mine")
			cluster.Patch(t, harness.WorkloadPriorityClasses, "", teams.Name("mine"), `{"value":10}`)
			makesWay(t, teams)
		}},
		{"a running Job whose class is made anew with a lower value makes way", func(t *testing.T, teams *harness.Teams) {
			runAndWait(t, cluster, teams, "mine")
			cluster.Delete(t, harness.WorkloadPriorityClasses, "", teams.Name("mine"), metav1.DeletePropagationBackground)
			cluster.AwaitGone(t, harness.WorkloadPriorityClasses, "", teams.Name("mine"))
			teams.Await("runs", "keeps its priority", harness.FieldIs(1000, "spec", "priority"))
			cluster.Create(t, harness.WorkloadPriorityClasses, "", &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": harness.WorkloadPriorityClasses.GroupVersion().String(), "kind": "WorkloadPriorityClass",
				"metadata": map[string]any{"name": teams.Name("mine")}, "value": int64(10),
			}})
			makesWay(t, teams)
		}},
		{"a class that is changed reaches a Workload without a Job", func(t *testing.T, teams *harness.Teams) {
			teams.Flavor("f")
			teams.Queue("q", teams.Cpus("f=1"))
			teams.Class("mine", 5)
			t.Cleanup(func() { harness.Must(t, cluster.RemoveWorkloads(teams.Namespace)) })
			bare := harness.JoblessWorkload("bare", "q", 2)
			harness.Set(bare, int64(5), "spec", "priority")
			harness.Set(bare, map[string]any{"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": teams.Name("mine")}, "spec", "priorityClassRef")
			cluster.Create(t, harness.Workloads, teams.Namespace, bare)
			cluster.Patch(t, harness.WorkloadPriorityClasses, "", teams.Name("mine"), `{"value":77}`)
			cluster.AwaitWorkload(t, teams.Namespace, "bare", "has the value of its class", harness.FieldIs(77, "spec", "priority"))
		}},
		{"a Workload whose own priority is lowered makes way", func(t *testing.T, teams *harness.Teams) {
			runAndWait(t, cluster, teams, "")
			harness.Must(t, teams.TryPatch("runs", `{"spec":{"priority":-1}}`))
			makesWay(t, teams)
		}},
		{"an admitted Workload keeps its queue", func(t *testing.T, teams *harness.Teams) {
			teams.Flavor("f")
			teams.Queue("q", teams.Cpus("f=1"))
			teams.Job("q", "runs", 1, "1")
			teams.Admitted("runs")
			err := teams.TryPatch("runs", `{"spec":{"queueName":null}}`)
			if err == nil || !(apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) || !strings.Contains(err.Error(), "queueName is immutable") {
				t.Errorf("removing spec.queueName gave %v", err)
			}
			teams.Await("runs", "is in its queue", harness.FieldIs("q", "spec", "queueName"))
		}},
		{"a Workload that comes back says why it waits", func(t *testing.T, teams *harness.Teams) {
			teams.Flavor("f")
			teams.Queue("q", teams.Cpus("f=1"))
			teams.Job("q", "runs", 1, "1")
			teams.Admitted("runs")
			teams.Job("q", "first", 1, "1")
			teams.Waits("first", "WaitingForQuota", "insufficient unused quota")
			teams.Job("q", "second", 1, "1")
			teams.SetActive("second", false)
			teams.Waits("second", "Deactivated")
			teams.SetActive("second", true)
			teams.Waits("second", "WaitingForQuota", "Bypassed scheduling evaluation because an equivalent workload recently failed")
		}},
	})
}

// runAndWait leaves one Job running and one waiting for its place, both of priority 1000, or
// both of none.
func runAndWait(t *testing.T, cluster *harness.Cluster, teams *harness.Teams, class string) {
	t.Helper()
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"), map[string]any{"preemption": map[string]any{"withinClusterQueue": "LowerPriority"}})
	teams.Class("high", 1000)
	teams.Class("low", 10)
	var edits, high []func(*batchv1.Job)
	if class != "" {
		teams.Class("mine", 1000)
		edits, high = append(edits, teams.OfClass(class)), append(high, teams.OfClass("high"))
	}
	teams.Job("q", "runs", 1, "1", edits...)
	teams.RunsWith("runs", 1)
	teams.NextSecond()
	teams.Job("q", "waits", 1, "1", high...)
	teams.Waits("waits", "WaitingForQuota")
}

func makesWay(t *testing.T, teams *harness.Teams) {
	t.Helper()
	teams.Await("runs", "was evicted", harness.HasCondition("Evicted", "True", "Preempted"), harness.HasCondition("QuotaReserved", "False", ""))
	teams.Admitted("waits")
	teams.RunsWith("waits", 1)
}
