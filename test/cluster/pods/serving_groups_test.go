package pods

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.batch/test/cluster/harness"
)

// LeaderWorkerSets in queues: the groups of one start whole.

// playGroup makes the pods of one group as the controller of LeaderWorkerSets does.
func (s servingScene) playGroup(set *unstructured.Unstructured, group, size int) {
	s.Helper()
	for index := range size {
		kind, name := "workerTemplate", fmt.Sprintf("%s-%d-%d", set.GetName(), group, index)
		if index == 0 {
			kind, name = "leaderTemplate", fmt.Sprintf("%s-%d", set.GetName(), group)
		}
		raw, _, _ := unstructured.NestedMap(set.Object, "spec", "leaderWorkerTemplate", kind)
		var template corev1.PodTemplateSpec
		harness.Must(s, runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &template))
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Name = name
		pod.Labels["leaderworkerset.sigs.k8s.io/name"] = set.GetName()
		pod.Labels["leaderworkerset.sigs.k8s.io/group-index"] = fmt.Sprint(group)
		pod.Labels["leaderworkerset.sigs.k8s.io/worker-index"] = fmt.Sprint(index)
		if index > 0 {
			pod.Annotations["leaderworkerset.sigs.k8s.io/leader-name"] = fmt.Sprintf("%s-%d", set.GetName(), group)
		}
		_, err := s.cluster.Client.CoreV1().Pods(s.teams.Namespace).Create(harness.Context(s), pod, harness.ForReal)
		harness.Must(s, err)
	}
}

func (s servingScene) createLeaderWorkerSet(name string, replicas, size int64) *unstructured.Unstructured {
	s.Helper()
	template := func() map[string]any {
		made := harness.ServingTemplate("1")
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&made)
		harness.Must(s, err)
		return raw
	}
	created, err := s.cluster.Dynamic.Resource(leaderWorkerSets).Namespace(s.teams.Namespace).Create(harness.Context(s), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
		"metadata": map[string]any{"name": name, "labels": map[string]any{harness.QueueLabel: "q"}},
		"spec": map[string]any{"replicas": replicas, "leaderWorkerTemplate": map[string]any{
			"size": size, "leaderTemplate": template(), "workerTemplate": template()}},
	}}, metav1.CreateOptions{})
	harness.Must(s, err)
	s.Cleanup(func() {
		s.cluster.Kubectl(s, "", "delete", "leaderworkersets", "--all", "--namespace", s.teams.Namespace)
	})
	return created
}

func (s servingScene) inGroup(group int) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		return pod.Labels["leaderworkerset.sigs.k8s.io/group-index"] == fmt.Sprint(group)
	}
}

// groupIs fails unless all pods of the group have a gate, or none.
func (s servingScene) groupIs(what string, group, size int, gated bool) {
	s.Helper()
	harness.Eventually(s, time.Minute, fmt.Sprintf("group %d %s", group, what), func() error {
		count := 0
		for _, pod := range s.pods() {
			if s.inGroup(group)(&pod) && harness.IsGated(&pod) == gated && (gated || isReady(&pod)) {
				count++
			}
		}
		if count != size {
			return fmt.Errorf("%d of %d pods", count, size)
		}
		return nil
	})
}

func TestGroupsOfALeaderWorkerSetStartWholeOrNotAtAll(t *testing.T) {
	harness.Connect(t).HollowNodes(t)
	harness.Connect(t).InstallDefinition(t, "kinds/leaderworkerset/crd.yaml", "leaderworkersets.leaderworkerset.x-k8s.io")
	scene := startServingScene(t, hollowNodes, "5")
	quota := scene.cluster.WatchQuota(t)
	set := scene.createLeaderWorkerSet("llm", 2, 3)
	for group := range 2 {
		scene.playGroup(set, group, 3)
	}
	// Either can be the first: there is room for five pods.
	harness.Eventually(t, time.Minute, "one group runs", func() error {
		ready := map[string]int{}
		for _, pod := range scene.pods() {
			if isReady(&pod) {
				ready[pod.Labels["leaderworkerset.sigs.k8s.io/group-index"]]++
			}
		}
		if len(ready) != 1 || ready["0"]+ready["1"] != 3 {
			return fmt.Errorf("%v are ready", ready)
		}
		return nil
	})
	time.Sleep(2 * time.Second)
	scene.counts("with room for one group", 3, 3)
	scene.teams.Change("q", scene.teams.Cpus("f=6"))
	scene.groupIs("runs", 0, 3, false)
	scene.groupIs("runs", 1, 3, false)

	// One group less: its pods go before its quota does.
	harness.Must(t, scene.patch(leaderWorkerSets, "llm", `{"spec":{"replicas":1}}`))
	harness.Eventually(t, time.Minute, "one Workload is left", func() error {
		if left := scene.workloads(set.GetUID()); len(left) != 1 || left[0].GetAnnotations()["kueue.x-k8s.io/component-workload-index"] != "0" {
			return fmt.Errorf("%d are there", len(left))
		}
		return nil
	})
	scene.counts("with one group", 3, 0, scene.inGroup(0))

	// Evicted as a whole.
	scene.teams.Change("q", map[string]any{"stopPolicy": "HoldAndDrain"})
	scene.counts("drained", 0, 0)
	scene.oneWorkload(set.GetUID(), "has given its quota back", harness.Released)
	scene.teams.Change("q", map[string]any{"stopPolicy": "None"})
	scene.playGroup(set, 0, 3)
	scene.groupIs("runs again", 0, 3, false)
	quota.Check(t)
}
