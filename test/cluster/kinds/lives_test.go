package kinds

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// livingKind is a kind that muster knows by a row, and what its operator writes into its status. The test plays the
// operator, which makes no pods. shapes_test.go has the kinds.
type livingKind struct {
	framework string
	resource  schema.GroupVersionResource
	kind      string
	// Names of CustomResourceDefinitions, by their files.
	definitions map[string]string
	suspend     []string
	// What the jobs need beside themselves.
	prepare func(kindScene)
	// A job of one pod and this many more, of a cpu each.
	spec func(scene kindScene, more int64) map[string]any
	// What of a spec holds node selectors and tolerations, one for each pod set.
	given func(spec map[string]any) []map[string]any
	// What the operator says.
	running, stopped, succeeded, failed string
	// A tenant's changes of a job that runs ("mine") or waits ("late"), all rejected.
	attacks []tenantPatch
	// Changes past the webhook, of a job that runs, to more than it was admitted for: muster stops it.
	growths []growth
	// Its operator makes Jobs, which are parts of it.
	makesJobs bool
}

type tenantPatch struct{ what, job, patch, words string }

// growth of a job is as far as its queue could never admit it, and back again.
type growth struct {
	what string
	to   func(scene kindScene, job string, more int64)
}

// The life of jobs of kinds with rows, with exactly the rights that `muster manifests` gives for them.
func TestJobsOfDescribedKindsLiveThroughTheirQueue(t *testing.T) {
	forEachKind(t, func(scene kindScene) {
		teams, kind := scene.teams, scene.kind
		created := scene.create("first", 1)
		teams.Admitted("first")
		scene.create("second", 1)
		scene.create("never", 9)
		teams.Waits("second", "WaitingForQuota")
		teams.Waits("never", "ExceedsMaxQuota")
		scene.hasItsFlavor(scene.await("first", "runs", false))
		scene.status("first", kind.running)

		// Evicted: its operator takes the pods away, and then its quota is free and the job as it was.
		teams.Change("a", map[string]any{"stopPolicy": "HoldAndDrain"})
		scene.await("first", "is stopped", true)
		scene.holds("first")
		scene.status("first", kind.stopped)
		teams.Await("first", "has given its quota back", harness.Released)
		scene.isRestored("first", created)
		// Of two that wait either could be first, also when the job of one is gone.
		scene.delete("second")
		teams.Change("a", map[string]any{"stopPolicy": "None"})

		// It is requeued, runs and succeeds; the next one runs and fails.
		scene.hasItsFlavor(scene.await("first", "runs again", false))
		scene.create("second", 1)
		teams.Waits("second", "WaitingForQuota")
		scene.status("first", kind.succeeded)
		teams.Await("first", "is finished", harness.HasCondition("Finished", "True", "Succeeded"))
		scene.await("second", "runs", false)
		scene.status("second", kind.running)
		scene.status("second", kind.failed)
		teams.Await("second", "is finished", harness.HasCondition("Finished", "True", "Failed"))

		// What is deleted gives its quota back.
		scene.create("third", 1)
		scene.await("third", "runs", false)
		scene.create("fourth", 1)
		teams.Waits("fourth", "WaitingForQuota")
		scene.delete("third")
		scene.await("fourth", "runs", false)
		scene.neverPatchedWhileItRan()
	})
}

// A user with every right on the jobs of a namespace, and on their status, tries to run more than is admitted.
func TestJobsOfDescribedKindsOfAHostileTenantStayWithinTheirQuota(t *testing.T) {
	forEachKind(t, func(scene kindScene) {
		teams, kind := scene.teams, scene.kind
		scene.create("mine", 1)
		scene.await("mine", "runs", false)
		scene.status("mine", kind.running)
		scene.create("late", 1)
		teams.Waits("late", "WaitingForQuota")
		for _, each := range kind.attacks {
			if err := scene.patch(each.job, each.patch); err == nil || !(apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) || !strings.Contains(err.Error(), each.words) {
				scene.Errorf("%s of %s: %s: %v", each.job, kind.kind, each.what, err)
			}
		}

		// Its status says that nothing runs. It keeps its quota as long as it is not suspended. What was created later is
		// seen later, over the same watch.
		scene.status("mine", kind.stopped)
		scene.create("later", 1)
		teams.Await("later", "is there")
		scene.holds("mine")
		scene.await("late", "still waits", true)
		scene.delete("later")
		scene.status("mine", kind.running)

		// A Job that its controller makes is a part of it: it runs when the whole does, and not before. Below another kind
		// it is queued by itself.
		part, err := scene.part("mine")
		if err != nil || harness.Suspended(part) == kind.makesJobs {
			scene.Errorf("a part of a job that runs: suspended %v, %v", err == nil && harness.Suspended(part), err)
		}
		part, err = scene.part("late")
		if kind.makesJobs && (err == nil || !strings.Contains(err.Error(), "starts when its owner is admitted")) {
			scene.Errorf("a part of a job that waits: %v", err)
		} else if !kind.makesJobs && (err != nil || !harness.Suspended(part)) {
			scene.Errorf("a Job below a job that waits: %v", err)
		}
		scene.forgedPartDoesNotRun("mine")
		scene.delete("late")

		for _, growth := range kind.growths {
			growth.to(scene, "mine", 50)
			scene.await("mine", "is stopped: "+growth.what, true)
			scene.holds("mine")
			scene.status("mine", kind.stopped)
			teams.Waits("mine", "ExceedsMaxQuota")
			growth.to(scene, "mine", 1)
			scene.await("mine", "runs again", false)
			scene.status("mine", kind.running)
		}
	})
}

// forEachKind runs a story for each kind, one after the other, under one muster.
func forEachKind(t *testing.T, story func(kindScene)) {
	t.Helper()
	cluster := harness.Connect(t)
	frameworks := "batch/job"
	for _, kind := range livingKinds {
		for file, name := range kind.definitions {
			cluster.InstallDefinition(t, "kinds/"+file, name)
		}
		frameworks += ", " + kind.framework
	}
	// Spark requests memory always, and the queues have CPUs alone.
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+"integrations: {frameworks: ["+frameworks+"]}\nresources: {excludeResourcePrefixes: [memory]}\n")
	harness.ApplyRights(t, cluster, config)
	harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	for _, kind := range livingKinds {
		t.Run(kind.kind, func(t *testing.T) {
			scene := kindScene{T: t, cluster: cluster, teams: cluster.Teams(t), kind: kind}
			scene.teams.Flavor("f")
			scene.teams.Queue("a", scene.teams.Cpus("f=2"))
			if kind.prepare != nil {
				kind.prepare(scene)
			}
			t.Cleanup(func() {
				cluster.Kubectl(t, "", "delete", kind.resource.Resource+"."+kind.resource.Group, "--all", "--namespace", scene.teams.Namespace)
			})
			scene.timeline = cluster.TimelineOf(t, scene.teams.Namespace, kind.resource, kind.suspend...)
			story(scene)
			scene.timeline.Check(t)
		})
	}
}

type kindScene struct {
	*testing.T
	cluster  *harness.Cluster
	teams    *harness.Teams
	kind     livingKind
	timeline *harness.Timeline
}

// create makes a job that its webhook suspends, and returns what is stored.
func (s kindScene) create(name string, more int64) *unstructured.Unstructured {
	s.Helper()
	created, err := s.tryCreate(name, more, harness.ForReal)
	harness.Must(s, err)
	s.suspensions().isTrue(created)
	return created
}

func (s kindScene) tryCreate(name string, more int64, how metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return s.cluster.Dynamic.Resource(s.kind.resource).Namespace(s.teams.Namespace).Create(harness.Context(s), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.kind.resource.GroupVersion().String(), "kind": s.kind.kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{harness.QueueLabel: "a"}},
		"spec":     s.kind.spec(s, more),
	}}, how)
}

func (s kindScene) suspensions() suspensions {
	return suspensions{s.T, s.cluster.Dynamic.Resource(s.kind.resource).Namespace(s.teams.Namespace), s.kind.suspend}
}

func (s kindScene) await(name, what string, suspended bool) *unstructured.Unstructured {
	s.Helper()
	return s.suspensions().await(name, what, suspended)
}

func (s kindScene) hasItsFlavor(job *unstructured.Unstructured) {
	s.Helper()
	spec, _, _ := unstructured.NestedMap(job.Object, "spec")
	places := s.kind.given(spec)
	if len(places) != 2 {
		s.Fatalf("%d pod sets of %s were given anything: %v", len(places), job.GetName(), spec)
	}
	for i, place := range places {
		node, _, _ := unstructured.NestedString(place, "nodeSelector", harness.NodeLabel)
		tolerations, _, _ := unstructured.NestedSlice(place, "tolerations")
		if node != "hollow" || !strings.Contains(fmt.Sprint(tolerations), harness.NodeLabel) {
			s.Errorf("pod set %d of %s has nothing of its flavor: %v", i, job.GetName(), place)
		}
	}
}

// isRestored waits until the spec is what it was, but for what is empty.
func (s kindScene) isRestored(name string, created *unstructured.Unstructured) {
	s.Helper()
	wanted := withoutEmpty(created.Object["spec"])
	harness.Eventually(s, 30*time.Second, name+" is as it was", func() error {
		found := s.await(name, "is there", true)
		if spec := withoutEmpty(found.Object["spec"]); !reflect.DeepEqual(spec, wanted) {
			return fmt.Errorf("%v is not %v", harness.ToJSON(s, spec), harness.ToJSON(s, wanted))
		}
		return nil
	})
}

// withoutEmpty is a value without its empty maps and lists; nil if that is all.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, each := range value {
			if left := withoutEmpty(each); left != nil {
				kept[key] = left
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		var kept []any
		for _, each := range value {
			kept = append(kept, withoutEmpty(each))
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	}
	return value
}

// neverPatchedWhileItRan: an operator that reads the patches of a runtime only while the job is suspended has seen them.
func (s kindScene) neverPatchedWhileItRan() {
	s.Helper()
	last := map[types.UID]string{}
	for _, version := range s.timeline.Versions(s) {
		patches, _, _ := unstructured.NestedSlice(version.Object, "spec", "runtimePatches")
		suspended, _, _ := unstructured.NestedBool(version.Object, s.kind.suspend...)
		now := harness.ToJSON(s, patches)
		if before, known := last[version.GetUID()]; known && !suspended && before != now {
			s.Errorf("the runtime patches of %s changed while it ran, from %s to %s", version.GetName(), before, now)
		}
		last[version.GetUID()] = now
	}
}

// holds fails unless the job's Workload has quota now.
func (s kindScene) holds(name string) {
	s.Helper()
	s.teams.Await(name, "holds its quota", harness.HasCondition("QuotaReserved", "True", "QuotaReserved"))
}

// part makes a Job as the controller of a job would, without effect.
func (s kindScene) part(of string) (*batchv1.Job, error) {
	s.Helper()
	return s.makePart(of, 0, harness.DryRun)
}

func (s kindScene) makePart(of string, pods int32, how metav1.CreateOptions) (*batchv1.Job, error) {
	s.Helper()
	owner, err := s.cluster.Dynamic.Resource(s.kind.resource).Namespace(s.teams.Namespace).Get(harness.Context(s), of, metav1.GetOptions{})
	harness.Must(s, err)
	job := harness.Job(of+"-part", harness.Queue("a"))
	job.Spec.Parallelism = &pods
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, s.kind.resource.GroupVersion().WithKind(s.kind.kind))}
	return s.cluster.Client.BatchV1().Jobs(s.teams.Namespace).Create(harness.Context(s), job, how)
}

// forgedPartDoesNotRun makes a Job with more pods than the job `of` has, and with it as its controller.
func (s kindScene) forgedPartDoesNotRun(of string) {
	s.Helper()
	forged, err := s.makePart(of, 50, harness.ForReal)
	harness.Must(s, err)
	jobs := s.cluster.Client.BatchV1().Jobs(s.teams.Namespace)
	harness.Eventually(s, 30*time.Second, "the forged part is suspended", func() error {
		job, err := jobs.Get(harness.Context(s), forged.Name, metav1.GetOptions{})
		if err == nil && !harness.Suspended(job) {
			err = fmt.Errorf("it runs, with %d pods", job.Status.Active)
		}
		return err
	})
	if s.kind.makesJobs {
		s.cluster.WaitForEvent(s, s.teams.Namespace, forged.Name, "requests more than the quota of "+s.kind.kind)
	} else {
		s.teams.Waits(forged.Name, "ExceedsMaxQuota")
	}
	s.teams.Kubectl("delete", "job", forged.Name)
}

func (s kindScene) delete(name string) {
	s.Helper()
	s.teams.Delete(s.kind.resource.Resource+"."+s.kind.resource.Group, name)
}

func (s kindScene) status(name, status string) {
	s.Helper()
	if !json.Valid([]byte(status)) {
		s.Fatalf("no JSON: %s", status)
	}
	_, err := s.cluster.Dynamic.Resource(s.kind.resource).Namespace(s.teams.Namespace).Patch(harness.Context(s), name, types.MergePatchType,
		[]byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	harness.Must(s, err)
}

func (s kindScene) patch(name, patch string) error {
	_, err := s.cluster.Dynamic.Resource(s.kind.resource).Namespace(s.teams.Namespace).Patch(harness.Context(s), name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{})
	return err
}
