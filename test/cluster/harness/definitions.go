package harness

import (
	"os"
	"testing"
)

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
	c.Kubectl(t, "", "wait", "--for=condition=Established", "crd/"+name, "--timeout=30s")
}
