package scheduling

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Flavor fallback (KEP-2560) with seconds instead of minutes: the KEP's three scenarios, a
// rejecting check, and both spellings of the API.

func TestFlavorsThatFailAreLeft(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	runDecisions(t, cluster, []decision{
		{"a flavor without nodes is left for the next one that has them", func(t *testing.T, teams *harness.Teams) {
			soldOutIsLeft(t, cluster, teams)
		}},
		{"after a failure an earlier flavor that has become free comes first", earlierFlavorFirst},
		{"an earlier flavor that has become free and fails as well is not tried again", freedFlavorFails},
		{"with DeactivateWorkload the Workload is deactivated and a person brings it back", func(t *testing.T, teams *harness.Teams) {
			allFlavorsFailed(t, cluster, teams)
		}},
		{"only muster changes what a Workload has tried", func(t *testing.T, teams *harness.Teams) { onlyMusterWrites(t, cluster, teams) }},
		{"of two resource groups the one falls back that has another flavor", func(t *testing.T, teams *harness.Teams) {
			oneGroupFallsBack(t, cluster, teams)
		}},
		{"a rejected check makes its flavor fail and the Job runs on another", rejectedFlavor},
		{"the KEP's spelling in v1beta1 is kept and both spellings at once are rejected", func(t *testing.T, teams *harness.Teams) {
			bothSpellings(t, cluster, teams)
		}},
	})
}

// fallsBack is a field for Queue: a rule for each flavor, as "flavor" or "flavor:timeout".
func fallsBack(teams *harness.Teams, policy string, rules ...string) map[string]any {
	var all []any
	for _, each := range rules {
		flavor, timeout, limited := strings.Cut(each, ":")
		rule := map[string]any{"name": flavor}
		if flavor != "*" {
			rule["name"] = teams.Name(flavor)
		}
		if limited {
			rule["timeout"] = timeout
		}
		all = append(all, rule)
	}
	return map[string]any{"flavorFungibility": map[string]any{
		"fallbackStrategy": map[string]any{"failurePolicy": policy, "rules": all},
	}}
}

// hasFailed is true of a Workload whose history says that of these flavors, and of no other.
func hasFailed(teams *harness.Teams, flavors ...string) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		history, _, _ := unstructured.NestedSlice(workload.Object, "status", "flavorAssignmentHistory")
		var failed []string
		for _, each := range history {
			if attempt, is := each.(map[string]any); is && attempt["failure"] != nil {
				failed = append(failed, strings.TrimPrefix(fmt.Sprint(attempt["resourceFlavor"]), teams.Name("")))
			}
		}
		if fmt.Sprint(failed) != fmt.Sprint(flavors) {
			return fmt.Errorf("these flavors have failed: %v", failed)
		}
		return nil
	}
}

func hasFlavor(teams *harness.Teams, flavor string) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		if has := teams.FlavorOf(workload); has != flavor {
			return fmt.Errorf("it has the flavor %q", has)
		}
		return nil
	}
}

func soldOutIsLeft(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	timeline := cluster.Timeline(t, teams.Namespace)
	teams.Flavor("reservation")
	teams.SoldOut("spot")
	teams.Flavor("on-demand")
	teams.Queue("q", teams.Cpus("reservation=1", "spot=9", "on-demand=9"),
		fallsBack(teams, "DeactivateWorkload", "reservation:10m", "spot:12s", "on-demand"))
	teams.Job("q", "first", 1, "1")
	teams.RunsWith("first", 1)
	teams.Job("q", "late", 1, "1")
	teams.Await("late", "tries spot", hasFlavor(teams, "spot"), harness.HasCondition("PodsReady", "False", "WaitForStart"))
	evicted := teams.Await("late", "has left spot", hasFailed(teams, "spot"), harness.HasCondition("Requeued", "True", "FlavorFallback"))
	if evictions(evicted, "FlavorFallback", "TimeoutForPodsReadyExceeded") != 1 {
		t.Errorf("its evictions are counted as %v", evicted.Object["status"])
	}
	// muster waits for no pods here (waitForPodsReady): the clock of the flavor alone says when they are read.
	if why := fmt.Sprint(harness.ConditionOf(evicted, "Evicted")["message"]); !strings.Contains(why, "cannot be scheduled (Unschedulable)") {
		t.Errorf("the eviction does not say why the pods were late: %q", why)
	}
	cluster.WaitForEvent(t, teams.Namespace, "late", "PodsNotReady", "cannot be scheduled (Unschedulable)")
	teams.RunsWith("late", 1)
	teams.Await("late", "has started on demand", hasFlavor(teams, "on-demand"), hasFailed(teams),
		harness.HasCondition("PodsReady", "True", "Started"))
	if selector := harness.GetJob(t, cluster, teams.Namespace, "late").Spec.Template.Spec.NodeSelector[harness.NodeLabel]; selector != "hollow" {
		t.Errorf("its pods select the nodes %q", selector)
	}
	cluster.WaitForEvent(t, teams.Namespace, evicted.GetName(), "EvictedDueToFlavorFallback", "not all pods were ready within 12s")
	timeline.Check(t)
}

func earlierFlavorFirst(t *testing.T, teams *harness.Teams) {
	teams.Flavor("reservation")
	teams.SoldOut("spot")
	teams.Flavor("on-demand")
	teams.Queue("q", teams.Cpus("reservation=1", "spot=9", "on-demand=9"),
		fallsBack(teams, "DeactivateWorkload", "reservation:10m", "spot:4s", "on-demand"))
	teams.Job("q", "first", 1, "1")
	teams.RunsWith("first", 1)
	teams.Job("q", "late", 1, "1")
	teams.Await("late", "tries spot", hasFlavor(teams, "spot"))
	teams.End("first")
	teams.RunsWith("late", 1)
	teams.Await("late", "has started on the reservation", hasFlavor(teams, "reservation"))
}

// The KEP's interleaving: the reservation is full, spot fails, the reservation becomes free and fails too. Nothing of
// the first Job runs on the reservation, so its quota is all that the other one waits for.
func freedFlavorFails(t *testing.T, teams *harness.Teams) {
	teams.SoldOut("reservation")
	teams.SoldOut("spot")
	teams.Flavor("on-demand")
	teams.Queue("q", teams.Cpus("reservation=1", "spot=9", "on-demand=9"),
		fallsBack(teams, "DeactivateWorkload", "reservation:10m", "spot:10m", "on-demand"))
	teams.Job("q", "first", 1, "1")
	teams.Await("first", "has the reservation", hasFlavor(teams, "reservation"))
	teams.Job("q", "late", 1, "1")
	teams.Await("late", "tries spot", hasFlavor(teams, "spot"), harness.HasCondition("PodsReady", "False", "WaitForStart"))
	teams.Kubectl("delete", "job", "first")
	teams.QueueUses("q", "1")
	teams.Change("q", fallsBack(teams, "DeactivateWorkload", "reservation:10m", "spot:1s", "on-demand"))
	teams.Await("late", "tries the reservation", hasFlavor(teams, "reservation"), hasFailed(teams, "spot"),
		harness.HasCondition("PodsReady", "False", "WaitForStart"))
	teams.Change("q", fallsBack(teams, "DeactivateWorkload", "reservation:1s", "spot:1s", "on-demand"))
	ended := teams.Await("late", "has left both", hasFlavor(teams, "on-demand"))
	if count := evictions(ended, "FlavorFallback", "TimeoutForPodsReadyExceeded"); count != 2 {
		t.Errorf("it was evicted %d times: %v", count, ended.Object["status"])
	}
	teams.RunsWith("late", 1)
}

func allFlavorsFailed(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	for _, flavor := range []string{"reservation", "spot", "on-demand"} {
		teams.SoldOut(flavor)
	}
	teams.Queue("q", teams.Cpus("reservation=9", "spot=9", "on-demand=9"),
		fallsBack(teams, "DeactivateWorkload", "reservation:1s", "spot:1s", "on-demand:1s"))
	teams.Job("q", "late", 1, "1")
	late := teams.Await("late", "is deactivated", harness.HasCondition("Evicted", "True", "DeactivatedDueToFlavorsExhausted"),
		hasFailed(teams, "reservation", "spot", "on-demand"), harness.Released)
	teams.Told("late", "FlavorsExhausted", "the failure of all flavors")
	if list := teams.Kubectl("get", "workload", late.GetName(), "-o", "wide"); !strings.Contains(list, teams.Name("reservation")) {
		t.Errorf("the list does not show the failed flavor:\n%s", list)
	}
	teams.SetActive("late", true)
	teams.Await("late", "begins again", hasFlavor(teams, "reservation"), hasFailed(teams))
}

// An administrator with every right, but of another name than muster's.
func onlyMusterWrites(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.SoldOut("spot")
	teams.Flavor("on-demand")
	teams.Queue("q", teams.Cpus("spot=9", "on-demand=9"), fallsBack(teams, "DeactivateWorkload", "spot:10m", "on-demand"))
	teams.Queue("other", teams.Cpus("spot=9", "on-demand=9"))
	teams.Job("q", "late", 1, "1")
	name := teams.Await("late", "tries spot", hasFlavor(teams, "spot")).GetName()
	patch := func(version, status string) error {
		_, err := cluster.TryKubectl("", "--as", "somebody", "--as-group", "system:masters", "-n", teams.Namespace, "patch",
			"workloads."+version+".kueue.x-k8s.io", name, "--subresource", "status", "--type", "merge", "-p", `{"status":`+status+`}`)
		return err
	}
	attempt := `{"resourceFlavor":"` + teams.Name("spot") + `","assignmentTime":"2026-01-01T00:00:00Z"`
	for what, status := range map[string]string{
		"no history":      `{"flavorAssignmentHistory":null}`,
		"more time":       `{"flavorAssignmentHistory":[` + attempt + `}]}`,
		"a failure":       `{"flavorAssignmentHistory":[` + attempt + `,"failure":{"reason":"AdmissionCheckRejected","time":"2026-01-01T00:00:00Z"}}]}`,
		"another round":   `{"flavorFallback":{"clusterQueue":"` + teams.Name("q") + `","round":7}}`,
		"another history": `{"flavorFallback":{"clusterQueue":"` + teams.Name("other") + `","round":1}}`,
	} {
		for _, version := range []string{harness.OldVersion, harness.NewVersion} {
			if err := patch(version, status); err == nil || !strings.Contains(err.Error(), "is written by muster alone") {
				t.Errorf("%s in %s: %v", what, version, err)
			}
		}
	}
	// Any other field of the status can be written.
	harness.Must(t, patch(harness.NewVersion, `{"accumulatedPastExecutionTimeSeconds":1}`))
}

// The default rounds last a minute, so this muster has another one.
func TestAllFlavorsAreTriedAgainAfterABackoff(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	startPodsReadyMuster(t, 10*time.Minute, "requeuingStrategy: {backoffBaseSeconds: 3, backoffMaxSeconds: 3}")
	runDecisions(t, cluster, []decision{{"three flavors, two rounds", anotherRound}})
}

func anotherRound(t *testing.T, teams *harness.Teams) {
	for _, flavor := range []string{"reservation", "spot", "on-demand"} {
		teams.SoldOut(flavor)
	}
	teams.Queue("q", teams.Cpus("reservation=9", "spot=9", "on-demand=9"), fallsBack(teams, "RetryAllFlavors", "*:1s"))
	teams.Job("q", "late", 1, "1")
	round := teams.Await("late", "has had its first round", harness.HasCondition("Requeued", "False", "FlavorFallback"), hasFailed(teams))
	if number, _, _ := unstructured.NestedInt64(round.Object, "status", "flavorFallback", "round"); number != 2 {
		t.Errorf("it is round %d; status %v", number, round.Object["status"])
	}
	if at, _, _ := unstructured.NestedString(round.Object, "status", "requeueState", "requeueAt"); at == "" {
		t.Errorf("it does not say when the next round begins: %v", round.Object["status"])
	}
	if count := evictions(round, "FlavorFallback", "TimeoutForPodsReadyExceeded"); count != 3 {
		t.Errorf("its first round has %d evictions; status %v", count, round.Object["status"])
	}
	teams.Await("late", "begins with the first flavor again", hasFlavor(teams, "reservation"), hasFailed(teams))
	teams.Await("late", "goes on to the second", hasFlavor(teams, "spot"), hasFailed(teams, "reservation"))
}

// withMemory adds a resource group of memory with the flavors fast and slow.
func withMemory(teams *harness.Teams, cpus map[string]any) map[string]any {
	var memory []any
	for _, flavor := range []string{"fast", "slow"} {
		quota := map[string]any{"name": "memory", "nominalQuota": "1Gi"}
		memory = append(memory, map[string]any{"name": teams.Name(flavor), "resources": []any{quota}})
	}
	group := map[string]any{"coveredResources": []any{"memory"}, "flavors": memory}
	return map[string]any{"resourceGroups": append(cpus["resourceGroups"].([]any), group)}
}

// Memory stays on its flavor, and is given to the pods beside the next one of cpu.
func oneGroupFallsBack(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.SoldOut("spot")
	teams.Flavor("on-demand")
	teams.AnyNode("fast")
	teams.AnyNode("slow")
	teams.Queue("q", withMemory(teams, teams.Cpus("spot=9", "on-demand=9")), fallsBack(teams, "DeactivateWorkload", "spot:2s", "fast:10m"))
	teams.Job("q", "late", 1, "1", func(job *batchv1.Job) {
		job.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("64Mi")
	})
	teams.Await("late", "tries spot and fast", hasFlavors(teams, "spot", "fast"))
	teams.Await("late", "has left spot", hasFailed(teams, "spot"), hasFlavors(teams, "on-demand", "fast"))
	teams.RunsWith("late", 1)
	teams.Await("late", "runs on demand", hasFlavors(teams, "on-demand", "fast"), hasFailed(teams), harness.HasCondition("PodsReady", "True", "Started"))
	if selector := harness.GetJob(t, cluster, teams.Namespace, "late").Spec.Template.Spec.NodeSelector[harness.NodeLabel]; selector != "hollow" {
		t.Errorf("its pods select the nodes %q", selector)
	}
}

// hasFlavors is true of a Workload with these flavors for cpu and memory.
func hasFlavors(teams *harness.Teams, cpu, memory string) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		list, _, _ := unstructured.NestedSlice(workload.Object, "status", "admission", "podSetAssignments")
		if len(list) != 1 {
			return fmt.Errorf("it has no admission: %v", workload.Object["status"])
		}
		flavors, _, _ := unstructured.NestedStringMap(list[0].(map[string]any), "flavors")
		if flavors["cpu"] != teams.Name(cpu) || flavors["memory"] != teams.Name(memory) {
			return fmt.Errorf("it has the flavors %v", flavors)
		}
		return nil
	}
}

func rejectedFlavor(t *testing.T, teams *harness.Teams) {
	teams.Flavor("spot")
	teams.Flavor("on-demand")
	teams.Check("machines")
	rules := []any{map[string]any{"name": "*", "trigger": "AdmissionCheckRejected"}}
	teams.Queue("q", teams.Cpus("spot=9", "on-demand=9"), teams.Checks("machines@spot"), map[string]any{
		"flavorFungibility": map[string]any{"fallbackStrategy": map[string]any{"rules": rules}},
	})
	teams.Job("q", "late", 1, "1")
	teams.HoldsQuota("late", "machines=Pending")
	teams.Says("machines", "late", "Rejected")
	teams.RunsWith("late", 1)
	teams.Await("late", "has started on demand", hasFlavor(teams, "on-demand"), func(workload *unstructured.Unstructured) error {
		if evictions(workload, "FlavorFallback", "AdmissionCheckRejected") != 1 {
			return fmt.Errorf("status %v", workload.Object["status"])
		}
		return nil
	})
}

func bothSpellings(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	for _, flavor := range []string{"reservation", "spot", "on-demand"} {
		teams.Flavor(flavor)
	}
	strategy := map[string]any{"strategy": "TimeoutBased", "failurePolicy": "DeactivateWorkload", "rules": []any{
		map[string]any{"name": teams.Name("reservation"), "timeout": "10m"},
		map[string]any{"name": teams.Name("spot"), "timeout": "15m"},
		map[string]any{"name": teams.Name("on-demand")},
	}}
	queue := func(name string, fungibility map[string]any) *unstructured.Unstructured {
		return harness.QueueObjectIn(harness.OldVersion, "ClusterQueue", teams.Name(name), map[string]any{
			"resourceGroups":    teams.Cpus("reservation=1", "spot=1", "on-demand=1")["resourceGroups"],
			"flavorFungibility": fungibility,
		})
	}
	queues := harness.InVersion(cluster, harness.OldVersion, "clusterqueues", "")
	_, err := queues.Create(context.Background(), queue("kep", map[string]any{"flavorFallbackStrategy": strategy}), metav1.CreateOptions{})
	harness.Must(t, err)
	t.Cleanup(func() {
		harness.Must(t, queues.Delete(context.Background(), teams.Name("kep"), metav1.DeleteOptions{}))
	})
	stored, err := harness.InVersion(cluster, harness.NewVersion, "clusterqueues", "").Get(context.Background(),
		teams.Name("kep"), metav1.GetOptions{})
	harness.Must(t, err)
	rules, _, _ := unstructured.NestedSlice(stored.Object, "spec", "flavorFungibility", "fallbackStrategy", "rules")
	if fmt.Sprint(rules) != fmt.Sprint(strategy["rules"]) {
		t.Errorf("it is stored with the rules %v", rules)
	}
	both := map[string]any{"flavorFallbackStrategy": strategy, "fallbackStrategy": map[string]any{"rules": strategy["rules"]}}
	_, err = queues.Create(context.Background(), queue("both", both), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "two names of one field") {
		t.Errorf("both spellings: %v", err)
	}
}

// On a real kubelet: no node has the labels of spot, so the pods find none. The Job runs on the node of
// the other flavor, and nothing in its template is left of the first one.
func TestAFlavorWithoutNodesIsLeftOnAKubelet(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	harness.StartQueueMuster(t)
	t.Run("one resource group", func(t *testing.T) { soldOutOnAKubelet(t, cluster, false) })
	t.Run("two resource groups of which one falls back", func(t *testing.T) { soldOutOnAKubelet(t, cluster, true) })
}

func soldOutOnAKubelet(t *testing.T, cluster *harness.Cluster, two bool) {
	teams := cluster.Teams(t)
	teams.SoldOut("spot")
	teams.RealFlavor("on-demand")
	quotas, rules := teams.Cpus("spot=1", "on-demand=1"), []string{"spot:3s", "on-demand"}
	if two {
		teams.AnyNode("fast")
		teams.AnyNode("slow")
		quotas, rules = withMemory(teams, quotas), append(rules, "fast:10m")
	}
	teams.Queue("q", quotas, fallsBack(teams, "DeactivateWorkload", rules...))
	teams.Job("q", "train", 1, "10m", func(job *batchv1.Job) {
		resources := job.Spec.Template.Spec.Containers[0].Resources
		if two {
			resources.Requests[corev1.ResourceMemory] = resource.MustParse("16Mi")
		}
		job.Spec.Template = harness.FlavoredPod()
		job.Spec.Template.Spec.Containers[0].Resources = resources
	})
	cluster.WaitForPods(t, teams.Namespace, "train", 1, time.Minute, "finds no node", findsNoNode)
	cluster.WaitForPods(t, teams.Namespace, "train", 1, time.Minute, "runs", harness.Phase(corev1.PodRunning))
	started := teams.Await("train", "has started on demand", hasFlavor(teams, "on-demand"), hasFailed(teams), harness.HasCondition("PodsReady", "True", "Started"))
	if two {
		harness.Must(t, hasFlavors(teams, "on-demand", "fast")(started))
	}
	if count := evictions(started, "FlavorFallback", "TimeoutForPodsReadyExceeded"); count != 1 {
		t.Errorf("it was evicted %d times: %v", count, started.Object["status"])
	}
	pod := harness.GetJob(t, cluster, teams.Namespace, "train").Spec.Template.Spec
	if selector := pod.NodeSelector[harness.NodeLabel]; selector != "real" {
		t.Errorf("its pods select the nodes %q", selector)
	}
	for _, toleration := range pod.Tolerations {
		if toleration.Value == "sold-out" {
			t.Errorf("its pods tolerate what the first flavor did: %v", toleration)
		}
	}
}
