package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// The hostile tenant tries everything in random order: test/world/tenant.h on a real API server. A failed run prints its
// seed and what was tried; MUSTER_HOSTILE_SEED=N repeats the order of one (its timing is the machine's).

const (
	hostileSteps = 60
	// How long what has lost its owner can run on: until garbage is collected, or muster has seen it.
	hostileGrace = 5 * time.Second
)

func TestHostileTenantInRandomOrders(t *testing.T) {
	seeds := []uint64{1, 2, uint64(time.Now().UnixNano() % 1_000_000)}
	if text := os.Getenv("MUSTER_HOSTILE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		harness.Must(t, err)
		seeds = []uint64{seed}
	}
	cluster := startMusterForTenants(t, everyJobManaged)
	quota := cluster.WatchQuota(t)
	roles := [][]string{nil, {"workloads.kueue.x-k8s.io"}}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			attack := newAttack(addHostileTenant(t, cluster, roles[seed%2]...), quota, seed)
			for range hostileSteps / 10 {
				for range 10 {
					attack.step()
				}
				attack.check(hostileGrace)
			}
			attack.end()
		})
	}
}

type attack struct {
	*hostileTenant
	chance  *rand.Rand
	overrun *harness.Overrun
	quota   *harness.Quota
	victim  *unstructured.Unstructured // the neighbour's Workload as it was
	secrets []string                   // names that no user of the tenant's namespace needs
	made    int
	told    []string // what was tried, and the answer
	said    string   // by the tenant, so far
}

func newAttack(h *hostileTenant, quota *harness.Quota, seed uint64) *attack {
	h.Helper()
	harness.AwaitCollector(h.T, h.cluster, h.namespace)
	h.others.Job("q", "secret-waiting", 1, "5")
	h.others.Waits("secret-waiting", "ExceedsMaxQuota")
	victim := h.others.Await("secret-training", "is admitted", harness.HasCondition("Admitted", "True", ""))
	a := &attack{
		hostileTenant: h, chance: rand.New(rand.NewPCG(seed, 0)),
		overrun: h.cluster.Overrun(h, h.namespace), quota: quota, victim: victim,
		secrets: []string{h.neighbour, victim.GetName(), string(victim.GetUID()), "secret-waiting"},
	}
	h.Cleanup(func() {
		if h.Failed() {
			h.Logf("seed %d:\n%s", seed, strings.Join(a.told, "\n"))
		}
	})
	return a
}

func (a *attack) oneIn(count int) bool { return a.chance.IntN(count) == 0 }

func oneOf[T any](a *attack, all ...T) T { return all[a.chance.IntN(len(all))] }

// step tries one thing. The pause is a part of the attack: muster and the controllers are somewhere in between then.
func (a *attack) step() {
	a.Helper()
	target := a.target()
	switch {
	case target == nil || a.oneIn(4):
		a.create()
	case a.oneIn(12):
		a.forgePod()
	case a.oneIn(12):
		a.reachElsewhere()
	default:
		a.change(target)
	}
	time.Sleep(time.Duration(a.chance.IntN(100)) * time.Millisecond)
}

// tell takes down what was tried, and looks whether the answer tells of the neighbour what the tenant has not said itself.
func (a *attack) tell(what string, request any, err error) {
	a.Helper()
	sent, _ := json.Marshal(request)
	answer := "done"
	if err != nil {
		answer = err.Error()
	}
	a.told = append(a.told, fmt.Sprintf("%s %s %.400s -> %.300s", time.Now().Format("15:04:05.000"), what, sent, answer))
	a.said += string(sent) + what
	for _, secret := range a.secrets {
		if strings.Contains(answer, secret) && !strings.Contains(a.said, secret) {
			a.Errorf("%s: the answer discloses %q: %s", what, secret, answer)
		}
	}
}

// target is a Job or JobSet of the tenant; nil: there is none.
func (a *attack) target() *unstructured.Unstructured {
	a.Helper()
	var all []*unstructured.Unstructured
	for _, kind := range []schema.GroupVersionResource{jobsOf, harness.JobSets} {
		list, err := a.of(kind).List(harness.Context(a), metav1.ListOptions{})
		harness.Must(a, err)
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	if len(all) == 0 {
		return nil
	}
	return oneOf(a, all...)
}

func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	if object.GetKind() == "JobSet" {
		return harness.JobSets
	}
	return jobsOf
}

func (a *attack) create() {
	a.Helper()
	a.made++
	name := fmt.Sprint("mine", a.made%6)
	var object *unstructured.Unstructured
	switch {
	case a.oneIn(5): // a part of a JobSet, as it seems
		object = a.jobOf(fmt.Sprint(name, "-w-", a.chance.IntN(3)))
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, map[string]string{harness.ReplicatedNameLabel: "w", harness.RestartAttemptLabel: "0", harness.JobSetNameLabel: name})
		object.SetLabels(labels)
		harness.Must(a, unstructured.SetNestedSlice(object.Object, a.owners(), "metadata", "ownerReferences"))
	case a.oneIn(3):
		object = a.jobSet(name, oneOf(a, "q", "q", "q", ""), int64(1+a.chance.IntN(2)))
	default:
		object = a.jobOf(name)
	}
	if a.oneIn(5) {
		object.SetName("")
		object.SetGenerateName(name + "-")
	}
	_, err := a.of(resourceOf(object)).Create(harness.Context(a), object, harness.ForReal)
	a.tell("create "+object.GetKind(), object.Object, err)
}

// forgePod makes a pod that says it is a Job's, and a ConfigMap as muster's barriers have.
func (a *attack) forgePod() {
	a.Helper()
	a.made++
	template := harness.OneCPU()
	pod := &unstructured.Unstructured{Object: fields{"apiVersion": "v1", "kind": "Pod", "metadata": fields{"name": fmt.Sprint("forged-", a.made),
		"labels": fields{forgedLabel: "true", harness.JobSetNameLabel: "mine1", "jobset.sigs.k8s.io/jobset-uid": "1-2-3"}, "ownerReferences": a.owners()}}}
	podSpec, err := json.Marshal(template.Spec)
	harness.Must(a, err)
	into := map[string]any{}
	harness.Must(a, json.Unmarshal(podSpec, &into))
	pod.Object["spec"] = into
	_, err = a.of(podsOf).Create(harness.Context(a), pod, harness.ForReal)
	a.tell("forge a pod", pod.Object["metadata"], err)
	configMap := &unstructured.Unstructured{Object: fields{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": fields{"name": fmt.Sprint("mine", a.chance.IntN(6), "-group-scheduling"), "ownerReferences": a.owners()},
		"data":     fields{"started": "everything"}}}
	_, err = a.of(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Create(harness.Context(a), configMap, harness.ForReal)
	a.tell("forge a ConfigMap", configMap.Object, err)
}

// reachElsewhere tries the neighbour's namespace and kinds to which the tenant has no right.
func (a *attack) reachElsewhere() {
	a.Helper()
	ctx := harness.Context(a)
	switch a.chance.IntN(4) {
	case 0:
		_, err := a.client.Resource(jobsOf).Namespace(a.neighbour).Patch(ctx, "secret-training", types.MergePatchType,
			[]byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{})
		a.mustFail("suspend the neighbour's Job in "+a.neighbour, err)
	case 1:
		_, err := a.client.Resource(podsOf).Namespace(a.neighbour).Create(ctx, &unstructured.Unstructured{Object: fields{
			"apiVersion": "v1", "kind": "Pod", "metadata": fields{"name": "forged"}}}, harness.ForReal)
		a.mustFail("forge a pod in "+a.neighbour, err)
	case 2:
		_, err := a.of(harness.Workloads).Create(ctx, harness.JoblessWorkload("mine", "q", 1), harness.ForReal)
		a.mustFail("create a Workload", err)
	default:
		_, err := a.of(harness.LocalQueues).Patch(ctx, "q", types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"clusterQueue":%q}}`, a.neighbour+"-q"), metav1.PatchOptions{})
		a.mustFail("take the ClusterQueue of "+a.neighbour, err)
	}
}

func (a *attack) mustFail(what string, err error) {
	a.Helper()
	a.tell(what, nil, err)
	if err == nil {
		a.Errorf("%s: it was allowed", what)
	}
}

func (a *attack) change(target *unstructured.Unstructured) {
	a.Helper()
	kind, name, ctx := resourceOf(target), target.GetName(), harness.Context(a)
	what := target.GetKind() + " " + name
	switch a.chance.IntN(10) {
	case 0:
		how := oneOf(a, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
		err := a.of(kind).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &how})
		a.tell(fmt.Sprintf("delete %s in %s", what, how), nil, err)
		if a.oneIn(2) {
			object := a.jobOf(name)
			_, err = a.of(jobsOf).Create(ctx, object, harness.ForReal)
			a.tell("and create it again as a Job", object.Object, err)
		}
	case 1:
		patch := a.statusOf(target)
		a.tell("status of "+what, patch, a.patch(kind, name, patch, "status"))
	case 2:
		patch := spec(fields{"replicas": 50, "parallelism": 50})
		a.tell("scale of "+what, patch, a.patch(kind, name, patch, "scale"))
	case 3: // the whole object, as a user writes it who has kept an old copy without what others have added
		object := target.DeepCopy()
		object.SetLabels(nil)
		object.SetAnnotations(nil)
		object.SetOwnerReferences(nil)
		object.SetFinalizers(nil)
		unstructured.RemoveNestedField(object.Object, "spec", "suspend")
		_, err := a.of(kind).Update(ctx, object, metav1.UpdateOptions{})
		a.tell("replace "+what, object.Object["spec"], err)
	case 4, 5, 6:
		patch := a.metadata()
		a.tell("metadata of "+what, patch, a.patch(kind, name, patch))
	case 7:
		patch := a.metadata()
		maps.Copy(patch, a.specOf(target))
		a.tell("metadata and spec of "+what, patch, a.patch(kind, name, patch))
	default:
		patch := a.specOf(target)
		a.tell("spec of "+what, patch, a.patch(kind, name, patch))
	}
}

// check fails the test if more runs than is admitted, if more is admitted than there is, or if the neighbour's jobs are
// not as they were.
func (a *attack) check(grace time.Duration) {
	a.Helper()
	for _, err := range a.overrun.Check(a, grace) {
		a.Error(err)
	}
	a.quota.Check(a)
	workload, err := a.cluster.WorkloadOf(a.neighbour, "secret-training", harness.HasCondition("Admitted", "True", ""))
	if err != nil || workload.GetUID() != a.victim.GetUID() {
		a.Errorf("the neighbour's Workload is not what it was: %v", err)
	}
	for name, suspended := range map[string]bool{"secret-training": false, "secret-waiting": true} {
		job, err := a.cluster.Client.BatchV1().Jobs(a.neighbour).Get(harness.Context(a), name, metav1.GetOptions{})
		harness.Must(a, err)
		if got := job.Spec.Suspend != nil && *job.Spec.Suspend; got != suspended {
			a.Errorf("the neighbour's Job %s: suspended %v", name, got)
		}
	}
	if a.Failed() {
		a.FailNow()
	}
}

// end waits until all that was left behind has gone, and looks whether the neighbour can work on.
func (a *attack) end() {
	a.Helper()
	a.others.Job("q", "arrives", 1, "1")
	a.others.Admitted("arrives")
	harness.Eventually(a, 30*time.Second, "no Job runs beyond what is admitted", func() error { return a.overrun.Now(a) })
	a.check(hostileGrace)
	a.overrun.CheckAlternation(a)
	for _, kind := range []schema.GroupVersionResource{jobsOf, harness.JobSets, harness.Workloads, {Version: "v1", Resource: "events"}} {
		list, err := a.cluster.Dynamic.Resource(kind).Namespace(a.namespace).List(harness.Context(a), metav1.ListOptions{})
		harness.Must(a, err)
		for i := range list.Items {
			text := harness.ToJSON(a, list.Items[i].Object["status"]) + fmt.Sprint(list.Items[i].Object["note"], list.Items[i].Object["message"])
			// The tenant itself speaks of the neighbour's Workload and ClusterQueue, and reads that they are not its own.
			if strings.Contains(text, string(a.victim.GetUID())) || strings.Contains(text, "secret-waiting") {
				a.Errorf("%s %s discloses the neighbour's: %s", list.Items[i].GetKind(), list.Items[i].GetName(), text)
			}
		}
	}
}
