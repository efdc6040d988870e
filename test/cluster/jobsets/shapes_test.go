package jobsets

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// The shapes of JobSet's example manifests, in our own words: which features come together, not what they say.
// Their images, commands and devices are replaced by pods that end as the example wants them to.

type shape struct {
	name string
	jobs []harness.ReplicatedJob
	spec map[string]any    // more of the spec
	says map[string]string // annotations
	ends string            // type and reason of the condition at the end; "made": Jobs that no node can take; "refused"
}

const (
	completes = "Completed/AllJobsCompleted"
	reached   = "Failed/ReachedMaxRestarts"
)

var (
	soon  = harness.HollowPod(1, 0)
	fails = harness.HollowPod(0, 1)
	stays = harness.HollowPod(-1, 0)
)

func role(name string, replicas, pods int64, template corev1.PodTemplateSpec, extra ...map[string]any) harness.ReplicatedJob {
	job := harness.ReplicatedJob{Name: name, Replicas: replicas, Pods: pods, Template: template}
	if len(extra) > 0 {
		job.Extra = extra[0]
	}
	return job
}

func after(status string, names ...string) map[string]any {
	var list []any
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "status": status})
	}
	return map[string]any{"dependsOn": list}
}

func failurePolicyOf(maxRestarts int64, rules ...any) map[string]any {
	policy := map[string]any{"maxRestarts": maxRestarts}
	if len(rules) > 0 {
		policy["rules"] = rules
	}
	return map[string]any{"failurePolicy": policy}
}

func when(action string, more map[string]any) map[string]any {
	rule := map[string]any{"action": action}
	for key, value := range more {
		rule[key] = value
	}
	return rule
}

func in(group string) map[string]any { return map[string]any{"groupName": group} }

func withPort(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	template = *template.DeepCopy()
	main := &template.Spec.Containers[0]
	main.Ports = []corev1.ContainerPort{{ContainerPort: 3389}}
	main.Env = []corev1.EnvVar{{Name: "MASTER_ADDR", Value: "train-workers-0-0.train"}}
	return template
}

func shapes() []shape {
	leader := map[string]any{"targetReplicatedJobs": []any{"leader"}}
	reason := map[string]any{"onJobFailureReasons": []any{"PodFailurePolicy"}}
	network := func(more map[string]any) map[string]any {
		more["enableDNSHostnames"] = true
		return map[string]any{"network": more}
	}
	success := func(operator string, targets ...any) map[string]any {
		return map[string]any{"successPolicy": map[string]any{"operator": operator, "targetReplicatedJobs": targets}}
	}
	hostname := map[string]string{exclusiveTopology: "kubernetes.io/hostname"}
	claims := map[string]any{"volumeClaimPolicies": []any{harness.ClaimPolicy("models", "Delete", nil)}}
	restricted := *stays.DeepCopy()
	restricted.Spec.NodeSelector = map[string]string{"gpu.example/none": "yes"}
	group := []harness.ReplicatedJob{role("leader", 1, 1, soon), role("workers", 2, 2, soon)}
	return []shape{
		{name: "depends-on", jobs: []harness.ReplicatedJob{role("leader", 1, 1, stays), role("workers", 1, 2, soon, after("Ready", "leader"))}, spec: success("All", "workers"), ends: completes},
		{name: "depends-on-several", jobs: []harness.ReplicatedJob{role("init", 1, 1, soon), role("launcher", 1, 1, soon, after("Complete", "init")), role("node", 1, 2, soon, after("Complete", "init", "launcher"))}, ends: completes},
		{name: "fail-jobset", jobs: []harness.ReplicatedJob{role("leader", 1, 2, fails), role("workers", 1, 2, stays)}, spec: failurePolicyOf(3, when("FailJobSet", leader)), ends: "Failed/FailJobSetFailurePolicyAction"},
		{name: "host-maintenance", jobs: []harness.ReplicatedJob{role("worker", 2, 1, soon)}, spec: failurePolicyOf(3, when("RestartJobSetAndIgnoreMaxRestarts", reason)), ends: completes},
		{name: "on-reasons-backoff", jobs: []harness.ReplicatedJob{role("leader", 1, 1, fails)}, spec: failurePolicyOf(1, when("FailJobSet", map[string]any{"onJobFailureReasons": []any{"BackoffLimitExceeded"}})), ends: "Failed/FailJobSetFailurePolicyAction"},
		{name: "on-reasons-pod-policy", jobs: []harness.ReplicatedJob{role("leader", 1, 1, fails)}, spec: failurePolicyOf(1, when("RestartJobSetAndIgnoreMaxRestarts", reason)), ends: reached},
		{name: "restart-job", jobs: []harness.ReplicatedJob{role("leader", 1, 1, fails), role("workers", 2, 1, stays)}, spec: failurePolicyOf(1, when("RestartJob", leader)), ends: reached},
		{name: "restart-job-ignoring", jobs: []harness.ReplicatedJob{role("leader", 1, 1, soon), role("workers", 2, 1, soon)}, spec: failurePolicyOf(1, when("RestartJobAndIgnoreMaxRestarts", leader)), ends: completes},
		{name: "restart-jobset", jobs: []harness.ReplicatedJob{role("leader", 1, 2, fails), role("workers", 1, 2, stays)}, spec: failurePolicyOf(1, when("RestartJobSet", leader)), ends: reached},
		{name: "restart-jobset-ignoring", jobs: []harness.ReplicatedJob{role("leader", 1, 1, soon), role("workers", 1, 2, soon)}, spec: failurePolicyOf(1, when("RestartJobSetAndIgnoreMaxRestarts", leader)), ends: completes},
		{name: "max-restarts", jobs: []harness.ReplicatedJob{role("leader", 1, 1, fails), role("workers", 1, 2, stays)}, spec: failurePolicyOf(2), ends: reached},
		{name: "coordinator", jobs: []harness.ReplicatedJob{role("leader", 1, 1, soon), role("workers", 1, 2, soon)}, spec: map[string]any{"coordinator": map[string]any{"replicatedJob": "leader", "jobIndex": int64(0), "podIndex": int64(0)}}, ends: completes},
		{name: "driver-decides", jobs: []harness.ReplicatedJob{role("driver", 1, 1, soon), role("workers", 2, 2, stays)}, spec: success("All", "driver"), ends: completes},
		{name: "any-decides", jobs: []harness.ReplicatedJob{role("driver", 1, 1, soon), role("workers", 1, 2, stays)}, spec: success("Any"), ends: completes},
		{name: "exclusive", jobs: []harness.ReplicatedJob{role("workers", 3, 2, soon)}, says: hostname, ends: completes},
		{name: "groups", jobs: []harness.ReplicatedJob{role("leader", 1, 1, soon, in("a")), role("workers", 2, 1, soon, in("a")), role("other", 1, 1, soon, in("b"))}, ends: completes},
		{name: "network", jobs: []harness.ReplicatedJob{role("workers", 1, 2, withPort(soon))}, spec: network(map[string]any{"subdomain": "some-subdomain"}), ends: completes},
		{name: "network-ready-only", jobs: []harness.ReplicatedJob{role("leader", 1, 1, soon), role("workers", 1, 2, soon)}, spec: network(map[string]any{"publishNotReadyAddresses": false}), ends: completes},
		{name: "parallel", jobs: []harness.ReplicatedJob{role("workers", 2, 4, soon), role("driver", 1, 1, soon)}, ends: completes},
		{name: "ttl", jobs: []harness.ReplicatedJob{role("workers", 1, 2, soon)}, spec: map[string]any{"ttlSecondsAfterFinished": int64(3600)}, ends: completes},
		{name: "in-order", jobs: []harness.ReplicatedJob{role("driver", 1, 1, stays), role("workers", 1, 2, soon)}, spec: merged(map[string]any{"startupPolicy": map[string]any{"startupPolicyOrder": "InOrder"}}, success("All", "workers")), ends: completes},
		{name: "torch-cpu", jobs: []harness.ReplicatedJob{role("workers", 1, 4, withPort(soon))}, ends: completes},
		{name: "torch-gpu", jobs: []harness.ReplicatedJob{role("workers", 1, 2, restricted)}, spec: failurePolicyOf(4), ends: "made"},
		{name: "torch-large", jobs: []harness.ReplicatedJob{role("workers", 1, 4, withPort(soon))}, spec: network(map[string]any{}), ends: completes},
		{name: "tensorflow", jobs: []harness.ReplicatedJob{role("tensorflow", 1, 1, soon)}, ends: completes},
		{name: "slices", jobs: []harness.ReplicatedJob{role("slice-job", 2, 2, soon)}, spec: failurePolicyOf(4), says: hostname, ends: completes},
		{name: "claim", jobs: []harness.ReplicatedJob{role("initializer", 1, 1, harness.Mounting(stays, "models")), role("node", 1, 2, harness.Mounting(stays, "models"), after("Complete", "initializer"))}, spec: claims, ends: "made"},
		{name: "pod-group", jobs: group, ends: completes},
		{name: "priorities", jobs: []harness.ReplicatedJob{role("workers", 2, 1, withPriority(soon))}, ends: completes},
		{name: "in-place-main", jobs: []harness.ReplicatedJob{role("w", 1, 2, soon)}, spec: inPlace(), ends: completes},
		{name: "in-place-sidecar", jobs: []harness.ReplicatedJob{role("w", 2, 2, soon)}, spec: inPlace(), ends: completes},
	}
}

func merged(maps ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, each := range maps {
		for key, value := range each {
			all[key] = value
		}
	}
	return all
}

func withPriority(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	template = *template.DeepCopy()
	template.Spec.PriorityClassName = "system-cluster-critical"
	return template
}

func inPlace() map[string]any {
	return map[string]any{"failurePolicy": map[string]any{"maxRestarts": int64(3), "restartStrategy": "InPlaceRestart"}}
}

func (s shape) jobSet() *unstructured.Unstructured {
	jobSet := harness.JobSetOf(s.name, s.jobs...)
	jobSet.SetAnnotations(s.says)
	for key, value := range s.spec {
		harness.Set(jobSet, value, "spec", key)
	}
	if strings.HasPrefix(s.name, "in-place-") {
		neverFails(jobSet)
	}
	return jobSet
}

func TestShapesOfJobSetsExamplesRun(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartMuster(t, "--jobset-controller", "native", "--jobset-feature-gates", "RestartJob=true,InPlaceRestart=true")
	all := shapes()
	if len(all) != 31 {
		t.Fatalf("%d shapes", len(all))
	}
	namespace := cluster.Namespace(t, nil)
	for _, each := range all {
		cluster.CreateJobSet(t, namespace, each.jobSet())
	}
	for _, each := range all {
		switch each.ends {
		case "made":
			cluster.WaitForJobSet(t, namespace, each.name, time.Minute, "has its Jobs", func(live *unstructured.Unstructured) error {
				first := firstOf(harness.ObjectsAt(live.Object, "status", "replicatedJobsStatus"))
				if first["active"] != int64(1) {
					return fmt.Errorf("status %v", live.Object["status"])
				}
				return nil
			})
		default:
			kind, reason, _ := strings.Cut(each.ends, "/")
			cluster.WaitForJobSet(t, namespace, each.name, 2*time.Minute, each.ends, harness.HasCondition(kind, "True", reason))
		}
	}
}
