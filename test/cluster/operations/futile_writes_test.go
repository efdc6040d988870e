package operations

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// One object of a tenant makes muster write what comes to nothing: the API server refuses it, or a controller undoes it.
// There are few such writes, and a Job of another namespace is admitted about as soon as beside the same object while
// muster has nothing to do with it.

type futileScene struct {
	*testing.T
	cluster       *harness.Cluster
	wire          *harness.Wire
	tenant, other *harness.Teams
	jobs          int
}

// futileAttack is made in two forms: one that does not concern muster, and one that does.
type futileAttack struct {
	name string
	make func(s *futileScene, concerns bool)
	// attacked says whether muster has met it.
	attacked func(s *futileScene) error
	// written are the writes that come to nothing, and most how many of them there can be.
	written func(s *futileScene) int
	most    int
	remove  []string
}

const attackLasts = 6 * time.Second

func TestWritesThatComeToNothingAreFewAndDelayNobodyElse(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	wire := cluster.Wire(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+"integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, pod, statefulset]}\n")
	harness.StartQueueMuster(t, "--config", config, "--kubeconfig", wire.Kubeconfig)
	scene := &futileScene{T: t, cluster: cluster, wire: wire, tenant: cluster.Teams(t), other: cluster.Teams(t)}
	for teams, cpus := range map[*harness.Teams]string{scene.tenant: "f=0", scene.other: "f=1000"} {
		teams.Flavor("f")
		teams.Queue("q", teams.Cpus(cpus))
	}
	deletedPods := func(s *futileScene) int { return s.wire.Writes()["delete pods"] }
	for _, attack := range []futileAttack{
		{"a JobSet whose Jobs are refused", refusedJobSet, func(s *futileScene) error {
			return s.told("JobCreationFailed")
		}, func(s *futileScene) int { return s.wire.Refused()["post jobs"] }, 120, []string{"jobset", "refused"}},
		{"a ReplicaSet whose pods say that they are a group of one", groupOfOne, func(s *futileScene) error {
			return s.told("ExcessPodsWait")
		}, deletedPods, 0, []string{"replicaset", "excess"}},
		// Kubernetes can delete the outdated pod before muster does.
		{"a StatefulSet with a partition and a first ordinal", partitionedSet, func(s *futileScene) error {
			last, err := s.cluster.Client.CoreV1().Pods(s.tenant.Namespace).Get(harness.Context(s), "ordinals-7", metav1.GetOptions{})
			if err == nil && last.Annotations["example.com/version"] != "2" {
				err = fmt.Errorf("the last pod is not replaced")
			}
			return err
		}, deletedPods, 1, []string{"statefulset", "ordinals"}},
	} {
		t.Run(attack.name, func(t *testing.T) { scene.with(t).run(attack) })
	}
}

func (s *futileScene) with(t *testing.T) *futileScene {
	s.T = t
	return s
}

func (s *futileScene) run(attack futileAttack) {
	delete := func() {
		s.tenant.Kubectl(append([]string{"delete", "--wait=true", "--ignore-not-found"}, attack.remove...)...)
	}
	s.admit() // the first one makes connections
	attack.make(s, false)
	ignored := s.admitFor(attackLasts / 2)
	delete()
	before, began := attack.written(s), time.Now()
	attack.make(s, true)
	defer delete()
	harness.Eventually(s, time.Minute, attack.name, func() error { return attack.attacked(s) })
	attacked := s.admitFor(attackLasts)
	written := attack.written(s) - before
	s.Logf("%d writes came to nothing in %s; another namespace: %s while muster ignores it, %s under attack", written,
		time.Since(began).Round(time.Second), ignored.Round(time.Millisecond), attacked.Round(time.Millisecond))
	// At most this many in the first minute, and a machine under load can take longer.
	if most := attack.most * int(1+time.Since(began)/time.Minute); written > most {
		s.Errorf("%d writes came to nothing, and at most %d may", written, most)
	}
	if limit := 2*ignored + 500*time.Millisecond; attacked > limit {
		s.Errorf("a Job of another namespace is admitted after %s, and after %s while muster ignores the attack", attacked, ignored)
	}
}

// admit makes a Job of another namespace and says how long its admission took.
func (s *futileScene) admit() time.Duration {
	s.Helper()
	s.jobs++
	name, began := fmt.Sprintf("job-%d", s.jobs), time.Now()
	s.other.Job("q", name, 1, "1")
	s.other.Admitted(name)
	return time.Since(began)
}

// admitFor admits one Job after the other for so long, and returns the median.
func (s *futileScene) admitFor(duration time.Duration) time.Duration {
	s.Helper()
	var all []time.Duration
	for began := time.Now(); time.Since(began) < duration || len(all) < 5; {
		all = append(all, s.admit())
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// `told` says whether an Event of this reason is there.
func (s *futileScene) told(reason string) error {
	events, err := s.cluster.Client.CoreV1().Events(s.tenant.Namespace).List(harness.Context(s), metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err == nil && len(events.Items) == 0 {
		err = fmt.Errorf("no Event says %s", reason)
	}
	return err
}

// Indexed is the default, and needs completions.
func refusedJobSet(s *futileScene, concerns bool) {
	jobs := map[string]any{"name": "w", "replicas": int64(100_000), "template": map[string]any{"spec": map[string]any{
		"parallelism": int64(1), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "example.test/main:1"}}}}}}}
	set := harness.JobSetOf("refused")
	set.Object["spec"] = map[string]any{"replicatedJobs": []any{jobs}}
	if !concerns {
		set.Object["spec"].(map[string]any)["managedBy"] = "example.com/nobody"
	}
	s.cluster.Create(s, harness.JobSets, s.tenant.Namespace, set)
}

func waitingTemplate(app string, concerns bool) corev1.PodTemplateSpec {
	template := harness.ServingTemplate("1")
	template.Labels = map[string]string{"app": app}
	template.Annotations = map[string]string{}
	if concerns {
		template.Labels["kueue.x-k8s.io/queue-name"] = "q"
	} else {
		template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/waits"}}
	}
	return template
}

func groupOfOne(s *futileScene, concerns bool) {
	template := waitingTemplate("excess", concerns)
	template.Labels["kueue.x-k8s.io/pod-group-name"] = "g"
	template.Annotations["kueue.x-k8s.io/pod-group-total-count"] = "1"
	replicas := int32(20)
	_, err := s.cluster.Client.AppsV1().ReplicaSets(s.tenant.Namespace).Create(harness.Context(s), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "excess"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "excess"}},
			Template: template}}, metav1.CreateOptions{})
	harness.Must(s.T, err)
}

func partitionedSet(s *futileScene, concerns bool) {
	sets := s.cluster.Client.AppsV1().StatefulSets(s.tenant.Namespace)
	replicas, partition := int32(3), int32(2)
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "ordinals"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: "ordinals", PodManagementPolicy: appsv1.ParallelPodManagement,
			Ordinals: &appsv1.StatefulSetOrdinals{Start: 5}, Template: waitingTemplate("ordinals", false),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ordinals"}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}},
		},
	}
	if concerns {
		set.Labels = harness.Queue("q")
		set.Spec.Template.Spec.SchedulingGates = nil
	}
	_, err := sets.Create(harness.Context(s), set, metav1.CreateOptions{})
	harness.Must(s.T, err)
	harness.Eventually(s, time.Minute, "the pods wait", func() error {
		pods, err := s.cluster.Client.CoreV1().Pods(s.tenant.Namespace).List(harness.Context(s), metav1.ListOptions{LabelSelector: "app=ordinals"})
		if err == nil && len(pods.Items) != 3 {
			err = fmt.Errorf("there are %d", len(pods.Items))
		}
		return err
	})
	_, err = sets.Patch(harness.Context(s), "ordinals", types.MergePatchType,
		[]byte(`{"spec":{"template":{"metadata":{"annotations":{"example.com/version":"2"}}}}}`), metav1.PatchOptions{})
	harness.Must(s.T, err)
}
