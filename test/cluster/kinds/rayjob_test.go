package kinds

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

var rayJobs = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayjobs"}

// The life of RayJobs, with exactly the rights that `muster manifests` gives for them. The test plays KubeRay: it sets
// the states that its controller sets, and makes no pods.
func TestRayJobsLiveThroughTheirQueue(t *testing.T) {
	scene := newRayScene(t)
	teams := scene.teams
	scene.create("first", 1)
	teams.Admitted("first")
	scene.create("second", 1)
	scene.create("never", 9)
	teams.Waits("second", "WaitingForQuota")
	teams.Waits("never", "ExceedsMaxQuota")

	first := scene.await("first", "runs", false)
	for _, path := range []string{"rayClusterSpec.headGroupSpec.template", "submitterPodTemplate"} {
		selector, _, _ := unstructured.NestedStringMap(first.Object, append(append([]string{"spec"}, strings.Split(path, ".")...), "spec", "nodeSelector")...)
		if len(selector) == 0 {
			t.Errorf("%s has nothing of its flavor: %v", path, first.Object["spec"])
		}
	}
	scene.status("first", `{"jobDeploymentStatus":"Running","jobStatus":"RUNNING","rayClusterStatus":{"state":"ready"}}`)

	// Evicted: KubeRay takes its pods away, and then its quota is free.
	teams.Change("a", map[string]any{"stopPolicy": "HoldAndDrain"})
	scene.await("first", "is stopped", true)
	scene.holds("first")
	scene.status("first", `{"jobDeploymentStatus":"Suspended","jobStatus":"","rayClusterStatus":null}`)
	teams.Await("first", "has given its quota back", harness.Released)
	// Of two that wait either could be first, also when the job of one is gone.
	teams.Delete("rayjobs", "second")
	teams.Change("a", map[string]any{"stopPolicy": "None"})

	// It is requeued, runs and succeeds; the next one runs and fails.
	scene.await("first", "runs again", false)
	scene.create("second", 1)
	scene.status("first", `{"jobDeploymentStatus":"Complete","jobStatus":"SUCCEEDED","message":"well done"}`)
	teams.Await("first", "is finished", harness.HasCondition("Finished", "True", "Succeeded"))
	teams.Admitted("second")
	scene.await("second", "runs", false)
	scene.status("second", `{"jobDeploymentStatus":"Failed","jobStatus":"FAILED","message":"a pity"}`)
	teams.Await("second", "is finished", harness.HasCondition("Finished", "True", "Failed"))

	// What is deleted gives its quota back.
	scene.create("third", 1)
	scene.await("third", "runs", false)
	scene.create("fourth", 1)
	teams.Waits("fourth", "WaitingForQuota")
	teams.Delete("rayjobs", "third")
	scene.await("fourth", "runs", false)
}

// A user with every right on RayJobs and their status tries to run more than is admitted.
func TestRayJobsOfAHostileTenantStayWithinTheirQuota(t *testing.T) {
	scene := newRayScene(t)
	scene.create("mine", 1)
	scene.teams.Admitted("mine")
	scene.create("late", 1)
	scene.await("mine", "runs", false)
	scene.status("mine", `{"jobDeploymentStatus":"Running","rayClusterStatus":{"state":"ready"}}`)

	group := `{"groupName":"%s","replicas":%d,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}`
	groups := func(each ...string) string {
		return `{"spec":{"rayClusterSpec":{"workerGroupSpecs":[` + strings.Join(each, ",") + `]}}}`
	}
	for what, attempt := range map[string]struct{ name, patch, words string }{
		"starts before it is admitted": {"late", `{"spec":{"suspend":false}}`, "cannot unsuspend"},
		"grows":                        {"mine", groups(fmt.Sprintf(group, "workers", 50)), "pods cannot become"},
		"adds a group":                 {"mine", groups(fmt.Sprintf(group, "workers", 1), fmt.Sprintf(group, "more", 7)), "0 pods cannot become 7"},
		"asks for more in each pod":    {"mine", `{"spec":{"rayClusterSpec":{"headGroupSpec":{"template":{"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"50"}}}]}}}}}}`, "request cannot change"},
		"scales itself":                {"mine", `{"metadata":{"annotations":{"kueue.x-k8s.io/elastic-job":"true"}},"spec":{"rayClusterSpec":{"enableInTreeAutoscaling":true}}}`, "enableInTreeAutoscaling"},
		"takes another cluster":        {"late", `{"spec":{"clusterSelector":{"a":"b"}}}`, "should not use an existing cluster"},
		"leaves its queue":             {"mine", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":null}}}`, "queue-name"},
	} {
		_, err := scene.cluster.Dynamic.Resource(rayJobs).Namespace(scene.teams.Namespace).Patch(harness.Context(t), attempt.name,
			types.MergePatchType, []byte(attempt.patch), metav1.PatchOptions{})
		if err == nil || !(apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) || !strings.Contains(err.Error(), attempt.words) {
			t.Errorf("%s %s: %v", attempt.name, what, err)
		}
	}

	// Its status says that nothing runs. It keeps its quota as long as it is not suspended. What was created later is seen
	// later, over the same watch.
	scene.status("mine", `{"jobDeploymentStatus":"Suspended","rayClusterStatus":{"state":"suspended"}}`)
	scene.create("later", 1)
	scene.teams.Await("later", "is there")
	scene.holds("mine")
	scene.await("late", "still waits", true)
}

type rayScene struct {
	*testing.T
	cluster *harness.Cluster
	teams   *harness.Teams
}

func newRayScene(t *testing.T) rayScene {
	t.Helper()
	cluster := harness.Connect(t)
	cluster.InstallDefinition(t, "kinds/ray/crd.yaml", "rayjobs.ray.io")
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+"integrations: {frameworks: [batch/job, ray.io/rayjob]}\n")
	harness.ApplyRights(t, cluster, config)
	harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	scene := rayScene{t, cluster, cluster.Teams(t)}
	scene.teams.Flavor("f")
	// Room for one: a head, a worker, and the half cpu of the submitter.
	scene.teams.Queue("a", scene.teams.Cpus("f=3"))
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "rayjobs", "--all", "--namespace", scene.teams.Namespace) })
	return scene
}

// create makes one of a head and some workers, of a cpu each. The webhook suspends it.
func (s rayScene) create(name string, workers int64) {
	s.Helper()
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "c", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}}}}
	created, err := s.cluster.Dynamic.Resource(rayJobs).Namespace(s.teams.Namespace).Create(harness.Context(s), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/v1", "kind": "RayJob",
		"metadata": map[string]any{"name": name, "labels": map[string]any{harness.QueueLabel: "a"}},
		"spec": map[string]any{
			"entrypoint": "python train.py", "shutdownAfterJobFinishes": true,
			"submitterPodTemplate": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{
				"name": "submit", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": "500m"}}}}}},
			"rayClusterSpec": map[string]any{
				"headGroupSpec":    map[string]any{"rayStartParams": map[string]any{}, "template": template},
				"workerGroupSpecs": []any{map[string]any{"groupName": "workers", "replicas": workers, "rayStartParams": map[string]any{}, "template": template}},
			},
		},
	}}, metav1.CreateOptions{})
	harness.Must(s, err)
	s.suspensions().isTrue(created)
}

func (s rayScene) suspensions() suspensions {
	return suspensions{s.T, s.cluster.Dynamic.Resource(rayJobs).Namespace(s.teams.Namespace), []string{"spec", "suspend"}}
}

func (s rayScene) await(name, what string, suspended bool) *unstructured.Unstructured {
	s.Helper()
	return s.suspensions().await(name, what, suspended)
}

// holds fails unless the job's Workload has quota now.
func (s rayScene) holds(name string) {
	s.Helper()
	s.teams.Await(name, "holds its quota", harness.HasCondition("QuotaReserved", "True", "QuotaReserved"))
}

func (s rayScene) status(name, status string) {
	s.Helper()
	_, err := s.cluster.Dynamic.Resource(rayJobs).Namespace(s.teams.Namespace).Patch(harness.Context(s), name, types.MergePatchType,
		[]byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	harness.Must(s, err)
}
