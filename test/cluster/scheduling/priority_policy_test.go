package scheduling

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// The sample that binds WorkloadPriorityClasses to namespaces needs no muster.

func TestASamplePolicyBindsPriorityClassesToNamespaces(t *testing.T) {
	cluster := harness.Connect(t)
	policy, err := os.ReadFile("../../manifests/samples/policies/priority-classes.yaml")
	harness.Must(t, err)
	ns := cluster.Namespace(t, nil)
	cluster.Kubectl(t, "", "annotate", "namespace", ns, "example.com/priority-classes=research,batch")
	existing := func(class string) string {
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "existing", "namespace": %q, "labels": {"a": "b"%s}}}`, ns, class)
	}
	const label = `, "kueue.x-k8s.io/priority-class": `
	cluster.Kubectl(t, existing(label+`"urgent"`), "create", "-f", "-")
	cluster.Kubectl(t, string(policy), "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, string(policy), "delete", "-f", "-") })

	create := func(namespace, class string) error {
		job := harness.Job("job", map[string]string{"kueue.x-k8s.io/priority-class": class})
		_, err := cluster.Client.BatchV1().Jobs(namespace).Create(harness.Context(t), job, harness.DryRun)
		return err
	}
	refused := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "may not use the WorkloadPriorityClass")
	}
	harness.Eventually(t, 30*time.Second, "the policy acts", func() error {
		if err := create(ns, "urgent"); !refused(err) {
			return fmt.Errorf("a class that is not listed: %v", err)
		}
		return nil
	})
	for class, allowed := range map[string]bool{"research": true, "batch": true, "default": true, "resea": false, "": false} {
		if err := create(ns, class); (err == nil) != allowed || refused(err) == allowed {
			t.Errorf("class %q: %v", class, err)
		}
	}
	// Elsewhere nothing is listed.
	if err := create(cluster.Namespace(t, nil), "research"); !refused(err) {
		t.Errorf("a namespace without a list: %v", err)
	}
	for class, allowed := range map[string]bool{label + `"urgent", "c": "d"`: true, "": true, label + `"research"`: true, label + `"other"`: false} {
		if _, err := cluster.TryKubectl(existing(class), "apply", "--dry-run=server", "-f", "-"); (err == nil) != allowed {
			t.Errorf("an object of a class that is not listed, changed to {%s}: %v", class, err)
		}
	}
}
