package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// StartAdmitter starts muster for a load, as a service account, at the client rate of
// MUSTER_BENCH_QPS or without a limit, with the further flags of MUSTER_BENCH_FLAGS. One that
// is idle serves the webhooks and watches, but another holds its lease, so that it decides and
// writes nothing.
func StartAdmitter(t *testing.T, cluster *Cluster, idle bool) *Muster {
	t.Helper()
	rate := "{qps: -1, burst: 1}"
	if qps, _ := strconv.Atoi(os.Getenv("MUSTER_BENCH_QPS")); qps > 0 {
		rate = fmt.Sprintf("{qps: %d, burst: %d}", qps, 2*qps)
	}
	// In this version no Workload waits for ready pods unless it is asked for: the Workloads of a
	// shape have none, and a Job costs two writes less.
	config := strings.Replace(NamesOfTheManifests, "v1beta2", "v1beta1", 1) + "clientConnection: " + rate + "\n"
	if os.Getenv("MUSTER_BENCH_PODS_READY") == "true" {
		config += "waitForPodsReady: {enable: true, blockAdmission: false, timeout: 5m}\n"
	}
	if idle {
		cluster.EnsureMusterNamespace(t)
		config += "leaderElection: {leaderElect: true, resourceName: " + NeverFreeLease(t, cluster) + "}\n"
	}
	path := WriteFile(t, "config.yaml", config)
	ApplyRights(t, cluster, path)
	flags := []string{"--jobset-controller", "native", "--config", path, "--kubeconfig", AsServiceAccount(t, cluster, "muster-system", "muster")}
	flags = append(flags, strings.Fields(os.Getenv("MUSTER_BENCH_FLAGS"))...)
	if WithoutWebhooks() {
		return LaunchMuster(t, flags...)
	}
	return StartMuster(t, flags...)
}

// WithoutWebhooks is how Kueue's own runner measures: with the scheduler and its reconcilers only.
func WithoutWebhooks() bool { return os.Getenv("MUSTER_BENCH_WEBHOOKS") == "false" }

// JobsWay is what stands between a Job and its pods.
type JobsWay string

const (
	// PlainJobs have no queue, and no muster is installed: the floor.
	PlainJobs JobsWay = "plain"
	// WebhooksOnly: muster answers reviews and decides nothing; the benchmark resumes each Job
	// in muster's name, at once.
	WebhooksOnly JobsWay = "webhooks only"
	// NotAdmitted: the queue is stopped, so each Job gets a Workload that says why it waits, and nothing runs.
	NotAdmitted JobsWay = "muster, no admission"
	// AllOfMuster: the Jobs are queued, admitted and started.
	AllOfMuster JobsWay = "muster"
)

// BenchJobName is the name of a BenchJob.
func BenchJobName(number int) string { return fmt.Sprint("bench-", number) }

// BenchJob runs one pod for a second, on a hollow node.
func BenchJob(number int, way JobsWay) *batchv1.Job {
	job := HollowJob(BenchJobName(number), 1)
	if way != PlainJobs {
		job.Labels = Queue(LocalQueueName)
	}
	job.Spec.Template.Annotations = map[string]string{HollowRunSeconds: "1"}
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
	return job
}

// MakeWorkloadsLean installs the policy for this test.
func MakeWorkloadsLean(t *testing.T, cluster *Cluster) {
	t.Helper()
	cluster.EnsureMusterNamespace(t)
	policy := Manifests(t, "--only=lean-workloads")
	cluster.Kubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, policy, "delete", "--ignore-not-found", "-f", "-") })
}
