package gangs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

func TestDryRunOfAGangJobSetShowsTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	manifest := harness.ToJSON(t, harness.GroupScheduling(harness.JobSet("gang", "workers", "helpers"), 300))

	shown := harness.ParseObject(t, cluster.Kubectl(t, manifest, "apply", "-n", namespace, "--dry-run=server", "-o", "yaml", "-f", "-"))
	for index := range 2 {
		if err := checkBarrier(harness.PodSpecOf(shown, index), "gang-group-scheduling"); err != nil {
			t.Errorf("replicated job %d: %v", index, err)
		}
	}
	if left := cluster.Kubectl(t, "", "get", "jobsets,configmaps", "-n", namespace, "-o", "name"); left != "configmap/kube-root-ca.crt\n" {
		t.Errorf("the dry run left %q", left)
	}
}

func TestOnlyTheTargetsOfAGangGetTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))
	jobSet := harness.GroupScheduling(harness.JobSet("gang", "helpers", "workers"), 300, "workers")

	made, err := client.Create(harness.Context(t), jobSet, harness.ForReal)
	harness.Must(t, err)
	harness.Must(t, checkNoBarrier(harness.PodSpecOf(made, 0)))
	harness.Must(t, checkBarrier(harness.PodSpecOf(made, 1), "gang-group-scheduling"))
}

func TestGeneratedNamesAreGivenByTheWebhook(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))
	jobSet := harness.GroupScheduling(harness.JobSet("", "workers"), 300)
	jobSet.SetGenerateName("gang-")

	made, err := client.Create(harness.Context(t), jobSet, harness.ForReal)
	harness.Must(t, err)
	if len(made.GetName()) != len("gang-")+5 {
		t.Errorf("the name is %q", made.GetName())
	}
	harness.Must(t, checkBarrier(harness.PodSpecOf(made, 0), made.GetName()+"-group-scheduling"))
}

func TestUpdatingAGangJobSetKeepsTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))
	ctx := harness.Context(t)
	made, err := client.Create(ctx, harness.GroupScheduling(harness.JobSet("gang", "workers"), 300), harness.ForReal)
	harness.Must(t, err)

	before := harness.ToJSON(t, made.Object["spec"])
	made.SetLabels(map[string]string{"team": "blue"})
	updated, err := client.Update(ctx, made, metav1.UpdateOptions{})
	harness.Must(t, err)
	if after := harness.ToJSON(t, updated.Object["spec"]); after != before {
		t.Errorf("a new label changed the spec from\n%s\nto\n%s", before, after)
	}
	if updated.GetLabels()["team"] != "blue" {
		t.Error("the label is not there")
	}
}

func TestApplyingAGangJobSetAgainIsHarmless(t *testing.T) {
	for name, flags := range map[string][]string{
		"client side": nil,
		"server side": {"--server-side"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := harness.Connect(t)
			harness.StartMuster(t)
			namespace := cluster.Namespace(t, nil)
			manifest := harness.ToJSON(t, harness.GroupScheduling(harness.JobSet("gang", "workers"), 300))
			apply := append([]string{"apply", "-n", namespace, "-f", "-"}, flags...)

			cluster.Kubectl(t, manifest, apply...)
			first := harness.KubectlGet(t, cluster, namespace, "jobset", "gang")
			harness.Must(t, checkBarrier(harness.PodSpecOf(first, 0), "gang-group-scheduling"))
			cluster.Kubectl(t, manifest, apply...)
			second := harness.KubectlGet(t, cluster, namespace, "jobset", "gang")
			if harness.Essence(t, first) != harness.Essence(t, second) {
				t.Errorf("the second apply changed\n%s\nto\n%s", harness.Essence(t, first), harness.Essence(t, second))
			}
			if first.GetGeneration() != second.GetGeneration() {
				t.Errorf("the second apply made generation %d of %d", second.GetGeneration(), first.GetGeneration())
			}
		})
	}
}

func TestGoingOverToServerSideApplyKeepsTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	manifest := harness.ToJSON(t, harness.GroupScheduling(harness.JobSet("gang", "workers"), 300))

	cluster.Kubectl(t, manifest, "apply", "-n", namespace, "-f", "-")
	for range 2 {
		cluster.Kubectl(t, manifest, "apply", "--server-side", "--force-conflicts", "-n", namespace, "-f", "-")
	}
	stored := harness.KubectlGet(t, cluster, namespace, "jobset", "gang")
	harness.Must(t, checkBarrier(harness.PodSpecOf(stored, 0), "gang-group-scheduling"))
}

func TestJobWithATimeoutAnnotationGetsTheBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	job := harness.Job("gang", nil)
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "300"}
	manifest := harness.ToJSON(t, job)

	for range 2 { // the second apply is harmless
		cluster.Kubectl(t, manifest, "apply", "-n", namespace, "-f", "-")
		stored := harness.KubectlGet(t, cluster, namespace, "job", "gang")
		template := stored.Object["spec"].(map[string]any)["template"].(map[string]any)
		harness.Must(t, checkBarrier(template["spec"].(map[string]any), "gang.job-group-scheduling"))
	}
}

// checkBarrier is nil if a pod spec waits for the ConfigMap of that name: the
// barrier is the last init container and its volume can be absent at first.
func checkBarrier(podSpec map[string]any, configMap string) error {
	inits, _, _ := unstructured.NestedSlice(podSpec, "initContainers")
	if len(inits) == 0 {
		return errors.New("no init containers")
	}
	for i, each := range inits {
		container, _ := each.(map[string]any)
		last := i == len(inits)-1
		if (container["name"] == harness.BarrierContainer) != last {
			return fmt.Errorf("init container %d of %d is %v", i+1, len(inits), container["name"])
		}
	}
	volumes, _, _ := unstructured.NestedSlice(podSpec, "volumes")
	found := 0
	for _, each := range volumes {
		volume, _ := each.(map[string]any)
		if volume["name"] != harness.BarrierVolume {
			continue
		}
		found++
		name, _, _ := unstructured.NestedString(volume, "configMap", "name")
		optional, _, _ := unstructured.NestedBool(volume, "configMap", "optional")
		if name != configMap || !optional {
			return fmt.Errorf("volume %v is not the optional ConfigMap %s", volume, configMap)
		}
	}
	if found != 1 {
		return fmt.Errorf("%d volumes named %s", found, harness.BarrierVolume)
	}
	return nil
}

// checkNoBarrier is nil if a pod spec is free of everything injected.
func checkNoBarrier(podSpec map[string]any) error {
	if text := fmt.Sprint(podSpec); strings.Contains(text, harness.BarrierVolume) {
		return fmt.Errorf("it has a barrier: %s", text)
	}
	return nil
}
