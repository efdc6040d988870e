package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// muster runs in a namespace of the user's choice: what it keeps is there, and the namespace
// that it has by default is not touched.
func TestMusterInstallsInAnyNamespace(t *testing.T) {
	const elsewhere = "batch-elsewhere"
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	install := []string{"--namespace", elsewhere, "--config", config}
	_, err := cluster.Client.CoreV1().Namespaces().Create(harness.Context(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}}, metav1.CreateOptions{})
	harness.Must(t, err)
	t.Cleanup(func() {
		harness.Must(t, cluster.Client.CoreV1().Namespaces().Delete(context.Background(), elsewhere, metav1.DeleteOptions{}))
	})

	// The API server takes every object of the whole installation, but for the CRDs that this
	// cluster has: in those muster has put a URL in the place of the Service.
	for _, part := range []string{"rbac", "deployment", "policies", "webhooks"} {
		manifests := harness.Manifests(t, append([]string{"--only=" + part}, install...)...)
		cluster.Kubectl(t, manifests, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
	}
	if crds := harness.Manifests(t, append([]string{"--only=crds"}, install...)...); strings.Contains(crds, "muster-system") {
		t.Error("the CRDs name muster-system")
	}
	rights := harness.Manifests(t, append([]string{"--only=rbac"}, install...)...)
	cluster.Kubectl(t, rights, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, rights, "delete", "--ignore-not-found", "--wait=false", "-f", "-") })
	cluster.EnsureMusterNamespace(t)
	before := kept(t, cluster, "muster-system")

	muster := harness.StartMuster(t, append(install, "--kubeconfig", harness.AsServiceAccount(t, cluster, elsewhere, "muster"))...)
	harness.Must(t, harness.CreateQueued(harness.Context(t), cluster, cluster.Namespace(t, nil))(0))
	harness.Eventually(t, 20*time.Second, "a Secret and a Lease in "+elsewhere, func() error {
		if there := kept(t, cluster, elsewhere); !strings.Contains(there, "Secret muster-webhook-cert ") || !strings.Contains(there, "Lease "+harness.UsualLease+" ") {
			return fmt.Errorf("there is %q", there)
		}
		return nil
	})
	if after := kept(t, cluster, "muster-system"); after != before {
		t.Errorf("in muster-system there was %q and is %q", before, after)
	}
	// Its own namespace is nothing to its webhooks.
	muster.Kill(t)
	_, err = cluster.Client.BatchV1().Jobs(elsewhere).Create(harness.Context(t), harness.Job("queued", harness.Queue("some")), harness.DryRun)
	harness.Must(t, err)
	if _, err = cluster.Client.BatchV1().Jobs("default").Create(harness.Context(t), harness.Job("queued", harness.Queue("some")), harness.DryRun); err == nil {
		t.Error("a queued Job was created without muster")
	}
}

// kept names the Secrets and Leases of a namespace, with their versions.
func kept(t *testing.T, cluster *harness.Cluster, namespace string) string {
	t.Helper()
	secrets, err := cluster.Client.CoreV1().Secrets(namespace).List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	leases, err := cluster.Client.CoordinationV1().Leases(namespace).List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	text := ""
	for _, one := range secrets.Items {
		text += fmt.Sprintf("Secret %s %s; ", one.Name, one.ResourceVersion)
	}
	for _, one := range leases.Items {
		text += fmt.Sprintf("Lease %s %s; ", one.Name, one.ResourceVersion)
	}
	return text
}

// Another program issues and renews the certificates: muster serves them, writes no Secret, and
// a renewal by another CA costs no create.
func TestCertificatesOfSomebodyElseAreServedAndNoSecretIsWritten(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.ForgetCertificates(t)
	wire := cluster.Wire(t)
	folder := t.TempDir()
	old := harness.NewAuthority(t)
	old.Issue(t, folder, old.Certificate)
	muster := harness.StartMuster(t, "--kubeconfig", wire.Kubeconfig, "--config", harness.WriteFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\ninternalCertManagement: {enable: false}\nwebhook: {certDir: "+folder+"}\n"))
	namespace := cluster.Namespace(t, nil)
	create := harness.CreateQueued(harness.Context(t), cluster, namespace)
	harness.Must(t, create(0))

	// As cert-manager's users do it: first both CAs are trusted, then the new one signs.
	next := harness.NewAuthority(t)
	both := append(bytes.Clone(old.Certificate), next.Certificate...)
	old.Issue(t, folder, both)
	harness.Eventually(t, 20*time.Second, "both CAs are in every webhook", func() error {
		if bundle, err := muster.WebhookCABundle(); err != nil || !bytes.Equal(bundle, both) {
			return errors.Join(err, errors.New("another bundle"))
		}
		return nil
	})
	serial := next.Issue(t, folder, both)
	harness.Eventually(t, 20*time.Second, "the new certificate is served", func() error {
		shown, err := muster.ServingCertificate(both)
		if err == nil && shown.SerialNumber.Cmp(serial) != 0 {
			err = errors.New("the old one is")
		}
		return errors.Join(err, create(1))
	})
	for _, line := range wire.Journal() {
		if strings.Contains(line, " secrets ") {
			t.Errorf("muster wrote: %s", line)
		}
	}
	if there := kept(t, cluster, "muster-system"); strings.Contains(there, "Secret") {
		t.Errorf("in muster-system there is %q", there)
	}
}
