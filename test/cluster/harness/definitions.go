package harness

import (
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definitions are the CustomResourceDefinitions of the cluster.
var Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// InstallDefinition applies a CustomResourceDefinition from a file and waits until its kind is served. It is
// deleted with the test: the next test can install another definition with the same name.
func (c *Cluster) InstallDefinition(t testing.TB, file, name string) {
	t.Helper()
	definition, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, string(definition), "apply", "--server-side", "-f", "-")
	t.Cleanup(func() { c.Kubectl(t, "", "delete", "crd", name, "--timeout=60s") })
	c.WaitForDefinition(t, name)
}

// WaitForDefinition waits until the kind of a CustomResourceDefinition is served. (kubectl wait fails at once if it sees
// a definition that has no condition yet.)
func (c *Cluster) WaitForDefinition(t testing.TB, name string) {
	t.Helper()
	Eventually(t, 30*time.Second, name+" is served", func() error {
		live, err := c.Dynamic.Resource(Definitions).Get(Context(t), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return HasCondition("Established", "True", "")(live)
	})
}
