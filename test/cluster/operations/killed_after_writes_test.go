package operations

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

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
	webhooks := harness.StartQueueMuster(t, "--config",
		harness.WriteFile(t, "config.yaml", both+"leaderElection: {leaderElect: true, resourceName: "+harness.NeverFreeLease(t, cluster)+"}\n"))
	m := &mortal{wire: cluster.Wire(t)}
	alone := harness.WriteFile(t, "config.yaml", both+"leaderElection: {leaderElect: false}\n")
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
			cluster.CreateJob(t, namespace, harness.QueuedJob("train", 2))
		}, func(namespace string) (any, error) {
			job, err := cluster.Client.BatchV1().Jobs(namespace).Get(context.Background(), "train", metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return job.Spec, nil
		}},
		{"JobSet", 7, func(t *testing.T, namespace string) {
			cluster.CreateJobSet(t, namespace, harness.QueuedJobSet("train",
				harness.ReplicatedJob{Name: "a", Pods: 2, Template: harness.FlavoredPod()}))
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
			harness.Must(t, err)
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
