package kinds

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

var trains = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "trains"}

// A kind that muster knows only by its description, in the configuration file: queued, admitted, started with what
// its flavor gives, stopped, started again and finished. The test plays the kind's controller.
func TestAJobOfADescribedKindIsQueuedStartedStoppedAndFinished(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.InstallDefinition(t, "kinds/train/crd.yaml", "trains.example.com")
	kind, err := os.ReadFile("kinds/train/kind.yaml")
	harness.Must(t, err)
	config := "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job]}\n---\n" + string(kind)
	harness.StartQueueMuster(t, "--config", harness.WriteFile(t, "kinds.yaml", config))
	scene := trainScene{t, cluster, cluster.Teams(t)}
	scene.teams.Flavor("f")
	scene.teams.Queue("a", scene.teams.Cpus("f=3"))

	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "trains", "--all", "--namespace", scene.teams.Namespace) })
	scene.create("express", 2)
	scene.create("late", 3)
	scene.teams.Admitted("express")
	scene.teams.Waits("late", "ExceedsMaxQuota")
	express := scene.await("express", "runs", false)
	if selector, _, _ := unstructured.NestedStringMap(express.Object, "spec", "engine", "template", "spec", "nodeSelector"); len(selector) == 0 {
		t.Errorf("the engine has nothing of its flavor: %v", express.Object["spec"])
	}
	if late := scene.await("late", "waits", true); fmt.Sprint(late.Object["spec"]) != fmt.Sprint(scene.train("late", 3).Object["spec"]) {
		t.Errorf("one that waits was changed: %v", late.Object["spec"])
	}

	// A tenant cannot start it, nor give it more pods than were admitted.
	_, err = cluster.Dynamic.Resource(trains).Namespace(scene.teams.Namespace).Patch(harness.Context(t), "express", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"other"}}}`), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), "queue-name") {
		t.Errorf("its queue was changed while it runs: %v", err)
	}

	scene.status("express", `{"running":3,"conditions":[{"type":"Ready","status":"True"}]}`)
	scene.teams.Change("a", map[string]any{"stopPolicy": "HoldAndDrain"})
	stopped := scene.await("express", "is stopped", true)
	// The metadata of the templates stay, empty.
	if left := strings.ReplaceAll(fmt.Sprint(stopped.Object["spec"]), "metadata:map[] ", ""); left != fmt.Sprint(scene.train("express", 2).Object["spec"]) {
		t.Errorf("a stop left something behind: %v", stopped.Object["spec"])
	}
	scene.status("express", `{"running":0,"conditions":[]}`)
	scene.teams.Await("express", "has given its quota back", harness.Released)

	scene.teams.Change("a", map[string]any{"stopPolicy": "None"})
	scene.await("express", "runs again", false)
	scene.status("express", `{"running":0,"conditions":[{"type":"Arrived","status":"True","message":"in time"}]}`)
	scene.teams.Await("express", "is finished", harness.HasCondition("Finished", "True", "Succeeded"))
	scene.teams.Await("late", "is told that it can never run", harness.HasCondition("QuotaReserved", "False", "ExceedsMaxQuota"))
}

var volcanoJobs = schema.GroupVersionResource{Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}

// A kind whose resource has the name of another one, in another group: Jobs of both groups with one name wait in one
// queue, start and end by themselves, and explain answers for each.
func TestJobsOfTwoGroupsWithOneNameAreQueuedBesideEachOther(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.InstallDefinition(t, "kinds/volcano/crd.yaml", "jobs.batch.volcano.sh")
	kind, err := os.ReadFile("kinds/volcano/kind.yaml")
	harness.Must(t, err)
	config := harness.WriteFile(t, "kinds.yaml", "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job]}\n---\n"+string(kind))
	harness.StartQueueMuster(t, "--config", config)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=2"))
	t.Cleanup(func() {
		cluster.Kubectl(t, "", "delete", "jobs.batch.volcano.sh", "--all", "--namespace", teams.Namespace)
	})

	of := cluster.Dynamic.Resource(volcanoJobs).Namespace(teams.Namespace)
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "c", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}}}}
	create := func(name string, tasks int64) {
		_, err := of.Create(harness.Context(t), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
			"metadata": map[string]any{"name": name, "labels": map[string]any{harness.QueueLabel: "a"}},
			"spec": map[string]any{"suspend": false, "tasks": []any{
				map[string]any{"name": "worker", "replicas": tasks, "template": template}}},
		}}, metav1.CreateOptions{})
		harness.Must(t, err)
	}
	suspends := suspensions{t, of, []string{"spec", "suspend"}}

	teams.Job("a", "twin", 1, "1")
	create("twin", 1)
	suspends.await("twin", "of Volcano runs", false)
	teams.RunsWith("twin", 1)
	// Not before: of jobs of one second the names decide.
	create("later", 1)
	harness.Eventually(t, 30*time.Second, "later has a Workload", func() error {
		if found := teams.Kubectl("get", "workloads", "-o", "jsonpath={.items[*].metadata.ownerReferences[*].name}"); !strings.Contains(found, "later") {
			return fmt.Errorf("Workloads of %s", found)
		}
		return nil
	})
	// A third job does not run with a quota of two CPUs.
	later, err := of.Get(harness.Context(t), "later", metav1.GetOptions{})
	harness.Must(t, err)
	suspends.isTrue(later)

	// The end of one is not the end of the other.
	_, err = of.Patch(harness.Context(t), "twin", types.MergePatchType,
		[]byte(`{"status":{"running":0,"conditions":[{"type":"Completed","status":"True","message":"done"}]}}`), metav1.PatchOptions{}, "status")
	harness.Must(t, err)
	suspends.await("later", "runs when Volcano's twin has ended", false)
	teams.RunsWith("twin", 1)
	for word, sentence := range map[string]string{
		"jobs.batch/twin": "Job " + teams.Namespace + "/twin is ", "jobs.batch.volcano.sh/twin": "Job " + teams.Namespace + "/twin has succeeded",
	} {
		answer, code, complaint := harness.RunMuster(cluster.Kubeconfig, "explain", word, "-n", teams.Namespace, "--config", config, "--local")
		if code != 0 || !strings.Contains(answer, sentence) {
			t.Errorf("explain %s ended with %d and does not say %q: %s%s", word, code, sentence, answer, complaint)
		}
	}
}

type trainScene struct {
	*testing.T
	cluster *harness.Cluster
	teams   *harness.Teams
}

// train is one with an engine of one pod and a list of cars; a cpu for each.
func (s trainScene) train(name string, cars int64) *unstructured.Unstructured {
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "c", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Train",
		"metadata": map[string]any{"name": name, "labels": map[string]any{harness.QueueLabel: "a"}},
		"spec": map[string]any{
			"suspend": true, "colour": "red",
			"engine": map[string]any{"template": template},
			"cars":   []any{map[string]any{"name": "first", "number": cars, "seats": "soft", "template": template}},
		},
	}}
}

func (s trainScene) create(name string, cars int64) {
	s.Helper()
	train := s.train(name, cars)
	// The webhook suspends it.
	unstructured.SetNestedField(train.Object, false, "spec", "suspend")
	created, err := s.cluster.Dynamic.Resource(trains).Namespace(s.teams.Namespace).Create(harness.Context(s), train, metav1.CreateOptions{})
	harness.Must(s, err)
	s.suspensions().isTrue(created)
}

func (s trainScene) suspensions() suspensions {
	return suspensions{s.T, s.cluster.Dynamic.Resource(trains).Namespace(s.teams.Namespace), []string{"spec", "suspend"}}
}

func (s trainScene) await(name, what string, suspended bool) *unstructured.Unstructured {
	s.Helper()
	return s.suspensions().await(name, what, suspended)
}

func (s trainScene) status(name, status string) {
	s.Helper()
	_, err := s.cluster.Dynamic.Resource(trains).Namespace(s.teams.Namespace).Patch(harness.Context(s), name, types.MergePatchType,
		[]byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	harness.Must(s, err)
}
