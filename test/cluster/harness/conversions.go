package harness

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Versions of the queue API. NewVersion is the one that is stored.
const (
	OldVersion = "v1beta1"
	NewVersion = "v1beta2"
)

// InVersion is a kind of the queue API as seen in one of its versions.
func InVersion(cluster *Cluster, version, resource, namespace string) dynamic.ResourceInterface {
	all := cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: version, Resource: resource})
	if namespace == "" {
		return all
	}
	return all.Namespace(namespace)
}

// QueueObjectIn is an object of the queue API in one of its versions.
func QueueObjectIn(version, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/" + version,
		"kind":       kind,
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}}
}

// WorkloadObject is one of v1beta1, with what that version spells in its own way.
func WorkloadObject(name string) *unstructured.Unstructured {
	return QueueObjectIn(OldVersion, "Workload", name, map[string]any{
		"queueName": "q", "priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
		"priority": int64(100),
		"podSets": []any{map[string]any{"name": "main", "count": int64(1), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never",
			"containers": []any{map[string]any{"name": "c", "image": "busybox",
				"resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}},
		}}}},
	})
}

// StartConverter starts a muster whose metrics tell what it converted.
func StartConverter(t *testing.T, flags ...string) *Muster {
	t.Helper()
	return StartMuster(t, append(flags, "--no-metrics-authorization")...)
}

var countedReviews = regexp.MustCompile(`muster_webhook_requests_total\{([^}]*)\} (\d+)`)

// ReviewsWith counts the reviews so far whose labels, as they are printed, are wanted.
func ReviewsWith(t *testing.T, muster *Muster, wanted func(labels string) bool) (total int) {
	t.Helper()
	_, text := MetricsAnswer(t, muster, "")
	for _, match := range countedReviews.FindAllStringSubmatch(text, -1) {
		if !wanted(match[1]) {
			continue
		}
		count, err := strconv.Atoi(match[2])
		Must(t, err)
		total += count
	}
	return total
}

// IsConversion is whether labels of a review are those of a conversion.
func IsConversion(labels string) bool { return strings.Contains(labels, `outcome="converted"`) }

// Conversions counts the reviews that muster has converted so far.
func Conversions(t *testing.T, muster *Muster) int {
	t.Helper()
	return ReviewsWith(t, muster, IsConversion)
}

// StoreVersion makes a version of a kind the one that is stored. Both are served then, as by a Kueue before 0.20.
func StoreVersion(t *testing.T, cluster *Cluster, resource, version string) {
	t.Helper()
	ctx, name := context.Background(), resource+".kueue.x-k8s.io"
	found, err := cluster.Dynamic.Resource(Definitions).Get(ctx, name, metav1.GetOptions{})
	Must(t, err)
	versions, _, err := unstructured.NestedSlice(found.Object, "spec", "versions")
	Must(t, err)
	var patch []string
	for i, each := range versions {
		stored := each.(map[string]any)["name"] == version
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/storage","value":%t}`, i, stored))
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/served","value":true}`, i))
	}
	_, err = cluster.Dynamic.Resource(Definitions).Patch(ctx, name, types.JSONPatchType,
		[]byte("["+strings.Join(patch, ",")+"]"), metav1.PatchOptions{})
	Must(t, err)
}

// AwaitStoredVersion is StoreVersion, and waits until the API server stores it: then only the other one needs
// a conversion, and forWebhooks those that the webhooks ask for. At the test's end v1beta2 is stored again.
func AwaitStoredVersion(t *testing.T, cluster *Cluster, muster *Muster, resource, version string,
	forWebhooks int, create func(version, name string, options metav1.CreateOptions) error) {
	t.Helper()
	t.Cleanup(func() { StoreVersion(t, cluster, resource, NewVersion) })
	StoreVersion(t, cluster, resource, version)
	Eventually(t, time.Minute, version+" of "+resource+" is what is stored", func() error {
		before := Conversions(t, muster)
		// A dry run reaches no watch, which would cause further conversions.
		if err := create(version, "probe", DryRun); err != nil {
			return err
		}
		// The webhooks see the new version: what is written in the old one is converted for the mutating and for
		// the validating ones.
		if after := Conversions(t, muster); after > before+forWebhooks {
			return fmt.Errorf("storing an object took %d conversions", after-before)
		}
		return nil
	})
}

// RemoveOldVersions removes what is stored in the old version at once, while there is a muster to
// convert it: a namespace that is deleted later would wait for one for ever.
func RemoveOldVersions(t *testing.T, cluster *Cluster, resource, namespace string) {
	t.Helper()
	Must(t, InVersion(cluster, NewVersion, resource, namespace).DeleteCollection(
		context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}
