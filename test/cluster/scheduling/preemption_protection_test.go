package scheduling

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

const (
	protectionKey        = "muster.batch/preemption-protection"
	reclaimProtectionKey = "muster.batch/reclaim-protection"
	protectionLimitKey   = "muster.batch/preemption-protection-limit"
)

// Protection from early preemption with seconds: a muster that is restarted while a preemptor waits,
// quota that is reclaimed, and what is refused.
func TestProtectedWorkloadsAreNoVictims(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartQueueMuster(t)
	t.Run("a preemptor is served after a restart when the protection ends", func(t *testing.T) {
		servedAfterRestart(t, cluster, cluster.Teams(t), muster)
	})
	runDecisions(t, cluster, []decision{
		{"the class of a Workload shortens its protection", func(t *testing.T, teams *harness.Teams) { classShortens(t, cluster, teams) }},
		{"borrowed quota goes back at once unless its owner respects the borrower's protection", func(t *testing.T, teams *harness.Teams) {
			reclaimWaits(t, cluster, teams)
		}},
	})
}

// annotateQueue sets annotations of a ClusterQueue.
func annotateQueue(t *testing.T, cluster *harness.Cluster, teams *harness.Teams, queue string, annotations map[string]string) {
	t.Helper()
	cluster.Patch(t, harness.ClusterQueues, "", teams.Name(queue), harness.ToJSON(t, map[string]any{"metadata": map[string]any{"annotations": annotations}}))
}

// ranFor checks how long a Workload was admitted before it was preempted.
func ranFor(t *testing.T, teams *harness.Teams, job string, admitted time.Time, least, most time.Duration) {
	t.Helper()
	preempted := teams.Await(job, "was preempted", harness.HasCondition("Preempted", "True", ""))
	if ran := transition(t, preempted, "Preempted").Sub(admitted); ran < least || ran > most {
		t.Errorf("%s was preempted %v after its admission, and not after %v to %v", job, ran, least, most)
	}
}

func servedAfterRestart(t *testing.T, cluster *harness.Cluster, teams *harness.Teams, muster *harness.Muster) {
	teams.Flavor("f")
	teams.Class("high", 100)
	teams.Queue("q", teams.Cpus("f=2"), harness.PreemptByPriority())
	annotateQueue(t, cluster, teams, "q", map[string]string{protectionKey: "15s"})
	teams.Job("q", "low", 2, "1")
	admitted := transition(t, teams.Await("low", "is admitted", harness.HasCondition("Admitted", "True", "")), "Admitted")
	teams.Job("q", "high", 2, "1", teams.OfClass("high"))
	const until = "The workloads that it could preempt are protected, the first of them until "
	teams.Waits("high", "WaitingForProtectedWorkloads", until)
	message := fmt.Sprint(harness.ConditionOf(teams.Await("high", "has a message"), "QuotaReserved")["message"])
	_, rest, _ := strings.Cut(message, until)
	end, err := time.Parse(time.RFC3339, rest)
	harness.Must(t, err)
	// Stamps are whole seconds, and the protection counts from the moment of the decision.
	if after := end.Sub(admitted); after < 15*time.Second || after > 16*time.Second {
		t.Errorf("protected for %s: %s", after, message)
	}
	teams.Told("high", "WaitingForProtectedWorkloads")
	caughtUp := func() int { return strings.Count(muster.Log(t), "the watches have caught up") }
	before := caughtUp()
	muster.Kill(t)
	muster.Restart(t)
	harness.Eventually(t, time.Minute, "the new leader decides", func() error {
		if caughtUp() == before {
			return fmt.Errorf("its watches have not caught up")
		}
		return nil
	})
	// On a busy machine the start, and the wait for the killed leader's lease, can take longer than the protection.
	latest := max(20*time.Second, time.Since(admitted)+4*time.Second)
	teams.Admitted("high")
	ranFor(t, teams, "low", admitted, 15*time.Second, latest)
	teams.End("high")
}

func classShortens(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Class("high", 100)
	teams.Class("short", 10)
	cluster.Patch(t, harness.WorkloadPriorityClasses, "", teams.Name("short"), `{"metadata":{"annotations":{"`+protectionKey+`":"4s"}}}`)
	teams.Queue("q", teams.Cpus("f=2"), harness.PreemptByPriority())
	annotateQueue(t, cluster, teams, "q", map[string]string{protectionKey: "10m"})
	teams.Job("q", "low", 2, "1", teams.OfClass("short"))
	admitted := transition(t, teams.Await("low", "is admitted", harness.HasCondition("Admitted", "True", "")), "Admitted")
	teams.Job("q", "high", 2, "1", teams.OfClass("high"))
	teams.Admitted("high")
	ranFor(t, teams, "low", admitted, 4*time.Second, 10*time.Second)
}

func reclaimWaits(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.Flavor("f")
	teams.Queue("borrower", teams.InCohort("all"), teams.Cpus("f=0"), harness.PreemptByPriority())
	teams.Queue("owner", teams.InCohort("all"), teams.Cpus("f=2"), harness.PreemptByPriority())
	annotateQueue(t, cluster, teams, "borrower", map[string]string{reclaimProtectionKey: "10m"})
	teams.Job("borrower", "first", 2, "1")
	teams.Admitted("first")
	// The owner of the quota has not agreed to wait.
	teams.Job("owner", "entitled", 2, "1")
	teams.Admitted("entitled")
	teams.End("entitled")
	admitted := transition(t, teams.Await("first", "is admitted again", harness.HasCondition("Admitted", "True", "")), "Admitted")
	annotateQueue(t, cluster, teams, "owner", map[string]string{protectionLimitKey: "6s"})
	teams.Job("owner", "patient", 2, "1")
	teams.Admitted("patient")
	ranFor(t, teams, "first", admitted, 6*time.Second, 12*time.Second)
}

func TestProtectionIsAnAdministratorsWord(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"))
	teams.Class("gold", 100)
	refused := func(what string, err error, words string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	annotation := func(key, value string) []byte {
		return []byte(`{"metadata":{"annotations":{"` + key + `":"` + value + `"}}}`)
	}
	const elsewhere = "acts only on a ClusterQueue or a WorkloadPriorityClass"
	ctx := context.Background()
	dynamic := cluster.Dynamic
	_, err := dynamic.Resource(harness.LocalQueues).Namespace(teams.Namespace).Patch(ctx, "q", types.MergePatchType, annotation(protectionKey, "1h"), metav1.PatchOptions{})
	refused("a LocalQueue", err, elsewhere)
	_, err = dynamic.Resource(harness.WorkloadPriorityClasses).Patch(ctx, teams.Name("gold"), types.MergePatchType, annotation(protectionLimitKey, "1h"), metav1.PatchOptions{})
	refused("a limit of a class", err, "acts only on the ClusterQueue of the preemptor")
	_, err = dynamic.Resource(harness.WorkloadPriorityClasses).Patch(ctx, teams.Name("gold"), types.MergePatchType, annotation(reclaimProtectionKey, "soon"), metav1.PatchOptions{})
	refused("no duration", err, "must be a duration such as 90s")
	_, err = dynamic.Resource(harness.ClusterQueues).Patch(ctx, teams.Name("q"), types.MergePatchType,
		annotation(protectionKey, "169h"), metav1.PatchOptions{})
	refused("more than a week", err, "must be at most a week")
	job := harness.Job("mine", harness.Queue("q"))
	job.Annotations = map[string]string{protectionKey: "24h"}
	_, err = cluster.Client.BatchV1().Jobs(teams.Namespace).Create(ctx, job, metav1.CreateOptions{})
	refused("a Job", err, elsewhere)
	teams.Job("q", "train", 1, "1")
	workload := teams.Await("train", "is there")
	_, err = dynamic.Resource(harness.Workloads).Namespace(teams.Namespace).Patch(ctx, workload.GetName(), types.MergePatchType, annotation(protectionKey, "24h"), metav1.PatchOptions{})
	refused("a Workload", err, elsewhere)
	// In the old version the same annotation means the same.
	_, err = harness.InVersion(cluster, harness.OldVersion, "clusterqueues", "").Patch(ctx, teams.Name("q"), types.MergePatchType, annotation(protectionKey, "-5s"), metav1.PatchOptions{})
	refused("a negative time in v1beta1", err, "0s is no protection")
}
