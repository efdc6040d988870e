package install

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// workloadCount is how many pending Workloads the move meets; MUSTER_MIGRATION_WORKLOADS=1000 makes it as long as the issue says.
func workloadCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MUSTER_MIGRATION_WORKLOADS")
	if text == "" {
		return 200
	}
	count, err := strconv.Atoi(text)
	harness.Must(t, err)
	return count
}

// manyWorkloads makes Jobs in all states beside the finished one of docs/install.md: running, pending, deactivated.
func manyWorkloads(t *testing.T, cluster *harness.Cluster, pending int) (running []string) {
	t.Helper()
	for i := range 4 {
		name := fmt.Sprintf("running-%d", i)
		job := harness.RealJob(name, 1, "sleep 3600")
		job.Labels = harness.Queue("main")
		job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
		cluster.CreateJob(t, "default", job)
		running = append(running, name)
	}
	for _, name := range running {
		cluster.WaitForPods(t, "default", name, 1, time.Minute, "running", harness.Phase(corev1.PodRunning))
	}
	for i := range pending {
		job := harness.RealJob(fmt.Sprintf("pending-%d", i), 1, "true")
		job.Labels = harness.Queue("main")
		job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("900m")}
		cluster.CreateJob(t, "default", job)
	}
	harness.Eventually(t, 2*time.Minute, "every Job has a Workload", func() error {
		list, err := harness.InVersion(cluster, harness.NewVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
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
	list, err := harness.InVersion(cluster, harness.NewVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	for _, workload := range list.Items {
		admission, _, _ := unstructured.NestedMap(workload.Object, "status", "admission")
		active, _, _ := unstructured.NestedBool(workload.Object, "spec", "active")
		text += fmt.Sprintf("workload %s %s active=%t %s\n", workload.GetName(), workload.GetUID(), active, harness.ToJSON(t, admission))
	}
	return text
}

// states counts the Workloads by state, and the restarts of all containers.
func states(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	count := map[string]int{}
	list, err := harness.InVersion(cluster, harness.NewVersion, "workloads", "").List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
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
	harness.Must(t, err)
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
	harness.FollowPage(t, cluster, "install.md", "With kubectl", "First queue and first Job")
	running := manyWorkloads(t, cluster, workloadCount(t))
	kueue := becomeKueue(t, cluster)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(harness.ClusterState(cluster))
		}
	})
	before := picture(t, cluster, running)

	said := harness.FollowPage(t, cluster, "migration.md", "1. Look", "2. Install muster beside Kueue")
	if !strings.Contains(said, "Nothing stands against a move to muster.") || !strings.Contains(said, "objects are stored as v1beta1") {
		t.Errorf("preflight says\n%s", said)
	}
	began := time.Now()
	said = harness.FollowPage(t, cluster, "migration.md", "3. Move", "4. Verify")
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
	small := harness.RealJob("small", 1, "true")
	small.Labels = harness.Queue("main")
	small.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	cluster.CreateJob(t, "default", small)
	cluster.WaitForJob(t, "default", "small", time.Minute, "Complete")
	if usage := cluster.Kubectl(t, "", "get", "clusterqueue", "team-a", "-o", "jsonpath={.status.flavorsUsage[0].resources[?(@.name=='cpu')].total}"); usage != "800m" {
		t.Errorf("in use: %q", usage)
	}
	// A Kueue that a person starts again does not lead.
	cluster.Kubectl(t, "", "-n", "kueue-system", "scale", "deployment/kueue-controller-manager", "--replicas=1")
	cluster.Kubectl(t, "", "-n", "kueue-system", "rollout", "status", "deployment/kueue-controller-manager", "--timeout=1m")
	time.Sleep(4 * time.Second) // twice the duration of its Lease
	harness.Must(t, kueue.isLeading(false))

	before = picture(t, cluster, running)
	began = time.Now()
	harness.FollowPage(t, cluster, "migration.md", "Back")
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
	old, err := harness.InVersion(cluster, harness.OldVersion, "workloads", "default").List(harness.Context(t), metav1.ListOptions{})
	harness.Must(t, err)
	if len(old.Items) < workloadCount(t)+5 {
		t.Errorf("%d Workloads are read in the old version", len(old.Items))
	}
}

func storedVersions(t *testing.T, cluster *harness.Cluster, plural string) string {
	t.Helper()
	found, err := cluster.Dynamic.Resource(harness.Definitions).Get(harness.Context(t), plural+".kueue.x-k8s.io", metav1.GetOptions{})
	harness.Must(t, err)
	versions, _, _ := unstructured.NestedStringSlice(found.Object, "status", "storedVersions")
	return strings.Join(versions, " ")
}
