package harness

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace creates a namespace for one test and returns its name once pods
// can be created in it. It is deleted with the test, without waiting for it.
func (c *Cluster) Namespace(t testing.TB, labels map[string]string) string {
	t.Helper()
	ctx := Context(t)
	made, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "muster-test-", Labels: labels},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		err := c.Client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
		if err != nil && !errors.IsNotFound(err) {
			t.Errorf("deleting the namespace: %v", err)
		}
		// muster can end before it has let all go.
		c.forceWorkloadsAway(made.Name)
	})
	Eventually(t, time.Minute, "the default service account", func() error {
		_, err := c.Client.CoreV1().ServiceAccounts(made.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return made.Name
}

// EnsureMusterNamespace creates the namespace in which muster keeps its certificates and its Lease. The Lease
// is deleted at the test's end, so that the next test's muster need not wait for a killed leader. The
// certificates stay: a new CA would change muster's definitions, which interrupts the watches of all of its
// kinds. ForgetCertificates is for tests of a first start.
func (c *Cluster) EnsureMusterNamespace(t testing.TB) {
	t.Helper()
	_, err := c.Client.CoreV1().Namespaces().Create(Context(t), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: musterNamespace},
	}, metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		t.Fatalf("creating muster's namespace: %v", err)
	}
	t.Cleanup(func() {
		err := c.Client.CoordinationV1().Leases(musterNamespace).DeleteCollection(
			context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			t.Errorf("removing muster's lease: %v", err)
		}
	})
}

// ForgetCertificates lets the next muster begin as on a new cluster.
func (c *Cluster) ForgetCertificates(t testing.TB) {
	t.Helper()
	c.EnsureMusterNamespace(t)
	err := c.Client.CoreV1().Secrets(musterNamespace).DeleteCollection(Context(t), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("removing muster's certificates: %v", err)
	}
}
