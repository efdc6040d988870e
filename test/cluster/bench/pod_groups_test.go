package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// groupsRun is what it cost to create and ungate groups of pods.
type groupsRun struct {
	created, ungated time.Duration
	writes           map[string]int // of all clients, by verb and resource
}

const (
	podsOfBenchGroup = 8
	benchGate        = "bench.example/gate"
)

// Groups of 8 pods that all fit, from the first creation until the last gate is gone, beside the floor on the same API
// server: a bare client that sees the pods of a group and removes their gates. No scheduler places the pods, so that
// the writes are those of the gates. MUSTER_SOAK=1 makes it the full size; prints a table for docs/benchmarks.md.
func TestPodGroupsAreUngatedWithFewWrites(t *testing.T) {
	groups := harness.Size(10, 1000)
	cluster := harness.Connect(t)
	runs := map[string]groupsRun{}
	t.Run("floor", func(t *testing.T) {
		namespace := cluster.Namespace(t, nil)
		runs["floor"] = runPodGroups(t, cluster, namespace, groups, true)
	})
	t.Run("muster", func(t *testing.T) {
		config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+
			"integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, pod]}\nclientConnection: {qps: -1, burst: 1}\n")
		harness.ApplyRights(t, cluster, config)
		harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
		teams := cluster.Teams(t)
		teams.Flavor("f")
		teams.Queue("q", teams.Cpus(fmt.Sprintf("f=%d", groups*podsOfBenchGroup)))
		runs["muster"] = runPodGroups(t, cluster, teams.Namespace, groups, false)
	})
	if t.Failed() || len(runs) != 2 {
		return
	}
	pods := float64(groups * podsOfBenchGroup)
	floor, muster := runs["floor"], runs["muster"]
	row := func(name string, of func(groupsRun) float64) {
		fmt.Printf("| %s | %.2f | %.2f | %.2f |\n", name, of(floor), of(muster), of(muster)/of(floor))
	}
	writes := func(run groupsRun) float64 { return float64(total(run.writes)) / pods }
	fmt.Printf("\n| %d groups of %d pods | floor | muster | ratio |\n|---|---|---|---|\n", groups, podsOfBenchGroup)
	row("all created after, s", func(run groupsRun) float64 { return run.created.Seconds() })
	row("all ungated after, s", func(run groupsRun) float64 { return run.ungated.Seconds() })
	row("writes per pod", writes)
	for _, name := range slices.Sorted(maps.Keys(muster.writes)) {
		fmt.Printf("| %s, per pod | %.3f | %.3f | |\n", name, float64(floor.writes[name])/pods, float64(muster.writes[name])/pods)
	}
	harness.Figure(t, "%d groups of %d pods: all ungated after %.1f s, floor %.1f s; writes per pod %.2f, floor %.2f", groups, podsOfBenchGroup,
		muster.ungated.Seconds(), floor.ungated.Seconds(), writes(muster), writes(floor))
	// A creation and a patch for each pod, and what a Workload takes, which 8 pods share.
	if writes(floor) < 2 || writes(muster) > 3 {
		t.Errorf("writes per pod: %.2f, floor %.2f", writes(muster), writes(floor))
	}
}

func benchGroupPod(group, member int, bare bool) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%d-%d", group, member), Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, SchedulerName: "bench.example/none",
			Containers: []corev1.Container{{Name: "main", Image: "example.test/main:1", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
	if bare {
		pod.Labels["bench.example/group"] = fmt.Sprint(group)
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: benchGate}}
		return pod
	}
	pod.Labels[harness.QueueLabel] = "q"
	return harness.InPodGroup(pod, fmt.Sprint("bench-", group), podsOfBenchGroup)
}

// runPodGroups creates the pods, 32 at a time, and waits until no pod has a gate. A bare run removes the gates itself.
func runPodGroups(t *testing.T, cluster *harness.Cluster, namespace string, groups int, bare bool) (run groupsRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Size(2*time.Minute, 20*time.Minute))
	defer cancel()
	t.Cleanup(func() {
		// This many pods take longer to delete than a request can.
		harness.Eventually(t, 10*time.Minute, "the pods are deleted", func() error {
			now := int64(0)
			return cluster.Client.CoreV1().Pods(namespace).DeleteCollection(context.Background(),
				metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
		})
	})
	followed := gates{map[string]map[string]bool{}, map[string]bool{}, func(string) {}}
	var patches sync.WaitGroup
	if bare {
		free := make(chan struct{}, 32)
		followed.ungate = func(group string) {
			for member := range podsOfBenchGroup {
				patches.Go(func() {
					free <- struct{}{}
					defer func() { <-free }()
					_, err := cluster.Client.CoreV1().Pods(namespace).Patch(ctx, fmt.Sprintf("bench-%s-%d", group, member),
						types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
					if err != nil {
						t.Errorf("group %s: %v", group, err)
					}
				})
			}
		}
	}
	count := groups * podsOfBenchGroup
	before := harness.APIServerMetrics(t, cluster)
	over := make(chan error, 1)
	go func() { over <- followed.follow(ctx, cluster, namespace, count) }()
	began := time.Now()
	outcome := harness.Load(ctx, 32, count, func(number int) error {
		_, err := cluster.Client.CoreV1().Pods(namespace).Create(ctx, benchGroupPod(number/podsOfBenchGroup, number%podsOfBenchGroup, bare), harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	run.created = time.Since(began)
	harness.Must(t, <-over)
	run.ungated = time.Since(began)
	patches.Wait()
	ok := answeredWith("20")
	run.writes = less(writesIn(harness.APIServerMetrics(t, cluster), ok), writesIn(before, ok))
	// Nothing is deleted here, except by the cluster, which takes away what an earlier run has left.
	maps.DeleteFunc(run.writes, func(name string, _ int) bool { return strings.HasPrefix(name, "DELETE ") })
	return run
}

// gates is which pods of a run were seen, by group, and which have no gate.
type gates struct {
	seen    map[string]map[string]bool
	ungated map[string]bool
	ungate  func(group string)
}

// follow until this many pods are there without a gate. The API server ends a watch that is too slow; the next one
// begins with what is there.
func (g *gates) follow(ctx context.Context, cluster *harness.Cluster, namespace string, count int) error {
	for ctx.Err() == nil {
		if err := g.followOnce(ctx, cluster, namespace, count); err != nil || len(g.ungated) == count {
			return err
		}
	}
	return fmt.Errorf("%d of %d pods have no gate: %w", len(g.ungated), count, ctx.Err())
}

func (g *gates) followOnce(ctx context.Context, cluster *harness.Cluster, namespace string, count int) error {
	watch, err := cluster.Client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return fmt.Errorf("the watch broke: %v", event.Object)
		}
		g.note(pod)
		if len(g.ungated) == count {
			return nil
		}
	}
	return nil
}

// note a pod. A group of the bare run is ungated when all its pods are there.
func (g *gates) note(pod *corev1.Pod) {
	if !harness.IsGated(pod) {
		g.ungated[pod.Name] = true
	}
	group := pod.Labels["bench.example/group"]
	if group == "" || g.seen[group][pod.Name] {
		return
	}
	if g.seen[group] == nil {
		g.seen[group] = map[string]bool{}
	}
	g.seen[group][pod.Name] = true
	if len(g.seen[group]) == podsOfBenchGroup {
		g.ungate(group)
	}
}
