package cluster

import (
	"context"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// deploymentFlags are the flags of `muster serve` in the Deployment that muster ships,
// without those that name files of the pod.
func deploymentFlags(t *testing.T) (flags []string) {
	t.Helper()
	for _, object := range harness.Documents(t, harness.Manifests(t, "--only=deployment")) {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		arguments, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		for _, argument := range arguments[1:] {
			if !strings.HasPrefix(argument, "--config") {
				flags = append(flags, argument)
			}
		}
	}
	return flags
}

// behind starts replicas behind one address, which the API server calls.
func behind(t *testing.T, cluster *harness.Cluster, count int, flags ...string) (*harness.Balancer, []*harness.Muster) {
	t.Helper()
	service := cluster.Balancer(t)
	var replicas []*harness.Muster
	for range count {
		replicas = append(replicas, launchBehind(t, service, flags...))
	}
	replicas[0].Register(t)
	return service, replicas
}

func launchBehind(t *testing.T, service *harness.Balancer, flags ...string) *harness.Muster {
	t.Helper()
	replica := harness.LaunchMuster(t, append([]string{"--webhook-url", service.URL()}, flags...)...)
	service.Add(replica)
	service.AwaitReady(t, replica)
	return replica
}

// Replicas are replaced as a rolling update of the shipped Deployment does it (one more, then
// one less), while Jobs are created: none is refused. The endpoints follow a pod's deletion a
// second late, as they do in a cluster; until then new connections come to a replica that has
// got SIGTERM.
func TestRollingUpdateRefusesNoJob(t *testing.T) {
	replacements, perSecond := harness.Size(3, 40), harness.Size(50, 200)
	cluster := harness.Connect(t)
	flags := deploymentFlags(t)
	service, replicas := behind(t, cluster, 2, flags...)
	namespace := cluster.Namespace(t, nil)
	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()

	var outcome harness.Outcome
	var load sync.WaitGroup
	load.Go(func() { outcome = harness.OpenLoad(ctx, perSecond, -1, createQueued(ctx, cluster, namespace)) })
	var deleted []*harness.Muster
	for range replacements {
		replicas = append(replicas, launchBehind(t, service, flags...))
		service.Delete(t, replicas[0])
		deleted, replicas = append(deleted, replicas[0]), replicas[1:]
	}
	for _, replica := range deleted {
		replica.WaitEnded(t)
	}
	cancel()
	load.Wait()
	harness.Figure(t, "%d replicas replaced at %d creates/s: %s", replacements, perSecond, outcome)
	if outcome.Failed > 0 {
		t.Errorf("%d creates failed: %s", outcome.Failed, outcome)
	}
}
