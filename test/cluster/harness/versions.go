package harness

import (
	"strconv"
	"strings"
	"testing"
)

// NeedsKubernetes skips a test on a Kubernetes older than 1.minor, which docs/kubernetes-versions.md says lacks something.
func (c *Cluster) NeedsKubernetes(t testing.TB, minor int, what string) {
	t.Helper()
	version, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if have, err := strconv.Atoi(strings.TrimRight(version.Minor, "+")); err != nil || have < minor {
		t.Skipf("%s needs Kubernetes 1.%d, and this is %s", what, minor, version)
	}
}
