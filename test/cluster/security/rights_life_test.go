package security

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// A whole life of muster in each of its modes, with exactly the rights that `muster manifests`
// gives to that mode: nothing that it asks for can be refused, and nothing that it can do can go
// unused. So a verb too few fails here, and so does one too many.

type rightsMode struct {
	flags                           []string // of manifests and serve alike
	native, groups, deletes, shares bool
}

func TestNativeMusterNeedsEveryRightAndNoOther(t *testing.T) {
	rightsMode{flags: []string{"--jobset-controller=native"}, native: true, groups: true}.check(t)
}

func TestExternalMusterNeedsEveryRightAndNoOther(t *testing.T) {
	rightsMode{flags: []string{"--jobset-controller=external"}, groups: true}.check(t)
}

func TestNativeMusterWithoutGroupsNeedsEveryRightAndNoOther(t *testing.T) {
	rightsMode{flags: []string{"--jobset-controller=native", "--no-group-scheduling"}, native: true}.check(t)
}

func TestExternalMusterWithoutGroupsNeedsEveryRightAndNoOther(t *testing.T) {
	rightsMode{flags: []string{"--jobset-controller=external", "--no-group-scheduling"}, deletes: true, shares: true}.check(t)
}

func (m rightsMode) config() string {
	config := harness.NamesOfTheManifests + "integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n"
	if m.shares {
		config += "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n"
	}
	// The second document is muster's own.
	if m.deletes {
		config += "objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1s}}\n" +
			"---\napiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\nunqueuedKinds: Deny\n"
	}
	return config
}

func (m rightsMode) check(t *testing.T) {
	t.Helper()
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	if !m.native {
		cluster.InstallForeignJobSet(t)
	}
	// The right to list Events is used when pods are late: TestPodsThatAreNotReadyInTime.
	m.flags = append(m.flags, "--no-pod-reasons")
	config := harness.WriteFile(t, "config.yaml", m.config())
	rights := harness.ApplyRights(t, cluster, config, m.flags...)
	// Sessions are deleted ten minutes after their creation: test/kube/reader_sessions_test.cpp.
	rights = slices.DeleteFunc(rights, func(right harness.Right) bool {
		return right.Resource == "readersessions" && right.Verb == "delete"
	})
	requests := cluster.Requests(t, harness.AccountToken(t, cluster, "muster-system", "muster"))
	asOwnPod(t, cluster)
	// It warns until muster makes it do what the configuration says.
	policy := harness.Manifests(t, "--only=policies")
	cluster.Kubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, policy, "delete", "-f", "-") })
	cluster.ForgetCertificates(t)
	// The life of the certificates is short enough to be renewed once; the waiter's image is that of the own Pod.
	muster := harness.StartMuster(t, append([]string{"--config", config, "--kubeconfig", requests.Kubeconfig,
		"--certificate-lifetime", "30s"}, m.flags...)...)
	m.live(t, cluster, muster)
	harness.Eventually(t, time.Minute, "every right is used, and nothing else is asked for", func() error {
		unused, others := requests.Unused(rights)
		// muster proves to itself that the policy of sessions refuses.
		refused := slices.DeleteFunc(requests.Refused(), func(answer string) bool {
			return strings.Contains(answer, harness.SessionPolicy)
		})
		if len(unused)+len(others)+len(refused) > 0 {
			return fmt.Errorf("unused: %q; asked for without a right: %q; refused: %q", unused, others, refused)
		}
		return nil
	})
}

// asOwnPod makes a pod that no kubelet runs, which muster takes for its own.
func asOwnPod(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	pods := cluster.Client.CoreV1().Pods("muster-system")
	harness.Eventually(t, time.Minute, "a pod, whose service account may be on its way", func() error {
		_, err := pods.Create(harness.Context(t), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: corev1.PodSpec{
			SchedulerName: "nobody", Containers: []corev1.Container{{Name: "muster", Image: harness.MusterImage}}}}, metav1.CreateOptions{})
		return err
	})
	t.Cleanup(func() {
		cluster.Kubectl(t, "", "delete", "pod", "own", "-n", "muster-system", "--grace-period=0", "--force")
	})
	t.Setenv("POD_NAME", "own")
	t.Setenv("POD_NAMESPACE", "muster-system")
}

func (m rightsMode) live(t *testing.T, cluster *harness.Cluster, muster *harness.Muster) {
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Check("c")
	teams.Queue("checked", teams.Cpus("f=1"), teams.Checks("c"))
	teams.Queue("q", teams.Cpus("f=4"))
	queueThatGoes(t, cluster, teams.Name("gone"))
	m.jobs(t, cluster, teams)
	m.jobSets(t, cluster, teams)
	heldWhileDeleted(t, cluster, teams)
	if m.groups {
		m.gangs(t, cluster, teams.Namespace)
	}
	if m.deletes {
		m.deactivated(t, cluster, teams)
	}
	if m.shares {
		showShares(t, cluster, teams)
	}
	// Who asks for the metrics is asked about.
	teams.Kubectl("create", "serviceaccount", "stranger")
	if code, _ := harness.MetricsAnswer(t, muster, harness.AccountToken(t, cluster, teams.Namespace, "stranger")); code != http.StatusForbidden {
		t.Errorf("the metrics were given to a stranger: %d", code)
	}
	askByASession(t, cluster, muster, teams.Namespace)
}

// askByASession has muster read a session and look for old ones.
func askByASession(t *testing.T, cluster *harness.Cluster, muster *harness.Muster, namespace string) {
	t.Helper()
	cluster.Kubectl(t, "", "create", "rolebinding", "asker", "-n", namespace, "--clusterrole", "muster-reader", "--user", "asker")
	session := harness.SessionOf(t, "asked", map[string]any{"username": "asker", "groups": []string{"system:authenticated"}},
		harness.SessionSecret)
	harness.Eventually(t, 30*time.Second, "a session", func() error {
		_, err := cluster.TryKubectl(session, append([]string{"create", "-n", namespace, "-f", "-"}, harness.AsUser("asker")...)...)
		return err
	})
	harness.Eventually(t, 30*time.Second, "the user of the session, who may not read jobs", func() error {
		status, body := harness.AskMetricsPort(t, muster, "/explain/v1/namespaces/"+namespace+"/jobs/none",
			"muster-session/"+namespace+"/asked/"+harness.SessionSecret)
		if status != http.StatusForbidden {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
}

// showShares: with fair sharing, a queue that borrows and its Cohort show their weighted shares.
func showShares(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	t.Helper()
	teams.Cohort("all", "top")
	teams.Queue("lends", teams.InCohort("all"), teams.Cpus("f=3"))
	teams.Queue("borrows", teams.InCohort("all"), teams.Cpus("f=1"))
	teams.Job("borrows", "shares", 2, "1")
	teams.Admitted("shares")
	// One of the four that the Cohort can lend.
	for name, share := range map[string]int{"borrows": 250, "all": 0} {
		resource := harness.ClusterQueues
		if name == "all" {
			resource = harness.Cohorts
		}
		harness.Eventually(t, 20*time.Second, name+" shows its share", func() error {
			live, err := cluster.Dynamic.Resource(resource).Get(harness.Context(t), teams.Name(name), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return harness.FieldIs(share, "status", "fairSharing", "weightedShare")(live)
		})
	}
}

// queueThatGoes is made with its flavor and deleted: muster lets both go.
func queueThatGoes(t *testing.T, cluster *harness.Cluster, name string) {
	t.Helper()
	cluster.CreateFlavor(t, name, map[string]any{harness.NodeLabel: "hollow"})
	cluster.Create(t, harness.ClusterQueues, "", harness.ClusterQueueOf(name, name))
	cluster.Delete(t, harness.ClusterQueues, "", name, metav1.DeletePropagationBackground)
	cluster.AwaitGone(t, harness.ClusterQueues, "", name)
	cluster.Delete(t, harness.ResourceFlavors, "", name, metav1.DeletePropagationBackground)
	cluster.AwaitGone(t, harness.ResourceFlavors, "", name)
}

// jobs are stopped and started, changed, finished and deleted.
func (m rightsMode) jobs(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.Job("q", "runs", 1, "1")
	for range 3 { // events that repeat are counted in the first one
		teams.RunsWith("runs", 1)
		teams.Change("q", map[string]any{"stopPolicy": "HoldAndDrain"})
		harness.AwaitStopped(t, cluster, teams.Namespace, "runs")
		teams.Change("q", map[string]any{"stopPolicy": "None"})
	}
	teams.RunsWith("runs", 1)
	losesItsStartTime(t, cluster, teams, "runs")
	teams.Job("q", "waits", 1, "9")
	teams.Await("waits", "waits", harness.HasCondition("QuotaReserved", "False", ""))
	teams.Kubectl("delete", "job", "waits")
	// The Workload of a Job that runs and has become another one is replaced.
	teams.Job("q", "grows", 1, "1", func(job *batchv1.Job) { job.Spec.Completions = new(int32); *job.Spec.Completions = 2 })
	teams.RunsWith("grows", 1)
	teams.Kubectl("patch", "job", "grows", "--type=merge", "-p", `{"spec":{"suspend":true,"parallelism":2}}`)
	teams.RunsWith("grows", 2)
}

// losesItsStartTime: muster removes the start time of a Job that it stops. So does the controller of Kubernetes, at times
// before muster, so it must be away.
func losesItsStartTime(t *testing.T, cluster *harness.Cluster, teams *harness.Teams, name string) {
	t.Helper()
	resume := cluster.SuspendControllers(t)
	teams.Change("q", map[string]any{"stopPolicy": "HoldAndDrain"})
	harness.Eventually(t, time.Minute, "the Job is suspended, without a start time", func() error {
		job := harness.GetJob(t, cluster, teams.Namespace, name)
		if !harness.Suspended(job) || job.Status.StartTime != nil {
			return fmt.Errorf("suspend %t, start time %v", harness.Suspended(job), job.Status.StartTime)
		}
		return nil
	})
	resume()
	harness.AwaitStopped(t, cluster, teams.Namespace, name)
	teams.Change("q", map[string]any{"stopPolicy": "None"})
}

// jobSets are admitted, restarted, and deleted when their time is over.
func (m rightsMode) jobSets(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	queued := harness.JobSetOf("queued", harness.ReplicatedJob{Name: "w", Template: harness.HollowPod(-1, 0)})
	queued.SetLabels(harness.Queue("q"))
	cluster.CreateJobSet(t, teams.Namespace, queued)
	harness.Eventually(t, time.Minute, "the JobSet is resumed", func() error {
		live, err := cluster.Dynamic.Resource(harness.JobSets).Namespace(teams.Namespace).Get(harness.Context(t), "queued", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if suspended, _, _ := unstructured.NestedBool(live.Object, "spec", "suspend"); suspended {
			return fmt.Errorf("it is suspended")
		}
		return nil
	})
	if !m.native {
		return
	}
	failing := harness.JobSetOf("failing", harness.ReplicatedJob{Name: "w", Template: harness.HollowPod(0, 3)})
	harness.Set(failing, map[string]any{"maxRestarts": int64(1)}, "spec", "failurePolicy")
	harness.Set(failing, int64(1), "spec", "ttlSecondsAfterFinished")
	cluster.CreateJobSet(t, teams.Namespace, failing)
	cluster.AwaitGone(t, harness.JobSets, teams.Namespace, "failing")
	claims := harness.JobSetOf("claims", harness.ReplicatedJob{Name: "w", Template: harness.Mounting(harness.HollowPod(-1, 0), "data")})
	harness.Set(claims, true, "spec", "suspend")
	harness.Set(claims, []any{harness.ClaimPolicy("data", "Delete", nil)}, "spec", "volumeClaimPolicies")
	cluster.CreateJobSet(t, teams.Namespace, claims)
	harness.AwaitClaim(t, cluster, teams.Namespace, "data-claims")
}

// heldWhileDeleted: a Job and a JobSet that are being deleted and run on are stopped, which is a second deletion. Then
// muster looks for pods that are left.
func heldWhileDeleted(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.Queue("held", teams.Cpus("f=4"))
	teams.Job("held", "held", 1, "1", func(job *batchv1.Job) { job.Finalizers = []string{harness.HeldFinalizer} })
	teams.RunsWith("held", 1)
	set := harness.JobSetOf("held", harness.ReplicatedJob{Name: "w", Template: harness.HollowPod(-1, 0)})
	set.SetLabels(harness.Queue("held"))
	set.SetFinalizers([]string{harness.HeldFinalizer})
	cluster.CreateJobSet(t, teams.Namespace, set)
	cluster.WaitForJobSet(t, teams.Namespace, "held", time.Minute, "is resumed", harness.FieldIs(false, "spec", "suspend"))
	// A deleted JobSet without Jobs needs no quota, and is not stopped.
	teams.RunsWith("held-w-0", 1)
	kinds := []string{"job", "jobset"}
	for _, kind := range kinds {
		teams.Kubectl("delete", kind, "held", "--wait=false")
	}
	// Only a deletion in the foreground deletes what the JobSet owns while a finalizer holds it.
	cluster.Kubectl(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "namespace": %q, "finalizers": [%q],
		"ownerReferences": [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "held", "uid": %q, "blockOwnerDeletion": true}]}}`,
		teams.Namespace, harness.HeldFinalizer, teams.Kubectl("get", "jobset", "held", "-o", "jsonpath={.metadata.uid}")), "create", "-f", "-")
	teams.Change("held", map[string]any{"stopPolicy": "HoldAndDrain"})
	harness.Eventually(t, time.Minute, "the pods of the Job are deleted, and what the JobSet owns is being deleted", func() error {
		deleted := teams.Kubectl("get", "configmap", "held", "-o", "jsonpath={.metadata.deletionTimestamp}")
		if pods := harness.ActivePods(t, cluster, teams.Namespace, "held"); pods > 0 || deleted == "" {
			return fmt.Errorf("%d pods, and the ConfigMap of the JobSet was deleted at %q", pods, deleted)
		}
		return nil
	})
	for _, kind := range append(kinds, "configmap") {
		teams.Kubectl("patch", kind, "held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}
}

// gangs of a Job and of a JobSet start together. A ConfigMap of a namesake, which the garbage
// collector cannot judge, blocks one of them.
func (m rightsMode) gangs(t *testing.T, cluster *harness.Cluster, namespace string) {
	cluster.Kubectl(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gang.job-group-scheduling",
		"namespace": %q, "labels": {"muster.batch/group-scheduling": "true"}, "ownerReferences": [{"apiVersion":
		"jobset.x-k8s.io/v1alpha9", "kind": "JobSet", "name": "gone", "uid": "gone", "controller": true}]}}`, namespace), "create", "-f", "-")
	job := harness.HollowJob("gang", 2)
	job.Annotations = map[string]string{harness.TimeoutAnnotation: "300"}
	cluster.CreateJob(t, namespace, job)
	cluster.WaitForPods(t, namespace, "gang", 2, time.Minute, "past the barrier", harness.MainStarted)
	gangs := harness.JobSetOf("gangs", harness.ReplicatedJob{Name: "w", Pods: 2, Template: harness.HollowPod(-1, 0)})
	gangs.SetAnnotations(map[string]string{harness.TimeoutAnnotation: "300"})
	cluster.CreateJobSet(t, namespace, gangs)
	cluster.WaitForJobSet(t, namespace, "gangs", time.Minute, "has started", harness.HasCondition("GroupStarted", "True", ""))
}

// deactivated jobs are deleted after a while.
func (m rightsMode) deactivated(t *testing.T, cluster *harness.Cluster, teams *harness.Teams) {
	teams.Job("q", "long", 1, "1", func(job *batchv1.Job) { job.Labels[harness.MaxExecTimeLabel] = "1" })
	cluster.AwaitGone(t, harness.Jobs, teams.Namespace, "long")
	long := harness.JobSetOf("longs", harness.ReplicatedJob{Name: "w", Template: harness.HollowPod(-1, 0)})
	long.SetLabels(map[string]string{harness.QueueLabel: "q", harness.MaxExecTimeLabel: "1"})
	cluster.CreateJobSet(t, teams.Namespace, long)
	cluster.AwaitGone(t, harness.JobSets, teams.Namespace, "longs")
}

// JobSet's controller starts the Jobs of JobSets that are admitted, wherever it is installed, and no Job that is queued by
// itself.
func TestJobSetsControllerStartsNoJobThatIsQueuedByItself(t *testing.T) {
	for name, installed := range map[string]bool{"nobody has installed it": false, "it is installed elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			cluster := harness.Connect(t)
			namespace := cluster.Namespace(t, nil)
			cluster.Kubectl(t, "", "create", "rolebinding", "controllers", "-n", namespace, "--clusterrole", "cluster-admin",
				"--group", "system:serviceaccounts")
			if installed {
				announceJobSet(t, cluster, "elsewhere")
			}
			harness.StartMuster(t, "--jobset-controller", "external")
			cluster.CreateJob(t, namespace, harness.Job("queued", harness.Queue("some")))
			for _, home := range []string{"jobset-system", "elsewhere"} {
				_, err := cluster.TryKubectl("", "patch", "job", "queued", "-n", namespace, "--type=merge", "-p", `{"spec":{"suspend":false}}`,
					"--dry-run=server", "--as", "system:serviceaccount:"+home+":jobset-controller-manager", "--as-group", "system:serviceaccounts")
				if err == nil || !strings.Contains(err.Error(), "spec.suspend: Forbidden") {
					t.Errorf("the account of %s: %v", home, err)
				}
			}
		})
	}
}

// announceJobSet installs what JobSet's own manifests say of where its controller runs.
func announceJobSet(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	cluster.Kubectl(t, fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": {"name": "jobset-validating-webhook-configuration"}, "webhooks": [{"name": "nothing.jobset.x-k8s.io",
		"admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"service": {"namespace": %q, "name": "w"}},
		"rules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["v0"], "operations": ["CREATE"], "resources": ["nothing"]}]}]}`, namespace), "apply", "-f", "-")
	t.Cleanup(func() {
		cluster.Kubectl(t, "", "delete", "validatingwebhookconfiguration", "jobset-validating-webhook-configuration")
	})
}
