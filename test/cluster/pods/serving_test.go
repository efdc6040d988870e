package pods

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+
		"integrations: {frameworks: [batch/job, pod, deployment, statefulset, leaderworkerset.x-k8s.io/leaderworkerset]}\n")
	harness.ApplyRights(t, cluster, config)
	harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
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

func appLabels() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "srv"}}
}

func (s servingScene) statefulSet(name string, replicas int32, cpu string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: harness.Queue("q")},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: name, Selector: appLabels(), Template: harness.ServingTemplate(cpu)},
	}
}

func (s servingScene) createStatefulSet(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	s.Helper()
	created, err := s.cluster.Client.AppsV1().StatefulSets(s.teams.Namespace).Create(harness.Context(s), set, metav1.CreateOptions{})
	harness.Must(s, err)
	return created
}

func (s servingScene) pods() []corev1.Pod {
	list, err := s.cluster.Client.CoreV1().Pods(s.teams.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil
	}
	return list.Items
}

// pods that are there: this many run and are ready, this many wait behind their gates, and there are no others.
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
			case fits && harness.IsGated(&pod):
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
		Spec:       appsv1.DeploymentSpec{Replicas: &three, Selector: appLabels(), Template: harness.ServingTemplate("100m")},
	}, metav1.CreateOptions{})
	harness.Must(t, err)
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

	harness.Must(t, scene.patch(statefulSets, "db", `{"spec":{"template":{"metadata":{"annotations":{"version":"2"}}}}}`))
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
	harness.Must(t, scene.patch(statefulSets, "db", `{"spec":{"template":{"metadata":{"annotations":{"version":"2"}}}}}`))
	scene.counts("updated", 0, 1, func(pod *corev1.Pod) bool { return pod.Annotations["version"] == "2" })
	scene.teams.Change("q", scene.teams.Cpus("f=2"))
	scene.counts("with room", 2, 0, func(pod *corev1.Pod) bool { return pod.Annotations["version"] == "2" })
	scene.oneWorkload(set.UID, "is admitted", harness.HasCondition("Admitted", "True", "Admitted"))
}

func queueIs(name string) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		if have, _, _ := unstructured.NestedString(workload.Object, "spec", "queueName"); have != name {
			return fmt.Errorf("it is in queue %q", have)
		}
		return nil
	}
}

// A StatefulSet whose pod finds no node holds quota, and its label can change. The quota then comes from the queue that the label
// names.
func TestAStatefulSetThatDoesNotServeChangesItsQueue(t *testing.T) {
	harness.Connect(t).HollowNodes(t)
	scene := startServingScene(t, hollowNodes, "1")
	scene.teams.Queue("q2", scene.teams.Cpus("f=1"))
	set := scene.statefulSet("db", 1, "1")
	set.Spec.Template.Spec.NodeSelector = map[string]string{"no.such/node": "true"}
	created := scene.createStatefulSet(set)
	scene.oneWorkload(created.UID, "is admitted", queueIs("q"), harness.HasCondition("Admitted", "True", "Admitted"))
	harness.Must(t, scene.patch(statefulSets, "db", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q2"}}}`))
	scene.oneWorkload(created.UID, "has moved", queueIs("q2"), harness.HasCondition("Admitted", "True", "Admitted"))
	scene.teams.QueueUses("q", "0")
	scene.teams.QueueUses("q2", "1")
}

// watchRunning fails at the first moment at which more pods of the namespace can run than there is quota for.
func (s servingScene) watchRunning(most int) (check func()) {
	stop, broken := make(chan struct{}), make(chan string, 1)
	go func() {
		for {
			running := 0
			for _, pod := range s.pods() {
				if !harness.IsGated(&pod) && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed &&
					pod.DeletionTimestamp == nil {
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
	harness.Must(t, scene.patch(statefulSets, "waits", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}},"template":{"metadata":{"annotations":{"version":"2"}}}}}`))
	// Pods that say they are of the group that runs, or of the set.
	for name, edit := range map[string]func(*corev1.Pod){
		"member": func(pod *corev1.Pod) {
			harness.InPodGroup(pod, group, 2).Annotations["kueue.x-k8s.io/role-hash"] = "main"
		},
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
		if !harness.IsGated(&pod) && !strings.HasPrefix(pod.Name, "runs-") {
			t.Errorf("%s was started", pod.Name)
		}
	}
}
