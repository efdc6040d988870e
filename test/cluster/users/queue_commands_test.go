package users

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// kubectl muster stop, resume and create.

func TestKubectlMusterStopsAndResumesAQueue(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	queues := cluster.Queues(t)
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, `{"spec":{"stopPolicy":"None"}}`)
	cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("run", 1))
	cluster.WaitForWorkload(t, queues.Namespace, "run", "is admitted", harness.HasCondition("Admitted", "True", ""))

	out, code, complaint := harness.RunMuster(cluster.Kubeconfig, "stop", "clusterqueue", queues.ClusterQueue, "--dry-run")
	if code != 0 || !strings.Contains(out, "stopped (dry run)\n  1 workload is evicted:\n    "+queues.Namespace+"/job-run-") {
		t.Errorf("the preview: exit code %d, %s%s", code, out, complaint)
	}
	cluster.WaitForWorkload(t, queues.Namespace, "run", "is still admitted", harness.HasCondition("Admitted", "True", ""))
	for _, step := range []struct {
		arguments []string
		status    string
	}{
		{[]string{"stop", "clusterqueue", queues.ClusterQueue}, "False"},
		{[]string{"resume", "clusterqueue", queues.ClusterQueue}, "True"},
		{[]string{"stop", "localqueue", harness.LocalQueueName, "-n", queues.Namespace}, "False"},
		{[]string{"resume", "lq", harness.LocalQueueName, "-n", queues.Namespace}, "True"},
	} {
		if out, code, complaint := harness.RunMuster(cluster.Kubeconfig, step.arguments...); code != 0 {
			t.Fatalf("%v: exit code %d, %s%s", step.arguments, code, out, complaint)
		}
		cluster.WaitForWorkload(t, queues.Namespace, "run", fmt.Sprintf("Admitted=%s after %v", step.status, step.arguments),
			harness.HasCondition("Admitted", step.status, ""))
	}
	if _, code, complaint := harness.RunMuster(cluster.Kubeconfig, "stop", "clusterqueue", "there-is-none", "--dry-run"); code != 1 || !strings.Contains(complaint, "not found") {
		t.Errorf("a queue that is not there: exit code %d, %s", code, complaint)
	}
	if _, code, complaint := harness.RunMuster(cluster.Kubeconfig, "stop", "clusterqueue", queues.ClusterQueue, "--as", "nobody-at-all"); code != 1 || !strings.Contains(complaint, "nobody-at-all") {
		t.Errorf("in the name of somebody without rights: exit code %d, %s", code, complaint)
	}
}

func TestKubectlMusterCreatesQueues(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t)
	namespace := cluster.Namespace(t, nil)
	name := namespace + "-made"
	t.Cleanup(func() {
		_, _ = cluster.TryKubectl("", "delete", "localqueue", name, "-n", namespace, "--wait=false")
		_, _ = cluster.TryKubectl("", "delete", "clusterqueue", name, "--wait=false")
		_, _ = cluster.TryKubectl("", "delete", "resourceflavor", name, "--wait=false")
	})
	commands := [][]string{
		{"create", "flavor", name, "--node-labels", "pool=spot", "--node-taints", "spot=yes:NoSchedule", "--tolerations", "spot=yes:NoSchedule"},
		{"create", "clusterqueue", name, "--cohort", name, "--nominal-quota", name + ":cpu=4;memory=8Gi", "--borrowing-limit", name + ":cpu=1;memory=1Gi", "--queuing-strategy", "StrictFIFO"},
		{"create", "localqueue", name, "-c", name, "-n", namespace},
	}
	for _, dryRun := range []string{"--dry-run=client", "--dry-run=server", "--dry-run=none"} {
		for i, command := range commands {
			// A LocalQueue is checked against the ClusterQueue, which a dry run has not made.
			if i == 2 && dryRun == "--dry-run=server" {
				continue
			}
			out, code, complaint := harness.RunMuster(cluster.Kubeconfig, append(command, dryRun)...)
			if code != 0 || !strings.Contains(out, name+" created") {
				t.Fatalf("%v %s: exit code %d, %s%s", command, dryRun, code, out, complaint)
			}
		}
		_, err := cluster.TryKubectl("", "get", "clusterqueue", name)
		if exists := err == nil; exists != (dryRun == "--dry-run=none") {
			t.Errorf("%s: the ClusterQueue exists: %v", dryRun, exists)
		}
	}
	if _, code, complaint := harness.RunMuster(cluster.Kubeconfig, "create", "localqueue", "lost", "-c", "there-is-none", "-n", namespace); code != 1 || !strings.Contains(complaint, "--ignore-unknown-cq") {
		t.Errorf("a LocalQueue of no ClusterQueue: exit code %d, %s", code, complaint)
	}
	harness.Eventually(t, 20*time.Second, "the queue is active and listed", func() error {
		out, code, complaint := harness.RunMuster(cluster.Kubeconfig, "get", "queues", name, "-n", namespace)
		if code != 0 || !strings.Contains(out, "Active") {
			return fmt.Errorf("exit code %d, %s%s", code, out, complaint)
		}
		return nil
	})
}
