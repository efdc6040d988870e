package install

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// samples are what README and demo show. kustomization.yaml is not an object.
func samples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../manifests/samples/*.yaml")
	harness.Must(t, err)
	var found []string
	for _, file := range files {
		if filepath.Base(file) != "kustomization.yaml" {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		t.Fatal("no samples in manifests/samples (run the tests in test/cluster)")
	}
	return found
}

func TestEverySampleCanBeAppliedAndAppliedAgain(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	for _, file := range samples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { applySample(t, cluster, file) })
	}
}

// applySample walks a sample through its life as users do with kubectl.
func applySample(t *testing.T, cluster *harness.Cluster, file string) {
	namespace := cluster.Namespace(t, nil)
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("v1")
	list.SetKind("List")
	generated := false
	for _, document := range harness.Documents(t, string(text)) {
		document.SetNamespace("") // each test has a separate namespace
		generated = generated || document.GetName() == ""
		list.Items = append(list.Items, *document)
	}
	manifest := harness.ToJSON(t, list.UnstructuredContent())
	kubectl := func(arguments ...string) string {
		return cluster.Kubectl(t, manifest, append(arguments, "-n", namespace, "-f", "-")...)
	}
	read := func() (whole string) {
		for _, item := range harness.Documents(t, kubectl("get", "-o", "yaml")) {
			entries, found, _ := unstructured.NestedSlice(item.Object, "items")
			if !found {
				return harness.Essence(t, item)
			}
			for _, entry := range entries {
				whole += harness.Essence(t, &unstructured.Unstructured{Object: entry.(map[string]any)}) + "\n"
			}
		}
		return whole
	}

	kubectl("create", "--dry-run=server")
	if generated { // kubectl apply needs a name
		kubectl("create")
		return
	}
	for _, apply := range [][]string{{"apply"}, {"apply", "--server-side"}} {
		kubectl(apply...)
		first := read()
		kubectl(apply...)
		if now := read(); now != first {
			t.Errorf("kubectl %v again changed\n%s\nto\n%s", apply, first, now)
		}
		kubectl("delete")
	}
}
