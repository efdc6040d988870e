package jobsets

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

const (
	exclusiveTopology    = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	nodeSelectorStrategy = "alpha.jobset.sigs.k8s.io/node-selector"
	rackLabel            = "muster.batch/rack"
)

// racks labels hollow nodes, two for each rack, until the test ends. It returns the rack of each node.
func racks(t *testing.T, cluster *harness.Cluster, count int) map[string]string {
	t.Helper()
	if have := cluster.HollowNodes(t); have < 2*count {
		t.Fatalf("%d hollow nodes are too few for %d racks", have, count)
	}
	nodes, err := cluster.Client.CoreV1().Nodes().List(harness.Context(t), metav1.ListOptions{LabelSelector: harness.NodeLabel + "=hollow"})
	harness.Must(t, err)
	rackOf := map[string]string{}
	for index, node := range nodes.Items[:2*count] {
		rackOf[node.Name] = fmt.Sprint("rack-", index/2)
		cluster.Kubectl(t, "", "label", "node", node.Name, rackLabel+"="+rackOf[node.Name], "--overwrite")
		t.Cleanup(func() { cluster.Kubectl(t, "", "label", "node", node.Name, rackLabel+"-") })
	}
	return rackOf
}

// racksOf says in which racks the running pods of each Job are, or an error while fewer or more run.
func racksOf(t *testing.T, cluster *harness.Cluster, namespace, jobSet string, running int, rackOf map[string]string) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	for _, pod := range cluster.WaitForJobSetPods(t, namespace, jobSet, running, time.Minute, "running", harness.IsRunning) {
		job := pod.Labels["batch.kubernetes.io/job-name"]
		if found[job] == nil {
			found[job] = map[string]bool{}
		}
		found[job][rackOf[pod.Spec.NodeName]] = true
	}
	return found
}

func exclusive(name string, jobs, pods int64, annotations map[string]string) *unstructured.Unstructured {
	jobSet := harness.JobSetOf(name, harness.ReplicatedJob{Name: "w", Replicas: jobs, Pods: pods, Template: harness.HollowPod(-1, 0)})
	jobSet.SetAnnotations(annotations)
	return jobSet
}

// Kube-scheduler gives each Job a rack for itself, and lets the Job of another JobSet wait until one is free.
func TestExclusivelyPlacedJobsHaveARackEach(t *testing.T) {
	cluster := harness.Connect(t)
	rackOf := racks(t, cluster, 3)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace, elsewhere := cluster.Namespace(t, nil), cluster.Namespace(t, nil)
	placed := map[string]string{exclusiveTopology: rackLabel}
	first := exclusive("first", 2, 4, placed)
	jobs, _, _ := unstructured.NestedSlice(first.Object, "spec", "replicatedJobs")
	harness.Must(t, unstructured.SetNestedField(jobs[0].(map[string]any), int64(6), "template", "spec", "backoffLimit"))
	harness.Set(first, jobs, "spec", "replicatedJobs")
	cluster.CreateJobSet(t, namespace, first)
	taken := map[string]string{}
	check := func(jobs map[string]map[string]bool) {
		t.Helper()
		for job, racks := range jobs {
			if len(racks) != 1 || racks[""] {
				t.Errorf("the pods of %s are in racks %v", job, racks)
			}
			for rack := range racks {
				if other, is := taken[rack]; is && other != job {
					t.Errorf("%s and %s share %s", job, other, rack)
				}
				taken[rack] = job
			}
		}
	}
	check(racksOf(t, cluster, namespace, "first", 8, rackOf))

	// One rack is left for two Jobs, in another namespace.
	cluster.CreateJobSet(t, elsewhere, exclusive("second", 2, 3, placed))
	check(racksOf(t, cluster, elsewhere, "second", 3, rackOf))
	for range 5 {
		time.Sleep(time.Second)
		racksOf(t, cluster, elsewhere, "second", 3, rackOf)
	}
	// Who asks for no rack is not held up.
	cluster.CreateJobSet(t, elsewhere, exclusive("plain", 1, 2, nil))
	cluster.WaitForJobSetPods(t, elsewhere, "plain", 2, time.Minute, "running", harness.IsRunning)

	// A replacement of a pod comes back to its rack.
	gone := cluster.PodsOfJobSet(t, namespace, "first")[0]
	harness.Must(t, cluster.Client.CoreV1().Pods(namespace).Delete(harness.Context(t), gone.Name, metav1.DeleteOptions{}))
	harness.Eventually(t, time.Minute, "the pod is replaced", func() error {
		for _, pod := range cluster.PodsOfJobSet(t, namespace, "first") {
			if pod.UID == gone.UID {
				return fmt.Errorf("it is there")
			}
		}
		return nil
	})
	check(racksOf(t, cluster, namespace, "first", 8, rackOf))

	cluster.Delete(t, harness.JobSets, namespace, "first", metav1.DeletePropagationForeground)
	taken = map[string]string{}
	check(racksOf(t, cluster, elsewhere, "second", 6, rackOf))
}

// A restart of the JobSet can go to other racks, and is again exclusive.
func TestRestartedJobsArePlacedExclusively(t *testing.T) {
	cluster := harness.Connect(t)
	rackOf := racks(t, cluster, 2)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	jobSet := exclusive("train", 2, 2, map[string]string{exclusiveTopology: rackLabel})
	harness.Set(jobSet, map[string]any{"maxRestarts": int64(3)}, "spec", "failurePolicy")
	cluster.CreateJobSet(t, namespace, jobSet)
	racksOf(t, cluster, namespace, "train", 4, rackOf)
	pod := cluster.PodsOfJobSet(t, namespace, "train")[0]
	cluster.Kubectl(t, "", "patch", "pod", pod.Name, "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed"}}`)
	cluster.WaitForJobSetPods(t, namespace, "train", 4, 2*time.Minute, "running again", func(pod *corev1.Pod) bool {
		return harness.IsRunning(pod) && pod.Labels[harness.RestartAttemptLabel] == "1"
	})
	seen := map[string]string{}
	for job, racks := range racksOf(t, cluster, namespace, "train", 4, rackOf) {
		if len(racks) != 1 {
			t.Errorf("the pods of %s are in racks %v", job, racks)
		}
		for rack := range racks {
			if seen[rack] != "" {
				t.Errorf("%s and %s share %s", job, seen[rack], rack)
			}
			seen[rack] = job
		}
	}
}

// The other strategy: an administrator has labelled and tainted a node for each Job.
func TestJobsGoToTheNodesThatWereLabelledForThem(t *testing.T) {
	cluster := harness.Connect(t)
	rackOf := racks(t, cluster, 1)
	harness.StartMuster(t, "--jobset-controller", "native")
	namespace := cluster.Namespace(t, nil)
	nodeOf := map[string]string{}
	for node := range rackOf {
		job := fmt.Sprint("train-w-", len(nodeOf))
		nodeOf[job] = node
		cluster.Kubectl(t, "", "label", "node", node, "alpha.jobset.sigs.k8s.io/namespaced-job="+namespace+"_"+job)
		cluster.Kubectl(t, "", "taint", "node", node, "alpha.jobset.sigs.k8s.io/no-schedule=true:NoSchedule")
		t.Cleanup(func() {
			cluster.Kubectl(t, "", "label", "node", node, "alpha.jobset.sigs.k8s.io/namespaced-job-")
			cluster.Kubectl(t, "", "taint", "node", node, "alpha.jobset.sigs.k8s.io/no-schedule-")
		})
	}
	cluster.CreateJobSet(t, namespace, exclusive("train", 2, 2, map[string]string{exclusiveTopology: rackLabel, nodeSelectorStrategy: "true"}))
	for _, pod := range cluster.WaitForJobSetPods(t, namespace, "train", 4, time.Minute, "running", harness.IsRunning) {
		if want := nodeOf[pod.Labels["batch.kubernetes.io/job-name"]]; pod.Spec.NodeName != want {
			t.Errorf("%s is on %s, not on %s", pod.Name, pod.Spec.NodeName, want)
		}
	}
}
