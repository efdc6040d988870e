package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

var leaderWorkerSets = schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets"}

// servingScene is a queue before a muster that queues what serves, with the rights that its manifests give for that.
type servingScene struct {
	podScene
}

func startServingScene(t *testing.T, flavor func(*harness.Teams), cpus string) servingScene {
	t.Helper()
	cluster := harness.Connect(t)
	config := writeFile(t, "config.yaml", namesOfTheManifests+
		"integrations: {frameworks: [batch/job, pod, deployment, statefulset, leaderworkerset.x-k8s.io/leaderworkerset]}\n")
	harness.ApplyRights(t, cluster, config)
	startQueueMuster(t, "--config", config, "--kubeconfig", asServiceAccount(t, cluster, "muster-system", "muster"))
	teams := cluster.Teams(t)
	flavor(teams)
	teams.Queue("q", teams.Cpus("f="+cpus))
	scene := servingScene{podScene{t, cluster, teams}}
	t.Cleanup(func() {
		for _, kind := range []string{"deployments", "statefulsets", "pods"} {
			cluster.Kubectl(t, "", "delete", kind, "--all", "--namespace", teams.Namespace, "--grace-period=0", "--force", "--ignore-not-found")
		}
	})
	return scene
}

func realNodes(teams *harness.Teams)   { teams.RealFlavor("f") }
func hollowNodes(teams *harness.Teams) { teams.Flavor("f") }

// servingTemplate is of pods that ask for so much and run until they are deleted.
func servingTemplate(cpu string) corev1.PodTemplateSpec {
	spec := harness.RealPod("sleep 600").Spec
	spec.RestartPolicy = corev1.RestartPolicyAlways
	spec.NodeSelector, spec.Tolerations = nil, nil
	spec.TerminationGracePeriodSeconds = new(int64)
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "srv"}}, Spec: spec}
}

func appLabels() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "srv"}}
}

func (s servingScene) statefulSet(name string, replicas int32, cpu string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: harness.Queue("q")},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: name, Selector: appLabels(), Template: servingTemplate(cpu)},
	}
}

func (s servingScene) createStatefulSet(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	s.Helper()
	created, err := s.cluster.Client.AppsV1().StatefulSets(s.teams.Namespace).Create(harness.Context(s), set, metav1.CreateOptions{})
	must(s, err)
	return created
}

func (s servingScene) pods() []corev1.Pod {
	list, err := s.cluster.Client.CoreV1().Pods(s.teams.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil
	}
	return list.Items
}

// pods that are there: so many run and are ready, so many wait behind their gates, and there are no others.
func (s servingScene) counts(what string, ready, gated int, also ...func(*corev1.Pod) bool) {
	s.Helper()
	harness.Eventually(s, 90*time.Second, fmt.Sprintf("%s: %d pods are ready and %d wait", what, ready, gated), func() error {
		haveReady, haveGated, others := 0, 0, ""
		for _, pod := range s.pods() {
			fits := pod.DeletionTimestamp == nil
			for _, condition := range also {
				fits = fits && condition(&pod)
			}
			switch {
			case fits && gatedPod(&pod):
				haveGated++
			case fits && isReady(&pod):
				haveReady++
			default:
				others += " " + pod.Name
			}
		}
		if haveReady != ready || haveGated != gated || others != "" {
			return fmt.Errorf("%d are ready, %d wait, others:%s", haveReady, haveGated, others)
		}
		return nil
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// workload of the set, by the uid that it says.
func (s servingScene) workloads(uid types.UID) []unstructured.Unstructured {
	list, err := s.cluster.Dynamic.Resource(harness.Workloads).Namespace(s.teams.Namespace).List(context.Background(),
		metav1.ListOptions{LabelSelector: "kueue.x-k8s.io/job-uid=" + string(uid)})
	if err != nil {
		return nil
	}
	return list.Items
}

func (s servingScene) oneWorkload(uid types.UID, what string, conditions ...func(*unstructured.Unstructured) error) {
	s.Helper()
	harness.Eventually(s, time.Minute, "the set's Workload "+what, func() error {
		all := s.workloads(uid)
		if len(all) != 1 {
			return fmt.Errorf("it has %d", len(all))
		}
		for _, condition := range conditions {
			if err := condition(&all[0]); err != nil {
				return err
			}
		}
		return nil
	})
}

func countIs(pods int64) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		podSets, _, _ := unstructured.NestedSlice(workload.Object, "spec", "podSets")
		if have := podSets[0].(map[string]any)["count"]; have != pods {
			return fmt.Errorf("it counts %v pods", have)
		}
		return nil
	}
}

func (s servingScene) patch(resource schema.GroupVersionResource, name, patch string, subresources ...string) error {
	_, err := s.cluster.Dynamic.Resource(resource).Namespace(s.teams.Namespace).Patch(harness.Context(s), name,
		types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

var statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")

func TestPodsOfADeploymentStartAsTheirQueueHasRoom(t *testing.T) {
	harness.Connect(t).RealNode(t)
	scene := startServingScene(t, realNodes, "200m")
	quota := scene.cluster.WatchQuota(t)
	three := int32(3)
	_, err := scene.cluster.Client.AppsV1().Deployments(scene.teams.Namespace).Create(harness.Context(t), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: harness.Queue("q")},
		Spec:       appsv1.DeploymentSpec{Replicas: &three, Selector: appLabels(), Template: servingTemplate("100m")},
	}, metav1.CreateOptions{})
	must(t, err)
	scene.counts("with room for two", 2, 1)
	scene.teams.Change("q", scene.teams.Cpus("f=300m"))
	scene.counts("with room for three", 3, 0)
	scene.teams.Kubectl("scale", "deployment", "web", "--replicas=1")
	scene.counts("scaled down", 1, 0)
	scene.teams.QueueUses("q", "100m")
	quota.Check(t)
}

func TestAStatefulSetIsScaledAndUpdatedInItsQueue(t *testing.T) {
	harness.Connect(t).RealNode(t)
	scene := startServingScene(t, realNodes, "300m")
	quota := scene.cluster.WatchQuota(t)
	set := scene.createStatefulSet(scene.statefulSet("db", 2, "100m"))
	scene.counts("made", 2, 0)
	scene.oneWorkload(set.UID, "is admitted", countIs(2), harness.HasCondition("Admitted", "True", "Admitted"))

	scene.teams.Kubectl("scale", "statefulset", "db", "--replicas=0")
	scene.counts("scaled to zero", 0, 0)
	scene.oneWorkload(set.UID, "is on hold", harness.HasCondition("QuotaReserved", "False", "OnHold"))
	scene.teams.QueueUses("q", "0")
	scene.teams.Kubectl("scale", "statefulset", "db", "--replicas=3")
	scene.counts("scaled up", 3, 0)
	scene.oneWorkload(set.UID, "counts the new pods", countIs(3), harness.HasCondition("Admitted", "True", "Admitted"))

	must(t, scene.patch(statefulSets, "db", `{"spec":{"template":{"metadata":{"annotations":{"version":"2"}}}}}`))
	scene.counts("updated", 3, 0, func(pod *corev1.Pod) bool { return pod.Annotations["version"] == "2" })

	if err := scene.patch(statefulSets, "db", `{"spec":{"replicas":4}}`); err == nil || !strings.Contains(err.Error(), "replicas") {
		t.Errorf("it grew while it ran: %v", err)
	}
	// The webhook is not asked about its scale. The fourth pod waits, and it is said why.
	scene.teams.Kubectl("scale", "statefulset", "db", "--replicas=4")
	scene.counts("with one too many", 3, 1)
	harness.Eventually(t, 30*time.Second, "an event about its replicas", func() error {
		events := scene.teams.Kubectl("get", "events", "--field-selector", "reason=ReplicasChanged")
		if !strings.Contains(events, "scale to zero") {
			return fmt.Errorf("events: %s", events)
		}
		return nil
	})
	scene.counts("later", 3, 1)
	quota.Check(t)
}

// A StatefulSet that waits is updated: its pods are made again as they shall be, and none of them runs before.
func TestAnUpdateOfAStatefulSetThatWaits(t *testing.T) {
	harness.Connect(t).HollowNodes(t)
	scene := startServingScene(t, hollowNodes, "0")
	set := scene.createStatefulSet(scene.statefulSet("db", 2, "1"))
	scene.counts("made", 0, 1)
	must(t, scene.patch(statefulSets, "db", `{"spec":{"template":{"metadata":{"annotations":{"version":"2"}}}}}`))
	scene.counts("updated", 0, 1, func(pod *corev1.Pod) bool { return pod.Annotations["version"] == "2" })
	scene.teams.Change("q", scene.teams.Cpus("f=2"))
	scene.counts("with room", 2, 0, func(pod *corev1.Pod) bool { return pod.Annotations["version"] == "2" })
	scene.oneWorkload(set.UID, "is admitted", harness.HasCondition("Admitted", "True", "Admitted"))
}

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
		must(s, runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &template))
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Name = name
		pod.Labels["leaderworkerset.sigs.k8s.io/name"] = set.GetName()
		pod.Labels["leaderworkerset.sigs.k8s.io/group-index"] = fmt.Sprint(group)
		pod.Labels["leaderworkerset.sigs.k8s.io/worker-index"] = fmt.Sprint(index)
		if index > 0 {
			pod.Annotations["leaderworkerset.sigs.k8s.io/leader-name"] = fmt.Sprintf("%s-%d", set.GetName(), group)
		}
		_, err := s.cluster.Client.CoreV1().Pods(s.teams.Namespace).Create(harness.Context(s), pod, harness.ForReal)
		must(s, err)
	}
}

func (s servingScene) createLeaderWorkerSet(name string, replicas, size int64) *unstructured.Unstructured {
	s.Helper()
	template := func() map[string]any {
		made := servingTemplate("1")
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&made)
		must(s, err)
		return raw
	}
	created, err := s.cluster.Dynamic.Resource(leaderWorkerSets).Namespace(s.teams.Namespace).Create(harness.Context(s), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
		"metadata": map[string]any{"name": name, "labels": map[string]any{harness.QueueLabel: "q"}},
		"spec": map[string]any{"replicas": replicas, "leaderWorkerTemplate": map[string]any{
			"size": size, "leaderTemplate": template(), "workerTemplate": template()}},
	}}, metav1.CreateOptions{})
	must(s, err)
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
			if s.inGroup(group)(&pod) && gatedPod(&pod) == gated && (gated || isReady(&pod)) {
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
	must(t, scene.patch(leaderWorkerSets, "llm", `{"spec":{"replicas":1}}`))
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

// watchRunning fails at the first moment at which more pods of the namespace may run than there is quota for.
func (s servingScene) watchRunning(most int) (check func()) {
	stop, broken := make(chan struct{}), make(chan string, 1)
	go func() {
		for {
			running := 0
			for _, pod := range s.pods() {
				if !gatedPod(&pod) && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && pod.DeletionTimestamp == nil {
					running++
				}
			}
			if running > most {
				broken <- fmt.Sprintf("%d pods may run, and there is quota for %d", running, most)
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() {
		s.Helper()
		close(stop)
		select {
		case what := <-broken:
			s.Error(what)
		default:
		}
	}
}

// A user with every right in the namespace, on pods and sets, has no more pods than quota.
func TestSetsOfAHostileTenantStayWithinTheirQuota(t *testing.T) {
	harness.Connect(t).HollowNodes(t)
	scene := startServingScene(t, hollowNodes, "2")
	check := scene.watchRunning(2)
	set := scene.createStatefulSet(scene.statefulSet("runs", 2, "1"))
	scene.counts("within its quota", 2, 0)
	group := scene.workloads(set.UID)[0].GetName()

	// A set whose update stops halfway: pods of the old revision are made again and again.
	waits := scene.statefulSet("waits", 2, "1")
	waits.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	waits.Spec.Selector.MatchLabels["app"], waits.Spec.Template.Labels["app"] = "other", "other"
	scene.createStatefulSet(waits)
	scene.counts("beside one that waits", 2, 2)
	must(t, scene.patch(statefulSets, "waits", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}},"template":{"metadata":{"annotations":{"version":"2"}}}}}`))
	// Pods that say they are of the group that runs, or of the set.
	for name, edit := range map[string]func(*corev1.Pod){
		"member": func(pod *corev1.Pod) { inGroup(pod, group, 2).Annotations["kueue.x-k8s.io/role-hash"] = "main" },
		"child":  func(pod *corev1.Pod) { pod.Labels["kueue.x-k8s.io/managed"] = "true" },
		"orphan": func(pod *corev1.Pod) { delete(pod.Labels, harness.QueueLabel) },
	} {
		pod := scene.pod(name, "600")
		pod.Annotations["kueue.x-k8s.io/pod-suspending-parent"] = "statefulset"
		edit(pod)
		scene.create(pod)
	}
	// More replicas, past the webhook.
	scene.teams.Kubectl("scale", "statefulset", "runs", "--replicas=5")
	time.Sleep(3 * time.Second)
	// Out of sight.
	for what, patch := range map[string]string{
		"the label":            `{"metadata":{"labels":{"kueue.x-k8s.io/managed":null}}}`,
		"the label and queue":  `{"metadata":{"labels":{"kueue.x-k8s.io/managed":null,"kueue.x-k8s.io/queue-name":null}}}`,
		"the label and parent": `{"metadata":{"labels":{"kueue.x-k8s.io/managed":null},"annotations":{"kueue.x-k8s.io/pod-suspending-parent":null}}}`,
		"the group":            `{"metadata":{"annotations":{"kueue.x-k8s.io/pod-group-name":"mine"}}}`,
	} {
		if err := scene.patch(corev1.SchemeGroupVersion.WithResource("pods"), "runs-0", patch); err == nil {
			t.Errorf("a pod that runs lost %s", what)
		}
	}
	// Sets that are gone leave their pods.
	scene.teams.Kubectl("delete", "statefulset", "waits", "runs", "--cascade=orphan")
	time.Sleep(3 * time.Second)
	check()
	for _, pod := range scene.pods() {
		if !gatedPod(&pod) && !strings.HasPrefix(pod.Name, "runs-") {
			t.Errorf("%s was started", pod.Name)
		}
	}
}
