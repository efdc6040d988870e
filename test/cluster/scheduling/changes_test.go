package scheduling

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"muster.batch/test/cluster/harness"
)

// Queues that are changed while they are used, and queues that cannot work.

var changedQueues = []decision{
	{"a held queue admits nobody and its Jobs run on", heldQueue},
	{"a drained queue evicts its Jobs and admits them when it goes on", drainedQueue},
	{"a lowered quota admits nobody above it and a raised one at once", changedQuota},
	{"a deactivated Workload leaves its quota to the next", deactivatedByHand},
	{"what was reserved cannot be edited and the quota stays", editedByHand},
}

func heldQueue(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=2"))
	teams.Job("q", "runs", 1, "1")
	teams.Admitted("runs")
	teams.Change("q", map[string]any{"stopPolicy": "Hold"})
	teams.QueueIs("q", "False", "Stopped", "is stopped")
	teams.Job("q", "waits", 1, "1")
	teams.Waits("waits", "Suspended", teams.Name("q"))
	teams.RunsWith("runs", 1)
	teams.Change("q", map[string]any{"stopPolicy": "None"})
	teams.Admitted("runs", "waits")
}

func drainedQueue(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=2"))
	teams.Job("q", "runs", 1, "1")
	teams.RunsWith("runs", 1)
	teams.Change("q", map[string]any{"stopPolicy": "HoldAndDrain"})
	teams.Await("runs", "was evicted", harness.Released, harness.HasCondition("Evicted", "True", "ClusterQueueStopped"),
		harness.HasCondition("Requeued", "False", "ClusterQueueStopped"))
	teams.Change("q", map[string]any{"stopPolicy": "None"})
	teams.Admitted("runs")
	teams.RunsWith("runs", 1)
}

func changedQuota(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=3"))
	jobs := []string{"j1", "j2", "j3", "j4", "j5", "j6"}
	for _, job := range jobs {
		teams.Job("q", job, 1, "1")
	}
	first := teams.AwaitSome(3, jobs...)
	teams.Change("q", teams.Cpus("f=1"))
	teams.End(first[0], first[1])
	teams.AwaitSome(3, jobs...) // of them two have finished
	teams.End(first[2])
	teams.AwaitSome(4, jobs...)
	teams.QueueUses("q", "1")
	teams.Change("q", teams.Cpus("f=3"))
	teams.AwaitSome(6, jobs...)
	teams.QueueUses("q", "3")
}

func deactivatedByHand(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"))
	teams.Job("q", "paused", 1, "1")
	teams.RunsWith("paused", 1)
	teams.Job("q", "next", 1, "1")
	teams.Waits("next", "WaitingForQuota")
	teams.SetActive("paused", false)
	teams.RunsWith("next", 1)
	teams.Await("paused", "is out of the queue", harness.Released, harness.HasCondition("Evicted", "True", "Deactivated"))
	teams.SetActive("paused", true)
	teams.Waits("paused", "WaitingForQuota")
	teams.End("next")
	teams.RunsWith("paused", 1)
}

func editedByHand(t *testing.T, teams *harness.Teams) {
	harness.OneRunsAndOneWaits(teams)
	for name, patch := range map[string]string{
		"more pods":     `{"spec":{"podSets":[{"name":"main","count":7,"template":{"spec":{"containers":[]}}}]}}`,
		"another queue": `{"spec":{"queueName":"another"}}`,
	} {
		err := teams.TryPatch("runs", patch)
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(err.Error(), "spec.") {
			t.Errorf("%s is refused without its field: %v", name, err)
		}
	}
	teams.Waits("waits", "WaitingForQuota")
	teams.End("runs")
	teams.Admitted("waits")
}

var brokenQueues = []decision{
	{"a queue whose flavor is missing says so and admits when it is there", missingFlavor},
	{"a queue whose check is missing says so and admits when it is there", missingCheck},
	{"a queue that does not exist is named to who waits for it", missingQueue},
	{"a cycle of cohorts admits nobody and says so until it is broken", cycleOfCohorts},
	{"quantities beyond what a number holds are only very large", hugeQuantities},
}

func missingFlavor(t *testing.T, teams *harness.Teams) {
	teams.Queue("q", teams.Cpus("late=1"))
	teams.QueueIs("q", "False", "FlavorNotFound", teams.Name("late"))
	teams.Job("q", "train", 1, "1")
	teams.Waits("train", "Suspended", teams.Name("q"), "inactive")
	teams.Flavor("late")
	teams.QueueIs("q", "True", "Ready", "")
	teams.Admitted("train")
}

func missingCheck(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"), map[string]any{
		"admissionChecksStrategy": map[string]any{"admissionChecks": []any{map[string]any{"name": teams.Name("late")}}},
	})
	teams.QueueIs("q", "False", "AdmissionCheckNotFound", teams.Name("late"))
	teams.Job("q", "train", 1, "1")
	teams.Waits("train", "Suspended", teams.Name("q"), "inactive")
	teams.Check("late")
	teams.Await("train", "has quota and waits for the check", harness.HasCondition("QuotaReserved", "True", ""),
		harness.HasCondition("Admitted", "False", "UnsatisfiedAdmissionChecks"))
}

func missingQueue(t *testing.T, teams *harness.Teams) {
	teams.Job("q", "train", 1, "1")
	teams.Waits("train", "Misconfigured", "q")
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"))
	teams.Admitted("train")
}

func cycleOfCohorts(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Cohort("x", "y")
	teams.Cohort("y", "x")
	teams.Queue("q", teams.InCohort("x"), teams.Cpus("f=1"))
	teams.QueueIs("q", "False", "CohortCycleDetected", "spec.parentName")
	teams.Job("q", "train", 1, "1")
	teams.Waits("train", "Suspended", teams.Name("q"), "inactive")
	teams.MoveToTop("y")
	teams.QueueIs("q", "True", "Ready", "")
	teams.Admitted("train")
}

func hugeQuantities(t *testing.T, teams *harness.Teams) {
	teams.Flavor("f")
	for _, team := range []string{"a", "b"} {
		teams.Queue(team, teams.InCohort("all"), teams.Cpus("f=9E"))
	}
	teams.Job("a", "small", 1, "1")
	teams.Admitted("small")
	// As much as a number holds: both queues together have more, and not enough for another one.
	teams.Job("b", "huge", 1, "8E")
	teams.Admitted("huge")
	teams.Job("b", "next", 1, "8E")
	teams.Waits("next", "WaitingForQuota", "cpu")
}
