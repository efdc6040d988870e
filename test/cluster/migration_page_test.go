package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		store(t, cluster, plural, oldVersion)
	}
	time.Sleep(3 * time.Second) // until the API server stores in that version
	rewriteWorkloads(t, cluster)

	authority := newAuthority(t)
	authority.issue(t, folder, authority.certificate)
	bundle := base64.StdEncoding.EncodeToString(authority.certificate)
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
		_, err := cluster.Dynamic.Resource(definitions).Patch(ctx, plural+".kueue.x-k8s.io", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"app.kubernetes.io/name":"kueue"}}`+conversion+`}`), metav1.PatchOptions{})
		must(t, err)
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
	list, err := inVersion(cluster, newVersion, "workloads", "").List(harness.Context(t), metav1.ListOptions{})
	must(t, err)
	for _, workload := range list.Items {
		_, err := inVersion(cluster, newVersion, "workloads", workload.GetNamespace()).Patch(harness.Context(t), workload.GetName(), types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		must(t, err)
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
			if lease, err := cluster.Client.CoordinationV1().Leases("muster-system").Get(ctx, usualLease, metav1.GetOptions{}); err == nil && lease.Spec.RenewTime != nil {
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
	lease, err := leases.Get(ctx, usualLease, metav1.GetOptions{})
	if err != nil {
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: usualLease}, Spec: spec}, metav1.CreateOptions{})
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

// workloadCount is how many pending Workloads the move meets; MUSTER_MIGRATION_WORKLOADS=1000 makes it as long as the issue says.
func workloadCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MUSTER_MIGRATION_WORKLOADS")
	if text == "" {
		return 200
	}
	count, err := strconv.Atoi(text)
	must(t, err)
	return count
}

// manyWorkloads makes Jobs in all states beside the finished one of docs/install.md: running, pending, deactivated.
func manyWorkloads(t *testing.T, cluster *harness.Cluster, pending int) (running []string) {
	t.Helper()
	for i := range 4 {
		name := fmt.Sprintf("running-%d", i)
		job := realJob(name, 1, "sleep 3600")
		job.Labels = harness.Queue("main")
		job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
		cluster.CreateJob(t, "default", job)
		running = append(running, name)
	}
	for _, name := range running {
		cluster.WaitForPods(t, "default", name, 1, time.Minute, "running", harness.Phase(corev1.PodRunning))
	}
	for i := range pending {
		job := realJob(fmt.Sprintf("pending-%d", i), 1, "true")
		job.Labels = harness.Queue("main")
		job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("900m")}
		cluster.CreateJob(t, "default", job)
	}
	harness.Eventually(t, 2*time.Minute, "every Job has a Workload", func() error {
		list, err := inVersion(cluster, newVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
		if err == nil && len(list.Items) < pending+5 {
			err = fmt.Errorf("%d Workloads", len(list.Items))
		}
		return err
	})
	for i := range 3 {
		deactivated := cluster.WaitForWorkload(t, "default", fmt.Sprintf("pending-%d", i), "is there")
		cluster.SetActive(t, deactivated, false)
	}
	return running
}

// picture is what must not change: pods with their restarts, and the admission of every Workload.
func picture(t *testing.T, cluster *harness.Cluster, running []string) string {
	t.Helper()
	text := ""
	for _, name := range running {
		for _, pod := range cluster.PodsOfJob(t, "default", name) {
			text += fmt.Sprintf("pod %s %s %s\n", pod.Name, pod.UID, pod.Status.Phase)
			for _, container := range pod.Status.ContainerStatuses {
				text += fmt.Sprintf("  %d restarts\n", container.RestartCount)
			}
		}
	}
	list, err := inVersion(cluster, newVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
	must(t, err)
	for _, workload := range list.Items {
		admission, _, _ := unstructured.NestedMap(workload.Object, "status", "admission")
		active, _, _ := unstructured.NestedBool(workload.Object, "spec", "active")
		text += fmt.Sprintf("workload %s %s active=%t %s\n", workload.GetName(), workload.GetUID(), active, toJSON(t, admission))
	}
	return text
}

// states counts the Workloads by state, and the restarts of all containers.
func states(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	count := map[string]int{}
	list, err := inVersion(cluster, newVersion, "workloads", "").List(harness.Context(t), metav1.ListOptions{})
	must(t, err)
	for i := range list.Items {
		workload := &list.Items[i]
		active, found, _ := unstructured.NestedBool(workload.Object, "spec", "active")
		switch {
		case harness.HasCondition("Finished", "True", "")(workload) == nil:
			count["finished"]++
		case found && !active:
			count["deactivated"]++
		case harness.HasCondition("Admitted", "True", "")(workload) == nil:
			count["admitted"]++
		default:
			count["pending"]++
		}
	}
	pods, err := cluster.Client.CoreV1().Pods("default").List(harness.Context(t), metav1.ListOptions{})
	must(t, err)
	restarts := 0
	for i := range pods.Items {
		for _, container := range pods.Items[i].Status.ContainerStatuses {
			restarts += int(container.RestartCount)
		}
	}
	return fmt.Sprintf("%d Workloads (%d admitted, %d pending, %d deactivated, %d finished), %d restarts", len(list.Items),
		count["admitted"], count["pending"], count["deactivated"], count["finished"], restarts)
}

// A cluster with Kueue's parts follows docs/migration.md to muster and back, and no pod restarts.
func TestMigrationPageMovesThereAndBack(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	follow(t, cluster, "install.md", "With kubectl", "First queue and first Job")
	running := manyWorkloads(t, cluster, workloadCount(t))
	kueue := becomeKueue(t, cluster)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(state(cluster))
		}
	})
	before := picture(t, cluster, running)

	said := follow(t, cluster, "migration.md", "1. Look", "2. Install muster beside Kueue")
	if !strings.Contains(said, "Nothing stands against a move to muster.") || !strings.Contains(said, "objects are stored as v1beta1") {
		t.Errorf("preflight says\n%s", said)
	}
	began := time.Now()
	said = follow(t, cluster, "migration.md", "3. Move", "4. Verify")
	harness.Figure(t, "moved in %.0f s: %s", time.Since(began).Seconds(), states(t, cluster))
	if after := picture(t, cluster, running); after != before {
		t.Errorf("before the move:\n%s\nafter it:\n%s\n%s", before, after, said)
	}
	for _, plural := range []string{"workloads", "localqueues", "clusterqueues", "resourceflavors"} {
		if stored := storedVersions(t, cluster, plural); stored != "v1beta2" {
			t.Errorf("%s are stored as %s", plural, stored)
		}
	}
	readsOldVersion(t, cluster)
	// muster counts the quota of what Kueue admitted: 800m of 1 CPU are used, so 900m wait and 100m start.
	small := realJob("small", 1, "true")
	small.Labels = harness.Queue("main")
	small.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	cluster.CreateJob(t, "default", small)
	cluster.WaitForJob(t, "default", "small", time.Minute, "Complete")
	if usage := cluster.Kubectl(t, "", "get", "clusterqueue", "team-a", "-o", "jsonpath={.status.flavorsUsage[0].resources[?(@.name=='cpu')].total}"); usage != "800m" {
		t.Errorf("in use: %q", usage)
	}
	// A Kueue that somebody starts again does not lead.
	cluster.Kubectl(t, "", "-n", "kueue-system", "scale", "deployment/kueue-controller-manager", "--replicas=1")
	cluster.Kubectl(t, "", "-n", "kueue-system", "rollout", "status", "deployment/kueue-controller-manager", "--timeout=1m")
	time.Sleep(4 * time.Second) // twice the duration of its Lease
	must(t, kueue.isLeading(false))

	before = picture(t, cluster, running)
	began = time.Now()
	follow(t, cluster, "migration.md", "Back")
	harness.Figure(t, "moved back in %.0f s: %s", time.Since(began).Seconds(), states(t, cluster))
	harness.Eventually(t, 30*time.Second, "Kueue leads again", func() error { return kueue.isLeading(true) })
	if after := picture(t, cluster, running); after != before {
		t.Errorf("before the way back:\n%s\nafter it:\n%s", before, after)
	}
	if overlaps := kueue.overlaps.Load(); overlaps > 0 {
		t.Errorf("both led at %d moments", overlaps)
	}
	// Its webhooks and its conversion are asked again.
	cluster.CreateJob(t, "default", harness.Job("after", nil))
	readsOldVersion(t, cluster)
	for _, kind := range []string{"mutatingwebhookconfiguration", "validatingwebhookconfiguration"} {
		if names := cluster.Kubectl(t, "", "get", kind, "-o", "name"); strings.Contains(names, "/muster") || !strings.Contains(names, "/kueue-") {
			t.Errorf("%s", names)
		}
	}
}

// readsOldVersion is what clients of v1beta1 do, with every Workload of the move.
func readsOldVersion(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	old, err := inVersion(cluster, oldVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
	must(t, err)
	if len(old.Items) < workloadCount(t)+5 {
		t.Errorf("%d Workloads are read in the old version", len(old.Items))
	}
}

func storedVersions(t *testing.T, cluster *harness.Cluster, plural string) string {
	t.Helper()
	found, err := cluster.Dynamic.Resource(definitions).Get(harness.Context(t), plural+".kueue.x-k8s.io", metav1.GetOptions{})
	must(t, err)
	versions, _, _ := unstructured.NestedStringSlice(found.Object, "status", "storedVersions")
	return strings.Join(versions, " ")
}
