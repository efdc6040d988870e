package install

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// kueueLease is a Lease of Kueue's name that is renewed while `alive`.
type kueueLease struct {
	alive    atomic.Bool
	renewals atomic.Int64
}

// renewKueueLease makes one in a namespace and looks after it until the test ends.
func renewKueueLease(t *testing.T, cluster *harness.Cluster, namespace string) *kueueLease {
	t.Helper()
	holder, seconds, now := "kueue-controller-manager-5d9c7b6f-x2v4w_8a0f3c1e-1111-2222-3333-444455556666", int32(2), metav1.NowMicro()
	leases := cluster.Client.CoordinationV1().Leases(namespace)
	made, err := leases.Create(harness.Context(t), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: harness.UsualLease},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}}, metav1.CreateOptions{})
	harness.Must(t, err)
	lease, ended := &kueueLease{}, make(chan struct{})
	lease.alive.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		for tick := time.NewTicker(300 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			if now := metav1.NowMicro(); lease.alive.Load() {
				made.Spec.RenewTime = &now
				if next, err := leases.Update(ctx, made, metav1.UpdateOptions{}); err == nil {
					made = next
					lease.renewals.Add(1)
				}
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return lease
}

// readiness is what /readyz says in full.
func readiness(muster *harness.Muster) (string, error) {
	client := http.Client{Timeout: time.Second}
	response, err := client.Get(muster.Health + "/readyz?verbose")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func awaitKueueIsSeen(t *testing.T, muster *harness.Muster, namespace string) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, "muster is unready because of Kueue", func() error {
		said, err := readiness(muster)
		if err == nil && (!strings.Contains(said, "[-]kueue failed: ") ||
			!strings.Contains(said, "Lease "+namespace+"/"+harness.UsualLease+" is renewed by")) {
			err = fmt.Errorf("it says %q", said)
		}
		return err
	})
}

// While Kueue is alive, in whatever namespace, muster decides nothing; it begins, or goes on, by itself
// when Kueue is gone. A Lease of a tenant, who cannot admit Workloads, is not Kueue's.
func TestMusterWaitsWhileKueueIsAlive(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	home, tenant := cluster.Namespace(t, nil), cluster.Namespace(t, nil)
	role := "kueue-" + home
	cluster.Kubectl(t, "", "create", "serviceaccount", "kueue-controller-manager", "-n", home)
	cluster.Kubectl(t, fmt.Sprintf(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": %q},
		"rules": [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads/status"], "verbs": ["get", "patch", "update"]}]}`, role), "create", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrole", role) })
	cluster.Kubectl(t, "", "create", "clusterrolebinding", role, "--clusterrole", role, "--serviceaccount", home+":kueue-controller-manager")
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrolebinding", role) })
	renewKueueLease(t, cluster, tenant)
	kueue := renewKueueLease(t, cluster, home)

	muster := harness.SpawnMuster(t, func() {})
	muster.AwaitHealthy(t)
	awaitKueueIsSeen(t, muster, home)
	kueue.alive.Store(false)
	harness.Eventually(t, 30*time.Second, "muster is ready once Kueue is gone", muster.Ready)
	muster.Register(t)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=4"))
	teams.Job("q", "before", 1, "1")
	teams.RunsWith("before", 1)

	kueue.alive.Store(true)
	awaitKueueIsSeen(t, muster, home)
	teams.Job("q", "later", 1, "1")
	seen := kueue.renewals.Load()
	harness.Eventually(t, 30*time.Second, "Kueue goes on for a while", func() error {
		if kueue.renewals.Load() < seen+5 {
			return fmt.Errorf("%d renewals", kueue.renewals.Load()-seen)
		}
		return nil
	})
	if workloads := teams.Kubectl("get", "workloads", "-o", "name"); strings.Count(workloads, "workload") != 1 {
		t.Errorf("muster made Workloads beside Kueue: %s", workloads)
	}
	kueue.alive.Store(false)
	teams.RunsWith("later", 1)
	harness.Eventually(t, 10*time.Second, "muster is ready again", muster.Ready)
}

// Kueue's webhooks alone, without a Lease: they would change the same objects.
func TestMusterWaitsWhileKueuesWebhooksAreThere(t *testing.T) {
	cluster := harness.Connect(t)
	const name = "kueue-validating-webhook-configuration"
	// It matches no request of this cluster.
	cluster.Kubectl(t, `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "`+name+`"},
		"webhooks": [{"name": "vworkload.kb.io", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
		"clientConfig": {"url": "https://127.0.0.1:1/validate"}, "rules": [{"apiGroups": ["nobody.example.com"], "apiVersions": ["v1"],
		"operations": ["CREATE"], "resources": ["things"]}]}]}`, "create", "-f", "-")
	t.Cleanup(func() {
		cluster.Kubectl(t, "", "delete", "validatingwebhookconfiguration", name, "--ignore-not-found")
	})
	muster := harness.SpawnMuster(t, func() {})
	muster.AwaitHealthy(t)
	harness.Eventually(t, 30*time.Second, "muster is unready and says why", func() error {
		said, err := readiness(muster)
		if err == nil && (!strings.Contains(said, "[-]kueue failed: ") || !strings.Contains(said, "the webhook configuration "+name+" is there")) {
			err = fmt.Errorf("it says %q", said)
		}
		return err
	})
	cluster.Kubectl(t, "", "delete", "validatingwebhookconfiguration", name)
	harness.Eventually(t, 30*time.Second, "muster is ready once they are gone", muster.Ready)
}
