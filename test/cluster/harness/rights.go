package harness

import "testing"

// ApplyRights applies what manifests/rbac.yaml holds, for the names in `config`; it
// is removed at the test's end.
func ApplyRights(t testing.TB, c *Cluster, config string) {
	t.Helper()
	c.EnsureMusterNamespace(t)
	rights := Manifests(t, "--only=rbac", "--config", config)
	c.Kubectl(t, rights, "apply", "-f", "-")
	t.Cleanup(func() { c.Kubectl(t, rights, "delete", "--ignore-not-found", "-f", "-") })
}
