package pods

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// podScene is a queue of this many cpus on hollow nodes, before a muster that queues pods.
type podScene struct {
	*testing.T
	cluster *harness.Cluster
	teams   *harness.Teams
}

// queuesPods is a configuration file that says so.
func queuesPods(t *testing.T) string {
	t.Helper()
	return harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+"integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, pod]}\n")
}

// startPodScene runs muster with the rights that its manifests give for pods, and no others.
func startPodScene(t *testing.T, cpus string) podScene {
	t.Helper()
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	config := queuesPods(t)
	harness.ApplyRights(t, cluster, config)
	harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f="+cpus))
	scene := podScene{t, cluster, teams}
	t.Cleanup(func() {
		harness.Must(t, cluster.Client.CoreV1().Pods(teams.Namespace).DeleteCollection(context.Background(),
			metav1.DeleteOptions{}, metav1.ListOptions{}))
	})
	return scene
}

// pod of one cpu that runs for so long.
func (s podScene) pod(name, seconds string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: harness.Queue("q"), Annotations: map[string]string{harness.HollowRunSeconds: seconds},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "example.test/main:1", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
}

func (s podScene) create(pod *corev1.Pod) {
	s.Helper()
	created, err := s.cluster.Client.CoreV1().Pods(s.teams.Namespace).Create(harness.Context(s), pod, harness.ForReal)
	harness.Must(s, err)
	if !harness.IsGated(created) || len(created.Finalizers) != 0 {
		s.Errorf("%s was made with the gates %v and the finalizers %v", pod.Name, created.Spec.SchedulingGates, created.Finalizers)
	}
}

func (s podScene) await(name, what string, condition func(*corev1.Pod) bool) *corev1.Pod {
	s.Helper()
	return s.cluster.WaitForPod(s, s.teams.Namespace, name, time.Minute, what, condition)
}

func startedPod(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) == 0 }

// finishedWorkloads awaits that this many Workloads have ended well, and that no other is there.
func (s podScene) finishedWorkloads(count int) {
	s.Helper()
	harness.Eventually(s, time.Minute, fmt.Sprint(count, " Workloads have finished"), func() error {
		list, err := s.cluster.Dynamic.Resource(harness.Workloads).Namespace(s.teams.Namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != count {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		for i := range list.Items {
			if err := harness.HasCondition("Finished", "True", "Succeeded")(&list.Items[i]); err != nil {
				return fmt.Errorf("%s: %w", list.Items[i].GetName(), err)
			}
		}
		return nil
	})
}

func TestPodsWaitBehindTheirGatesForQuota(t *testing.T) {
	scene := startPodScene(t, "2")
	quota := scene.cluster.WatchQuota(t)
	for _, name := range []string{"a", "b", "c"} {
		scene.create(scene.pod(name, "3"))
	}
	first := scene.await("a", "has started", startedPod)
	if len(first.Spec.NodeSelector) == 0 {
		t.Errorf("it has nothing of its flavor: %v", first.Spec)
	}
	for _, name := range []string{"a", "b", "c"} {
		scene.await(name, "has succeeded", harness.Phase(corev1.PodSucceeded))
	}
	scene.finishedWorkloads(3)
	quota.Check(t)
}

func TestAGroupOfPodsThatDoesNotFitAtOnceStartsTogether(t *testing.T) {
	scene := startPodScene(t, "3")
	quota := scene.cluster.WatchQuota(t)
	scene.create(scene.pod("alone", "600"))
	scene.await("alone", "has started", startedPod)
	members := []string{"one", "two", "three"}
	for _, name := range members {
		scene.create(harness.InPodGroup(scene.pod(name, "2"), "group", 3))
	}
	scene.cluster.AwaitWorkload(t, scene.teams.Namespace, "group", "waits for quota", harness.HasCondition("QuotaReserved", "False", ""))
	for _, name := range members {
		scene.await(name, "waits", harness.IsGated)
	}
	harness.Must(t, scene.cluster.Client.CoreV1().Pods(scene.teams.Namespace).Delete(harness.Context(t), "alone", metav1.DeleteOptions{}))
	for _, name := range members {
		scene.await(name, "has succeeded", harness.Phase(corev1.PodSucceeded))
	}
	scene.cluster.AwaitWorkload(t, scene.teams.Namespace, "group", "has finished", harness.HasCondition("Finished", "True", "Succeeded"))
	quota.Check(t)
}

func TestPodsOfAQueueThatIsDrainedAreDeleted(t *testing.T) {
	scene := startPodScene(t, "1")
	scene.create(scene.pod("runs", "600"))
	scene.await("runs", "has started", startedPod)
	scene.create(scene.pod("waits", "600"))
	scene.teams.Change("q", map[string]any{"stopPolicy": "HoldAndDrain"})
	harness.Eventually(t, time.Minute, "the pod that ran is gone", func() error {
		_, err := scene.cluster.Client.CoreV1().Pods(scene.teams.Namespace).Get(context.Background(), "runs", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
	waits := scene.await("waits", "waits", harness.IsGated)
	waits.Spec.SchedulingGates = nil
	if _, err := scene.cluster.Client.CoreV1().Pods(scene.teams.Namespace).Update(harness.Context(t), waits, metav1.UpdateOptions{}); err == nil {
		t.Error("its owner took the gate away")
	}
	scene.teams.Change("q", map[string]any{"stopPolicy": "None"})
	scene.await("waits", "has started", startedPod)
}

// Without muster only pods that name a queue are stopped.
func TestPodsWithoutAQueueDoNotNeedMuster(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartQueueMuster(t, "--config", queuesPods(t))
	scene := podScene{T: t, cluster: cluster}
	pods := cluster.Client.CoreV1().Pods(cluster.Namespace(t, nil))
	muster.Stop(t)
	if _, err := pods.Create(harness.Context(t), scene.pod("queued", "1"), harness.ForReal); err == nil {
		t.Error("a pod in a queue was made while nobody could gate it")
	}
	outcome := harness.Load(harness.Context(t), 8, 1000, func(number int) error {
		pod := scene.pod(fmt.Sprint("free-", number), "1")
		pod.Labels = nil
		_, err := pods.Create(harness.Context(t), pod, harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Errorf("pods without a queue: %s", outcome)
	}
}

// Argo's Workflows and Volcano's Jobs are queued by the pods that they make, whose templates name the queue.
func TestPodsOfOwnersThatMusterDoesNotKnowAreQueued(t *testing.T) {
	scene := startPodScene(t, "2")
	yes := true
	owned := func(pod *corev1.Pod, apiVersion, kind string) *corev1.Pod {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "u-" + types.UID(kind), Controller: &yes}}
		return pod
	}
	scene.create(owned(scene.pod("step", "600"), "argoproj.io/v1alpha1", "Workflow"))
	scene.await("step", "has started", startedPod)
	for _, name := range []string{"task-0", "task-1"} {
		scene.create(owned(harness.InPodGroup(scene.pod(name, "2"), "volcano", 2), "batch.volcano.sh/v1alpha1", "Job"))
	}
	scene.cluster.AwaitWorkload(t, scene.teams.Namespace, "volcano", "waits for quota", harness.HasCondition("QuotaReserved", "False", ""))
	scene.await("task-0", "waits", harness.IsGated)
	harness.Must(t, scene.cluster.Client.CoreV1().Pods(scene.teams.Namespace).Delete(harness.Context(t), "step", metav1.DeleteOptions{}))
	for _, name := range []string{"task-0", "task-1"} {
		scene.await(name, "has succeeded", harness.Phase(corev1.PodSucceeded))
	}
}
