package webhooks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// reviewsOfWorkloads counts those that muster has been asked for, conversions apart.
func reviewsOfWorkloads(t *testing.T, muster *harness.Muster) int {
	t.Helper()
	return harness.ReviewsWith(t, muster, func(labels string) bool {
		return strings.Contains(labels, `kind="Workload"`) && !harness.IsConversion(labels)
	})
}

// What another client writes into the status of a Workload goes to muster's rules, unless it
// says no more than conditions, which a cluster at work sees most: those cost no call.
func TestStatusWritesAreReviewedWhereARuleHasASay(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartQueueMuster(t, "--no-metrics-authorization")
	teams := cluster.Teams(t)
	harness.OneRunsAndOneWaits(teams)

	write := func(job, status string) error {
		workload := teams.Await(job, "is there")
		_, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(teams.Namespace).Patch(context.Background(),
			workload.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"status":%s}`, status), harness.DryRunPatch, "status")
		return err
	}
	// A list of conditions is replaced as a whole by a merge patch.
	with := func(job, kind, status string) string {
		conditions := []any{map[string]any{"type": kind, "status": status, "reason": "ByHand", "message": "",
			"lastTransitionTime": "2026-01-01T00:00:00Z"}}
		for _, each := range harness.ObjectsAt(teams.Await(job, "is there").Object, "status", "conditions") {
			if each["type"] != kind {
				conditions = append(conditions, each)
			}
		}
		return harness.ToJSON(t, map[string]any{"conditions": conditions})
	}

	for _, one := range []struct{ name, job, status, field string }{
		{"another ClusterQueue", "runs", `{"admission":{"clusterQueue":"other"}}`, "status.admission"},
		{"no admission beside a reservation", "runs", `{"admission":null}`, "status.admission"},
		{"reclaimable pods of nobody", "runs", `{"reclaimablePods":[{"name":"nobody","count":1}]}`, "status.reclaimablePods"},
		{"updates for a pod set of nobody", "waits", `{"admissionChecks":[{"name":"c","state":"Ready","message":"",` +
			`"lastTransitionTime":"2026-01-01T00:00:00Z","podSetUpdates":[{"name":"nobody"}]}]}`, "status.admissionChecks"},
		{"a reservation without an admission", "waits", with("waits", "QuotaReserved", "True"), "status.admission"},
		{"a condition that is none", "waits", with("waits", "Finished", "Perhaps"), "status.conditions"},
	} {
		t.Run(one.name, func(t *testing.T) {
			if err := write(one.job, one.status); err == nil || !strings.Contains(err.Error(), one.field) {
				t.Errorf("want an error about %s, got %v", one.field, err)
			}
		})
	}

	before := reviewsOfWorkloads(t, muster)
	if before == 0 {
		t.Fatal("no review of a Workload has been counted")
	}
	harness.Must(t, write("runs", with("runs", "Finished", "True")))
	harness.Must(t, write("runs", with("runs", "PodsReady", "False")))
	harness.Must(t, write("waits", with("waits", "Example", "True")))
	_, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(teams.Namespace).Create(context.Background(),
		harness.JoblessWorkload("new", "q", 1), harness.DryRun)
	harness.Must(t, err)
	if after := reviewsOfWorkloads(t, muster); after != before+1 {
		t.Errorf("%d reviews for three writes of conditions and one new Workload; want one", after-before)
	}
}

// That fewer pods can run goes through the mutator that takes it away where the gate is off.
func TestMinCountIsTakenAwayWherePartialAdmissionIsOff(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+"featureGates: {PartialAdmission: false}\n")
	harness.StartQueueMuster(t, "--config", config)
	workload := harness.JoblessWorkload("elastic", "a", 1)
	podSets := harness.ObjectsAt(workload.Object, "spec", "podSets")
	podSets[0]["count"], podSets[0]["minCount"] = int64(4), int64(2)
	harness.Must(t, unstructured.SetNestedSlice(workload.Object, []any{podSets[0]}, "spec", "podSets"))

	made, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(cluster.Namespace(t, nil)).Create(
		harness.Context(t), workload, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	harness.Must(t, err)
	if set := harness.ObjectsAt(made.Object, "spec", "podSets")[0]; set["minCount"] != nil || set["count"] != int64(4) {
		t.Errorf("the pod set came back as %v", set)
	}
}
