package queues

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// labelled is what a series of metrics must bear, among other labels.
type labelled map[string]string

// metricValue is the sum of all series of a family that bear these labels.
func metricValue(t *testing.T, text, family string, labels labelled) (sum float64, found bool) {
	t.Helper()
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		name, list, _ := strings.Cut(series, "{")
		if name != family {
			continue
		}
		bears := true
		for label, wanted := range labels {
			bears = bears && strings.Contains(","+list+",", fmt.Sprintf(",%s=%q,", label, wanted))
		}
		if !bears {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		harness.Must(t, err)
		sum, found = sum+number, true
	}
	return sum, found
}

type metricRow struct {
	family string
	labels labelled
	value  float64
}

func awaitMetrics(t *testing.T, muster *harness.Muster, when string, rows []metricRow) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, "metrics "+when, func() error {
		code, text := harness.MetricsAnswer(t, muster, "")
		if code != 200 {
			return fmt.Errorf("the answer is %d: %s", code, text)
		}
		for _, row := range rows {
			if value, found := metricValue(t, text, row.family, row.labels); !found || value != row.value {
				return fmt.Errorf("%s%v is %v (found: %v) and should be %v", row.family, row.labels, value, found, row.value)
			}
		}
		return nil
	})
}

// The figures of Jobs that wait, run, are evicted and finish, as a dashboard made for Kueue
// reads them; and nothing is left of a queue that is gone.
func TestQueueMetricsFollowJobsThroughTheirQueues(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	config := harness.WriteFile(t, "config.yaml", `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
metrics: {enableClusterQueueResources: true}
`)
	muster := harness.StartQueueMuster(t, "--config", config, "--no-metrics-authorization")
	queues := cluster.Queues(t)
	name, namespace := queues.ClusterQueue, queues.Namespace
	clusterQueues := cluster.Dynamic.Resource(harness.ClusterQueues)
	// Room for two pods.
	_, err := clusterQueues.Patch(harness.Context(t), name, types.JSONPatchType, []byte(`[
		{"op": "replace", "path": "/spec/stopPolicy", "value": "None"},
		{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "20m"},
		{"op": "replace", "path": "/spec/resourceGroups/0/flavors/1/resources/0/nominalQuota", "value": "0"}]`),
		metav1.PatchOptions{})
	harness.Must(t, err)
	ofQueue := func(pairs ...string) labelled {
		labels := labelled{"cluster_queue": name, "replica_role": "leader"}
		for i := 0; i+1 < len(pairs); i += 2 {
			labels[pairs[i]] = pairs[i+1]
		}
		return labels
	}
	ofLocalQueue := func(pairs ...string) labelled {
		labels := ofQueue(append(pairs, "name", harness.LocalQueueName, "namespace", namespace)...)
		delete(labels, "cluster_queue")
		return labels
	}

	cluster.CreateJob(t, namespace, harness.QueuedJob("first", 2))
	awaitActive(t, cluster, namespace, "first", 2, "hollow")
	cluster.CreateJob(t, namespace, harness.QueuedJob("second", 1))
	cpu := []string{"flavor", queues.Hollow, "resource", "cpu"}
	awaitMetrics(t, muster, "while one Job runs and one waits", []metricRow{
		{"kueue_quota_reserved_workloads_total", ofQueue("priority_class", ""), 1},
		{"kueue_admitted_workloads_total", ofQueue("priority_class", ""), 1},
		{"kueue_admission_wait_time_seconds_count", ofQueue(), 1},
		{"kueue_ready_wait_time_seconds_count", ofQueue(), 1},
		{"kueue_admitted_until_ready_wait_time_seconds_count", ofQueue(), 1},
		{"kueue_local_queue_admitted_workloads_total", ofLocalQueue(), 1},
		{"kueue_reserving_active_workloads", ofQueue(), 1},
		{"kueue_admitted_active_workloads", ofQueue(), 1},
		{"kueue_pending_workloads", ofQueue("status", "active"), 0},
		{"kueue_pending_workloads", ofQueue("status", "inadmissible"), 1},
		{"kueue_local_queue_pending_workloads", ofLocalQueue("status", "inadmissible"), 1},
		{"kueue_unadmitted_workloads", ofQueue("reason", "NoReservation", "underlying_cause", "WaitingForQuota"), 1},
		{"kueue_cluster_queue_status", ofQueue("status", "active"), 1},
		{"kueue_local_queue_status", ofLocalQueue("active", "True"), 1},
		{"kueue_cluster_queue_nominal_quota", ofQueue(cpu...), 0.02},
		{"kueue_cluster_queue_resource_usage", ofQueue(cpu...), 0.02},
		{"kueue_cluster_queue_resource_pending", ofQueue("resource", "cpu"), 0.01},
		{"kueue_local_queue_resource_usage", ofLocalQueue(cpu...), 0.02},
	})
	_, text := harness.MetricsAnswer(t, muster, "")
	for _, result := range []string{"success", "inadmissible"} {
		attempts, _ := metricValue(t, text, "kueue_admission_attempts_total", labelled{"result": result})
		timed, _ := metricValue(t, text, "kueue_admission_attempt_duration_seconds_count", labelled{"result": result})
		if attempts < 1 || attempts != timed {
			t.Errorf("%v attempts were counted as %s, and %v timed", attempts, result, timed)
		}
	}

	cluster.SetActive(t, cluster.WaitForWorkload(t, namespace, "first", "is there"), false)
	awaitActive(t, cluster, namespace, "second", 1, "hollow")
	deactivated := []string{"reason", "Deactivated", "underlying_cause", ""}
	awaitMetrics(t, muster, "after an eviction", []metricRow{
		{"kueue_evicted_workloads_total", ofQueue(deactivated...), 1},
		{"kueue_evicted_workloads_once_total", ofQueue(deactivated...), 1},
		{"kueue_local_queue_evicted_workloads_total", ofLocalQueue(deactivated...), 1},
		{"kueue_pods_ready_to_evicted_time_seconds_count", ofQueue(deactivated...), 1},
		{"kueue_workload_eviction_latency_seconds_count", ofQueue("reason", "Deactivated"), 1},
		{"kueue_admitted_workloads_total", ofQueue(), 2},
		{"kueue_pending_workloads", ofQueue("status", "inadmissible"), 0},
		{"kueue_unadmitted_workloads", ofQueue("underlying_cause", "Deactivated"), 1},
	})

	cluster.EndHollowPods(t, namespace, 0)
	awaitMetrics(t, muster, "after the end of a Job", []metricRow{
		{"kueue_finished_workloads_total", ofQueue("priority_class", ""), 1},
		{"kueue_local_queue_finished_workloads_total", ofLocalQueue(), 1},
		{"kueue_execution_time_seconds_count", ofQueue(), 1},
		{"kueue_finished_workloads", ofQueue(), 1},
		{"kueue_admitted_active_workloads", ofQueue(), 0},
		{"kueue_cluster_queue_resource_usage", ofQueue(cpu...), 0},
	})

	local := cluster.Dynamic.Resource(harness.LocalQueues).Namespace(namespace)
	harness.Must(t, local.Delete(harness.Context(t), harness.LocalQueueName, metav1.DeleteOptions{}))
	harness.Must(t, clusterQueues.Delete(harness.Context(t), name, metav1.DeleteOptions{}))
	harness.Eventually(t, 30*time.Second, "nothing is left of queues that are gone", func() error {
		_, text := harness.MetricsAnswer(t, muster, "")
		for line := range strings.Lines(text) {
			// The namespace is there still.
			if strings.HasPrefix(line, "muster_largest_namespace_bytes{") {
				continue
			}
			if strings.Contains(line, strconv.Quote(name)) {
				return fmt.Errorf("%s", line)
			}
		}
		return nil
	})
}

// Chargeback over a change of leader by SIGKILL, in one Prometheus' sum: no second twice, and none lost but those without a leader.
func TestResourceSecondsAreCountedOnceAlthoughTheLeaderIsKilled(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	lease := 2 * time.Second
	replicas := harness.StartFleet(t, cluster, func(name string) string { return harness.QuickLease(t, name) }, "--no-metrics-authorization")
	t.Run("they count", func(t *testing.T) {
		teams := cluster.Teams(t)
		teams.Flavor("f")
		teams.Queue("q", teams.Cpus("f=4"))
		teams.Job("q", "a", 1, "2")
		teams.Admitted("a")
		admitted := time.Now()
		labels := labelled{"cluster_queue": teams.Name("q"), "namespace": teams.Namespace, "flavor": teams.Name("f"), "resource": "cpu"}
		counted := func() (sum float64) {
			for replica := range replicas.Replicas {
				if code, text := harness.MetricsAnswer(t, replica, ""); code == 200 {
					value, _ := metricValue(t, text, "muster_resource_seconds_total", labels)
					sum += value
				}
			}
			return sum
		}
		reaches := func(wanted float64) {
			harness.Eventually(t, 30*time.Second, fmt.Sprint("the sum reaches ", wanted), func() error {
				if sum := counted(); sum < wanted {
					return fmt.Errorf("it is %v", sum)
				}
				return nil
			})
		}
		reaches(10) // 5 s of 2 cores
		before := counted()
		killed := time.Now()
		replicas.KillLeader()
		reaches(4) // of the successor alone
		// The successor's seconds are those since the kill, and not those since the admission.
		if sum, most := counted(), 2*time.Since(killed).Seconds(); sum > most {
			t.Errorf("the successor has counted %v, at most %v since the kill", sum, most)
		}
		total, passed := before+counted(), time.Since(admitted).Seconds()
		if lost := 2*passed - total; lost < -0.2 || lost > 2*(lease+10*time.Second).Seconds() {
			t.Errorf("%v core seconds were counted in %v s of 2 cores", total, passed)
		}
	})
}
