package install

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// The way of docs/migration.md with the chart in place of the manifests: there, with Helm as the owner of the webhooks that
// `muster adopt` has registered, and back. No pod restarts, and Helm changes no CRD.
func TestMigrationPageWithHelm(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	harness.FollowPage(t, cluster, "install.md", "With kubectl", "First queue and first Job")
	const pending = 30
	running := manyWorkloads(t, cluster, pending)
	kueue := becomeKueue(t, cluster)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(harness.ClusterState(cluster))
		}
	})
	before := picture(t, cluster, running)
	harness.FollowPage(t, cluster, "migration.md", "1. Look", "Helm instead of step 2")
	harness.Must(t, kueue.isLeading(true))
	if names := cluster.Kubectl(t, "", "get", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "-o", "name"); strings.Contains(names, "/muster") {
		t.Errorf("the chart has installed webhooks beside Kueue's: %s", names)
	}
	harness.FollowPage(t, cluster, "migration.md", "3. Move", "4. Verify")
	if after := picture(t, cluster, running); after != before {
		t.Errorf("before the move:\n%s\nafter it:\n%s", before, after)
	}

	// Helm becomes the owner of live webhooks: they keep their CA bundle, so no create is refused.
	definitions := definitionVersions(t, cluster)
	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()
	var outcome harness.Outcome
	var load sync.WaitGroup
	load.Go(func() { outcome = harness.OpenLoad(ctx, 10, -1, harness.CreateQueued(ctx, cluster, "default")) })
	harness.FollowPage(t, cluster, "migration.md", "Helm after step 4")
	cancel()
	load.Wait()
	if outcome.Failed > 0 || outcome.Total() < 5 {
		t.Errorf("creates: %s", outcome)
	}
	said, err := cluster.Shell(t, "helm get manifest muster --namespace muster-system")
	harness.Must(t, err)
	if !strings.Contains(said, "kind: MutatingWebhookConfiguration") || strings.Contains(said, "kind: CustomResourceDefinition") {
		t.Errorf("the release has\n%s", said)
	}
	if after := definitionVersions(t, cluster); after != definitions {
		t.Errorf("Helm has changed CRDs: %s, before %s", after, definitions)
	}
	if after := picture(t, cluster, running); after != before {
		t.Errorf("before the upgrade:\n%s\nafter it:\n%s", before, after)
	}

	harness.FollowPage(t, cluster, "migration.md", "Back", "Helm after the way back")
	harness.Eventually(t, 30*time.Second, "Kueue leads again", func() error { return kueue.isLeading(true) })
	if after := picture(t, cluster, running); after != before {
		t.Errorf("before the way back:\n%s\nafter it:\n%s", before, after)
	}
	if overlaps := kueue.overlaps.Load(); overlaps > 0 {
		t.Errorf("both led at %d moments", overlaps)
	}
	if left := leftOfMuster(t, cluster); left != "" {
		t.Errorf("left of muster: %s", left)
	}
	cluster.CreateJob(t, "default", harness.Job("after", nil))
	old, err := harness.InVersion(cluster, harness.OldVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	if len(old.Items) < pending+5 {
		t.Errorf("%d Workloads are read in the old version", len(old.Items))
	}
}

// definitionVersions has the resourceVersion of each CRD.
func definitionVersions(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	return cluster.Kubectl(t, "", "get", "crds", "-o", `jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}`)
}
