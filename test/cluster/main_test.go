package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// essence of an object is what a user or a webhook decides about it; status,
// bookkeeping and the note that `kubectl apply` leaves are not part of it.
func essence(t testing.TB, object *unstructured.Unstructured) string {
	t.Helper()
	annotations := object.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	return harness.ToJSON(t, map[string]any{
		"spec":        object.Object["spec"],
		"labels":      object.GetLabels(),
		"annotations": annotations,
	})
}

// kubectlGet reads an object back as kubectl shows it.
func kubectlGet(t testing.TB, c *harness.Cluster, namespace, resource, name string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, c.Kubectl(t, "", "get", resource, name, "-n", namespace, "-o", "yaml"))
}

// parse reads the one object of a YAML text.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	documents := harness.Documents(t, text)
	if len(documents) != 1 {
		t.Fatalf("%d objects where one was expected:\n%s", len(documents), text)
	}
	return documents[0]
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

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeFile puts a text into a file of the test's own.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
