package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.batch/test/cluster/harness"
)

// Workloads in the hands of people, and their owners deleted under them.
var badHands = []behaviour{
	{"pod sets that were edited are put right", editedPodSets},
	{"labels and finalizers that were taken away do no harm", editedMetadata},
	{"a running Job whose admission was wiped out is stopped and may come again", wipedStatus},
	{"a reservation cannot be edited", editedAdmission},
	{"a deleted Workload of a waiting Job is made anew", deletedWhileWaiting},
	{"a deleted Workload of a running Job is made anew once that is stopped", deletedWhileRunning(metav1.DeletePropagationBackground)},
	{"and so it is with --cascade=orphan", deletedWhileRunning(metav1.DeletePropagationOrphan)},
	{"owners deleted in each way leave nothing that is stuck", deletedOwners},
}

func editedPodSets(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, queuedJob("train", 2))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	podSets, _, _ := unstructured.NestedSlice(workload.Object, "spec", "podSets")
	podSets[0].(map[string]any)["count"] = int64(5)
	cluster.Patch(t, harness.Workloads, queues.Namespace, workload.GetName(), harness.ToJSON(t, map[string]any{"spec": map[string]any{"podSets": podSets}}))
	cluster.WaitForWorkload(t, queues.Namespace, "train", "asks for two pods again", harness.FieldIs(workload.GetUID(), "metadata", "uid"),
		func(workload *unstructured.Unstructured) error {
			if text := harness.ToJSON(t, workload.Object["spec"]); !strings.Contains(text, `"count":2`) {
				return fmt.Errorf("its spec is %s", text)
			}
			return nil
		})
}

func editedMetadata(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, queuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Patch(t, harness.Workloads, queues.Namespace, workload.GetName(), `{"metadata":{"labels":null,"finalizers":null}}`)
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	cluster.EndHollowPods(t, queues.Namespace, 0)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "has finished and is let go",
		harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo)
}

func wipedStatus(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, queuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
	cluster.Patch(t, harness.Workloads, queues.Namespace, workload.GetName(), `{"status":null}`, "status")
	awaitStopped(t, cluster, queues.Namespace, "train")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
}

func editedAdmission(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, queuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
	for name, patch := range map[string]string{
		"another ClusterQueue":       `{"status":{"admission":{"clusterQueue":"another"}}}`,
		"quota without an admission": `{"status":{"admission":null}}`,
	} {
		output, err := cluster.TryKubectl("", "patch", "workload", workload.GetName(), "-n", queues.Namespace,
			"--subresource=status", "--type=merge", "-p", patch)
		if err == nil || !strings.Contains(err.Error(), "status.admission") {
			t.Errorf("%s is accepted: %s%v", name, output, err)
		}
	}
}

func deletedWhileWaiting(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.CreateJob(t, queues.Namespace, queuedJob("train", 1))
	workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
	cluster.Delete(t, harness.Workloads, queues.Namespace, workload.GetName(), metav1.DeletePropagationForeground)
	cluster.WaitForWorkload(t, queues.Namespace, "train", "is another one", isAnother(workload))
}

func isAnother(old *unstructured.Unstructured) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		if workload.GetUID() == old.GetUID() {
			return fmt.Errorf("it is the same: deleted %v, finalizers %v", workload.GetDeletionTimestamp(), workload.GetFinalizers())
		}
		return nil
	}
}

func deletedWhileRunning(how metav1.DeletionPropagation) func(*testing.T, *harness.Cluster, harness.Queues) {
	return func(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
		timeline := cluster.Timeline(t, queues.Namespace)
		before := harness.ToJSON(t, cluster.CreateJob(t, queues.Namespace, queuedJob("train", 1)).Spec.Template)
		workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
		cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
		awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
		cluster.Delete(t, harness.Workloads, queues.Namespace, workload.GetName(), how)
		stopped := awaitStopped(t, cluster, queues.Namespace, "train")
		if after := harness.ToJSON(t, stopped.Spec.Template); after != before {
			t.Errorf("its template was\n%s\nand is now\n%s", before, after)
		}
		again := cluster.WaitForWorkload(t, queues.Namespace, "train", "is another one", isAnother(workload))
		cluster.Admit(t, again, queues.ClusterQueue, queues.Hollow)
		awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
		timeline.Check(t)
	}
}

// owner is a Job or JobSet that will be deleted under its Workload.
type owner struct {
	resource schema.GroupVersionResource
	name     string
	how      metav1.DeletionPropagation
	runs     bool
	workload string
}

func deletedOwners(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	var owners []owner
	for _, resource := range []schema.GroupVersionResource{harness.Jobs, harness.JobSets} {
		for _, how := range []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		} {
			for _, runs := range []bool{false, true} {
				name := strings.ToLower(fmt.Sprintf("%s-%s-%t", resource.Resource, how, runs))
				owners = append(owners, owner{resource: resource, name: name, how: how, runs: runs})
			}
		}
	}
	for i := range owners {
		each := &owners[i]
		if each.resource == harness.Jobs {
			cluster.CreateJob(t, queues.Namespace, queuedJob(each.name, 1))
		} else {
			cluster.CreateJobSet(t, queues.Namespace, queuedJobSet(each.name, harness.ReplicatedJob{Name: "a", Template: harness.FlavoredPod()}))
		}
		workload := cluster.WaitForWorkload(t, queues.Namespace, each.name, "is there")
		each.workload = workload.GetName()
		if each.runs {
			cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
		}
	}
	for _, each := range owners {
		switch {
		case each.runs && each.resource == harness.Jobs:
			awaitActive(t, cluster, queues.Namespace, each.name, 1, "hollow")
		case each.runs:
			cluster.WaitForJobSetPods(t, queues.Namespace, each.name, 1, time.Minute, "running", isRunning)
		}
	}
	awaitCollector(t, cluster, queues.Namespace)
	for _, each := range owners {
		cluster.Delete(t, each.resource, queues.Namespace, each.name, each.how)
	}
	for _, each := range owners {
		cluster.AwaitGone(t, each.resource, queues.Namespace, each.name)
		if each.how != metav1.DeletePropagationOrphan {
			cluster.AwaitGone(t, harness.Workloads, queues.Namespace, each.workload)
			continue
		}
		if each.runs {
			endOrphans(t, cluster, queues.Namespace, each)
		}
		awaitOwnerless(t, cluster, queues.Namespace, each)
		cluster.Kubectl(t, "", "delete", "workload", each.workload, "-n", queues.Namespace, "--ignore-not-found")
	}
}

// awaitOwnerless waits until the Workload of an orphaned job says that its owner is gone. One without quota can be gone
// instead: muster lets it go if it sees the job in its deletion.
func awaitOwnerless(t *testing.T, cluster *harness.Cluster, namespace string, left owner) {
	t.Helper()
	harness.Eventually(t, time.Minute, "Workload "+left.workload+" says that its owner is gone and is let go", func() error {
		workload, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace).Get(harness.Context(t), left.workload, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && !left.runs {
			return nil
		}
		if err != nil {
			return err
		}
		if err := harness.HasCondition("Finished", "True", "OwnerNotFound")(workload); err != nil {
			return err
		}
		return harness.LetGo(workload)
	})
}

// endOrphans ends what a job has left behind, which keeps its quota until then.
func endOrphans(t *testing.T, cluster *harness.Cluster, namespace string, left owner) {
	t.Helper()
	cluster.AwaitWorkload(t, namespace, left.workload, "keeps its quota", harness.HasCondition("QuotaReserved", "True", ""))
	if left.resource == harness.Jobs {
		cluster.Kubectl(t, "", "delete", "pods", "-n", namespace, "-l", batchv1.JobNameLabel+"="+left.name, "--wait=false")
	} else {
		cluster.Kubectl(t, "", "delete", "jobs", "-n", namespace, "-l", "jobset.sigs.k8s.io/jobset-name="+left.name, "--wait=false")
	}
}

// awaitCollector waits until garbage collection knows all Workloads that are there. It watches them again
// after their definition was applied, and until then it takes the Workloads of an orphaning delete for
// garbage.
func awaitCollector(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	cluster.Create(t, harness.Workloads, namespace, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": harness.Workloads.GroupVersion().String(), "kind": "Workload",
		"metadata": map[string]any{"name": "garbage", "ownerReferences": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "never-there", "uid": "never-there"},
		}},
		"spec": map[string]any{"podSets": []any{map[string]any{"name": "main", "count": int64(1), "template": map[string]any{
			"spec": map[string]any{"containers": []any{}},
		}}}},
	}})
	harness.Eventually(t, time.Minute, "garbage is collected", func() error {
		_, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace).Get(harness.Context(t), "garbage", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there (%v)", err)
	})
}

// mortal is a muster that is killed after each of its writes on jobs and Workloads, when
// the API server has done it and before muster knows; and started again.
type mortal struct {
	wire   *harness.Wire
	muster *harness.Muster
	deaths int
}

// startMortal starts it beside a replica that never leads and serves the webhooks.
func startMortal(t *testing.T, cluster *harness.Cluster) *mortal {
	t.Helper()
	cluster.EnsureMusterNamespace(t)
	const both = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n" +
		"integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n"
	webhooks := startQueueMuster(t, "--config",
		writeFile(t, "config.yaml", both+"leaderElection: {leaderElect: true, resourceName: "+neverFree(t, cluster)+"}\n"))
	m := &mortal{wire: cluster.Wire(t)}
	alone := writeFile(t, "config.yaml", both+"leaderElection: {leaderElect: false}\n")
	m.muster = harness.LaunchMuster(t, "--jobset-controller", "native", "--config", alone, "--kubeconfig", m.wire.Kubeconfig,
		"--webhook-url", webhooks.URL, "--no-keep-webhook-configurations")
	return m
}

func (m *mortal) revive(t *testing.T) {
	t.Helper()
	if m.muster.Slain() {
		m.deaths++
		m.muster.Restart(t)
	}
}

// until polls a condition, and revives muster as often as it dies.
func (m *mortal) until(t *testing.T, what string, condition func() error) {
	t.Helper()
	harness.Eventually(t, time.Minute, what, func() error {
		if m.muster.Slain() {
			m.wire.Arm(m.muster.Slay)
			m.revive(t)
		}
		return condition()
	})
}

func TestNothingIsLostWhenMusterIsKilledAfterEachWrite(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := startMortal(t, cluster)
	for _, kind := range []struct {
		name   string
		deaths int // in its life, at least
		create func(*testing.T, string)
		spec   func(string) (any, error)
	}{
		{"Job", 7, func(t *testing.T, namespace string) {
			cluster.CreateJob(t, namespace, queuedJob("train", 2))
		}, func(namespace string) (any, error) {
			job, err := cluster.Client.BatchV1().Jobs(namespace).Get(context.Background(), "train", metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return job.Spec, nil
		}},
		{"JobSet", 7, func(t *testing.T, namespace string) {
			cluster.CreateJobSet(t, namespace, queuedJobSet("train", harness.ReplicatedJob{Name: "a", Pods: 2, Template: harness.FlavoredPod()}))
		}, func(namespace string) (any, error) {
			jobSet, err := cluster.Dynamic.Resource(harness.JobSets).Namespace(namespace).Get(context.Background(), "train", metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return jobSet.Object["spec"], nil
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			queues := cluster.Queues(t)
			t.Cleanup(func() { muster.wire.Arm(nil); muster.revive(t) })
			timeline := cluster.Timeline(t, queues.Namespace)
			muster.wire.Arm(muster.muster.Slay)
			deaths := muster.deaths
			life := mortalLife{t, cluster, queues, muster}
			kind.create(t, queues.Namespace)
			spec, err := kind.spec(queues.Namespace)
			must(t, err)
			before := harness.ToJSON(t, spec)
			workload := life.await("is there")
			cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
			life.awaitPods(2)
			cluster.Evict(t, workload, "Preempted")
			life.await("has given its quota back", harness.Released, harness.HasCondition("Requeued", "True", "Preempted"))
			muster.until(t, "the template is as it was", func() error {
				spec, err := kind.spec(queues.Namespace)
				if err != nil {
					return err
				}
				if after := harness.ToJSON(t, spec); after != before {
					return fmt.Errorf("it was\n%s\nand is\n%s", before, after)
				}
				return nil
			})
			cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
			life.awaitPods(2)
			cluster.EndHollowPods(t, queues.Namespace, 0)
			life.await("has finished and is let go", harness.HasCondition("Finished", "True", "Succeeded"), harness.LetGo)
			timeline.Check(t)
			if died := muster.deaths - deaths; died < kind.deaths {
				t.Errorf("muster died only %d times; it wrote\n%s", died, strings.Join(muster.wire.Journal(), "\n"))
			}
		})
	}
}

// mortalLife waits for what becomes of the job "train" while its muster dies.
type mortalLife struct {
	t       *testing.T
	cluster *harness.Cluster
	queues  harness.Queues
	muster  *mortal
}

func (l mortalLife) await(what string, conditions ...func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	l.t.Helper()
	var found *unstructured.Unstructured
	l.muster.until(l.t, "the Workload "+what, func() error {
		var err error
		found, err = l.cluster.WorkloadOf(l.queues.Namespace, "train", conditions...)
		return err
	})
	return found
}

func (l mortalLife) awaitPods(count int) {
	l.t.Helper()
	l.muster.until(l.t, fmt.Sprint(count, " pods run"), func() error {
		pods, err := l.cluster.Client.CoreV1().Pods(l.queues.Namespace).List(harness.Context(l.t), metav1.ListOptions{})
		if err != nil {
			return err
		}
		running := 0
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running != count {
			return fmt.Errorf("%d run", running)
		}
		return nil
	})
}
