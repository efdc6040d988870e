package install

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

const kueueHolder = "kueue-controller-manager-5d9c7b6f-x2v4w_8a0f3c1e-1111-2222-3333-444455556666"

// standInForKueue is a cluster that has Kueue's parts by their names: Deployment, Lease, configuration, fail-closed
// webhooks, conversion and v1beta1 storage. Its webhooks are answered by a muster that knows no cluster and decides
// nothing; its Lease is renewed by the rules of client-go while it has pods.
type standInForKueue struct {
	leads    atomic.Bool
	overlaps atomic.Int64 // moments at which muster led as well
}

const standInManifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: kueue-controller-manager, namespace: kueue-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kueue-manager-role}
rules: [{apiGroups: [kueue.x-k8s.io], resources: [workloads/status], verbs: [get, patch, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kueue-manager-rolebinding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kueue-manager-role}
subjects: [{kind: ServiceAccount, name: kueue-controller-manager, namespace: kueue-system}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: kueue-system}
data:
  controller_manager_config.yaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    webhook: {port: 9443}
    leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}
    integrations:
      frameworks: [batch/job]
    # As a file of Kueue 0.17 names them: later releases have locked seven of them, or have them no more.
    featureGates:
      HierarchicalCohorts: true
      LendingLimit: true
      LocalQueueDefaulting: true
      LocalQueueMetrics: true
      ManagedJobsNamespaceSelectorAlwaysRespected: true
      MultiKueueBatchJobWithManagedBy: true
      ObjectRetentionPolicies: true
      PartialAdmission: true
      PropagateBatchJobLabelsToWorkload: true
      ReclaimablePods: true
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stand-in, namespace: kueue-system}
data:
  config.yaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    internalCertManagement: {enable: false}
    webhook: {certDir: /certs}
---
apiVersion: v1
kind: Service
metadata: {name: kueue-webhook-service, namespace: kueue-system}
spec:
  selector: {control-plane: controller-manager}
  ports: [{port: 443, targetPort: 9443}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kueue-controller-manager, namespace: kueue-system, labels: {app.kubernetes.io/name: kueue}}
spec:
  replicas: 1
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec:
      serviceAccountName: kueue-controller-manager
      terminationGracePeriodSeconds: 1
      nodeSelector: {muster.batch/node: real}
      containers:
      - name: manager
        image: muster:dev
        args: [serve, --standalone, --config=/etc/kueue/config.yaml]
        readinessProbe: {httpGet: {path: /healthz, port: 8081}, periodSeconds: 1}
        volumeMounts: [{name: config, mountPath: /etc/kueue}, {name: certs, mountPath: /certs}]
      volumes:
      - {name: config, configMap: {name: stand-in}}
      - {name: certs, secret: {secretName: kueue-webhook-server-cert}}
`

func kueueWebhooks(kind, path, bundle string) string {
	prefix := strings.ToLower(kind)
	return fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "%sWebhookConfiguration",
		"metadata": {"name": "kueue-%s-webhook-configuration"}, "webhooks": [{"name": "job.kb.io", "sideEffects": "None",
		"admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "clientConfig": {"caBundle": %q, "service":
		{"name": "kueue-webhook-service", "namespace": "kueue-system", "path": %q}}, "rules": [{"apiGroups": ["batch"],
		"apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}]}]}`, kind, prefix, bundle, path)
}

// becomeKueue takes muster away and puts the stand-in in its place. All objects of the queues stay, stored as v1beta1.
func becomeKueue(t *testing.T, cluster *harness.Cluster) *standInForKueue {
	t.Helper()
	ctx, folder := harness.Context(t), t.TempDir()
	for _, plural := range []string{"workloads", "localqueues", "clusterqueues", "cohorts"} {
		harness.StoreVersion(t, cluster, plural, harness.OldVersion)
	}
	time.Sleep(3 * time.Second) // until the API server stores in that version
	rewriteWorkloads(t, cluster)

	authority := harness.NewAuthority(t)
	authority.Issue(t, folder, authority.Certificate)
	bundle := base64.StdEncoding.EncodeToString(authority.Certificate)
	cluster.Kubectl(t, "", "create", "namespace", "kueue-system")
	cluster.Kubectl(t, "", "-n", "kueue-system", "create", "secret", "generic", "kueue-webhook-server-cert",
		"--from-file="+filepath.Join(folder, "tls.crt"), "--from-file="+filepath.Join(folder, "tls.key"), "--from-file="+filepath.Join(folder, "ca.crt"))
	cluster.Kubectl(t, standInManifests, "apply", "-f", "-")
	if said, err := cluster.Shell(t, `kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration muster
muster manifests --only policies | kubectl delete -f -
muster manifests --only rbac | kubectl delete --ignore-not-found -f -
kubectl delete namespace muster-system --timeout 1m
kubectl -n kueue-system rollout status deployment/kueue-controller-manager --timeout 1m
`); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, plural := range []string{"workloads", "localqueues", "clusterqueues", "cohorts", "resourceflavors", "admissionchecks", "workloadpriorityclasses"} {
		conversion := ""
		if strings.Contains("workloads localqueues clusterqueues cohorts", plural) {
			conversion = `,"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"` + bundle + `","service":{"name":"kueue-webhook-service","namespace":"kueue-system","path":"/convert"}}}}}`
		}
		_, err := cluster.Dynamic.Resource(harness.Definitions).Patch(ctx, plural+".kueue.x-k8s.io", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"app.kubernetes.io/name":"kueue"}}`+conversion+`}`), metav1.PatchOptions{})
		harness.Must(t, err)
	}
	cluster.Kubectl(t, kueueWebhooks("Mutating", "/mutate", bundle), "create", "-f", "-")
	cluster.Kubectl(t, kueueWebhooks("Validating", "/validate", bundle), "create", "-f", "-")
	kueue := &standInForKueue{}
	kueue.elect(t, cluster)
	harness.Eventually(t, 20*time.Second, "the stand-in leads", func() error { return kueue.isLeading(true) })
	return kueue
}

func rewriteWorkloads(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	list, err := harness.InVersion(cluster, harness.NewVersion, "workloads", "").List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	for _, workload := range list.Items {
		_, err := harness.InVersion(cluster, harness.NewVersion, "workloads", workload.GetNamespace()).Patch(harness.Context(t), workload.GetName(), types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		harness.Must(t, err)
	}
}

func (k *standInForKueue) isLeading(wanted bool) error {
	if k.leads.Load() != wanted {
		return fmt.Errorf("leads: %t", k.leads.Load())
	}
	return nil
}

// elect renews the Lease as client-go does: that of another is respected for as long as it says itself.
func (k *standInForKueue) elect(t *testing.T, cluster *harness.Cluster) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		seen, since, musters := "", time.Now(), ""
		for tick := time.NewTicker(300 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			pods, err := cluster.Client.CoreV1().Pods("kueue-system").List(ctx, metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
			alive := err == nil && len(pods.Items) > 0
			k.leads.Store(alive && k.renew(ctx, cluster, &seen, &since))
			renewed := ""
			if lease, err := cluster.Client.CoordinationV1().Leases("muster-system").Get(ctx, harness.UsualLease, metav1.GetOptions{}); err == nil && lease.Spec.RenewTime != nil {
				renewed = lease.Spec.RenewTime.String()
			}
			// A Lease that is gone, with muster's namespace, is no renewal.
			if k.leads.Load() && renewed != musters && musters != "" && renewed != "" {
				k.overlaps.Add(1)
			}
			musters = renewed
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

func (k *standInForKueue) renew(ctx context.Context, cluster *harness.Cluster, seen *string, since *time.Time) bool {
	leases := cluster.Client.CoordinationV1().Leases("kueue-system")
	holder, seconds, now := kueueHolder, int32(2), metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}
	lease, err := leases.Get(ctx, harness.UsualLease, metav1.GetOptions{})
	if err != nil {
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: harness.UsualLease}, Spec: spec},
			metav1.CreateOptions{})
		return err == nil
	}
	if lease.ResourceVersion != *seen {
		*seen, *since = lease.ResourceVersion, time.Now()
	}
	others := lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" && *lease.Spec.HolderIdentity != holder
	if others && time.Since(*since) < time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
		return false
	}
	lease.Spec = spec
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err == nil
}
