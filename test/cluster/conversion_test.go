package cluster

import (
	"context"
	"encoding/base64"
	"errors"
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

	"muster.batch/test/cluster/harness"
)

const (
	oldVersion = "v1beta1"
	newVersion = "v1beta2"
)

// inVersion is a kind of the queue API as seen in one of its versions.
func inVersion(cluster *harness.Cluster, version, resource, namespace string) dynamic.ResourceInterface {
	all := cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: version, Resource: resource})
	if namespace == "" {
		return all
	}
	return all.Namespace(namespace)
}

func queueObject(version, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/" + version,
		"kind":       kind,
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}}
}

// workloadObject is one of v1beta1, with what that version spells in its own way.
func workloadObject(name string) *unstructured.Unstructured {
	return queueObject(oldVersion, "Workload", name, map[string]any{
		"queueName": "q", "priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
		"priority": int64(100),
		"podSets": []any{map[string]any{"name": "main", "count": int64(1), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never",
			"containers": []any{map[string]any{"name": "c", "image": "busybox",
				"resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}},
		}}}},
	})
}

// converterOf is how the API server reaches the converter of a kind; an error if it
// cannot trust it.
func converterOf(cluster *harness.Cluster, definition string) (map[string]string, error) {
	found, err := cluster.Dynamic.Resource(harness.Definitions).Get(context.Background(), definition, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config, _, err := unstructured.NestedStringMap(found.Object, "spec", "conversion", "webhook", "clientConfig")
	if err == nil && config["caBundle"] == "" {
		err = errors.New(definition + " has no caBundle")
	}
	return config, err
}

// startConverter starts a muster whose metrics tell what it converted.
func startConverter(t *testing.T, flags ...string) *harness.Muster {
	t.Helper()
	return harness.StartMuster(t, append(flags, "--no-metrics-authorization")...)
}

var countedReviews = regexp.MustCompile(`muster_webhook_requests_total\{([^}]*)\} (\d+)`)

// reviewsWith counts the reviews so far whose labels, as they are printed, are wanted.
func reviewsWith(t *testing.T, muster *harness.Muster, wanted func(labels string) bool) (total int) {
	t.Helper()
	_, text := metricsAnswer(t, muster, "")
	for _, match := range countedReviews.FindAllStringSubmatch(text, -1) {
		if !wanted(match[1]) {
			continue
		}
		count, err := strconv.Atoi(match[2])
		must(t, err)
		total += count
	}
	return total
}

func isConversion(labels string) bool { return strings.Contains(labels, `outcome="converted"`) }

// conversions counts the reviews that muster has converted so far.
func conversions(t *testing.T, muster *harness.Muster) int {
	t.Helper()
	return reviewsWith(t, muster, isConversion)
}

// changeConverter is what a person does to a definition by hand.
func changeConverter(t *testing.T, cluster *harness.Cluster, definition, patch string) {
	t.Helper()
	_, err := cluster.Dynamic.Resource(harness.Definitions).Patch(harness.Context(t), definition, types.MergePatchType,
		[]byte(`{"spec":{"conversion":{"webhook":{"clientConfig":`+patch+`}}}}`), metav1.PatchOptions{})
	must(t, err)
}

// store makes a version of a kind the one that is stored. Both are served then, as by a Kueue before 0.20.
func store(t *testing.T, cluster *harness.Cluster, resource, version string) {
	t.Helper()
	ctx, name := context.Background(), resource+".kueue.x-k8s.io"
	found, err := cluster.Dynamic.Resource(harness.Definitions).Get(ctx, name, metav1.GetOptions{})
	must(t, err)
	versions, _, err := unstructured.NestedSlice(found.Object, "spec", "versions")
	must(t, err)
	var patch []string
	for i, each := range versions {
		stored := each.(map[string]any)["name"] == version
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/storage","value":%t}`, i, stored))
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/served","value":true}`, i))
	}
	_, err = cluster.Dynamic.Resource(harness.Definitions).Patch(ctx, name, types.JSONPatchType,
		[]byte("["+strings.Join(patch, ",")+"]"), metav1.PatchOptions{})
	must(t, err)
}

// storeIn does so and waits until the API server stores it: then only the other one needs
// a conversion, and forWebhooks those that the webhooks ask for. At the test's end v1beta2 is stored again.
func storeIn(t *testing.T, cluster *harness.Cluster, muster *harness.Muster, resource, version string,
	forWebhooks int, create func(version, name string, options metav1.CreateOptions) error) {
	t.Helper()
	t.Cleanup(func() { store(t, cluster, resource, newVersion) })
	store(t, cluster, resource, version)
	harness.Eventually(t, time.Minute, version+" of "+resource+" is what is stored", func() error {
		before := conversions(t, muster)
		// A dry run reaches no watch, which would cause further conversions.
		if err := create(version, "probe", harness.DryRun); err != nil {
			return err
		}
		// The webhooks see the new version: what is written in the old one is converted for the mutating and for
		// the validating ones.
		if after := conversions(t, muster); after > before+forWebhooks {
			return fmt.Errorf("storing an object took %d conversions", after-before)
		}
		return nil
	})
}

func TestAnObjectIsReadInBothVersionsWhicheverItWasWrittenIn(t *testing.T) {
	cluster := harness.Connect(t)
	startConverter(t)
	namespace := cluster.Namespace(t, nil)
	ctx := harness.Context(t)

	written, err := inVersion(cluster, oldVersion, "workloads", namespace).Create(ctx, workloadObject("wl"), metav1.CreateOptions{})
	must(t, err)
	// Its queue is missing, and muster says so in the status that is written here too.
	cluster.AwaitWorkload(t, namespace, "wl", "waits for its queue", harness.HasCondition("QuotaReserved", "False", ""))
	harness.Eventually(t, 20*time.Second, "writing the status", func() error {
		written, err = inVersion(cluster, oldVersion, "workloads", namespace).Get(ctx, "wl", metav1.GetOptions{})
		if err != nil {
			return err
		}
		harness.Set(written, int64(7), "status", "accumulatedPastExexcutionTimeSeconds")
		written, err = inVersion(cluster, oldVersion, "workloads", namespace).UpdateStatus(ctx, written, metav1.UpdateOptions{})
		return err
	})
	read, err := inVersion(cluster, newVersion, "workloads", namespace).Get(ctx, "wl", metav1.GetOptions{})
	must(t, err)
	class, _, _ := unstructured.NestedStringMap(read.Object, "spec", "priorityClassRef")
	if harness.ToJSON(t, class) != `{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"high"}` {
		t.Errorf("priorityClassRef is %v", class)
	}
	if seconds, _, _ := unstructured.NestedInt64(read.Object, "status", "accumulatedPastExecutionTimeSeconds"); seconds != 7 {
		t.Errorf("accumulatedPastExecutionTimeSeconds is %d", seconds)
	}
	again, err := inVersion(cluster, oldVersion, "workloads", namespace).Get(ctx, "wl", metav1.GetOptions{})
	must(t, err)
	if essence(t, again) != essence(t, written) {
		t.Errorf("it was written as\n%s\nand is read as\n%s", essence(t, written), essence(t, again))
	}

	queue := queueObject(newVersion, "ClusterQueue", namespace, map[string]any{"cohortName": "all"})
	_, err = inVersion(cluster, newVersion, "clusterqueues", "").Create(ctx, queue, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		_ = inVersion(cluster, newVersion, "clusterqueues", "").Delete(context.Background(), namespace, metav1.DeleteOptions{})
	})
	read, err = inVersion(cluster, oldVersion, "clusterqueues", "").Get(ctx, namespace, metav1.GetOptions{})
	must(t, err)
	if cohort, _, _ := unstructured.NestedString(read.Object, "spec", "cohort"); cohort != "all" {
		t.Errorf("cohort is %q", cohort)
	}
}

func TestAConverterThatWasChangedByHandComesBack(t *testing.T) {
	cluster := harness.Connect(t)
	// With the rights of the manifests and no others.
	config := writeFile(t, "config.yaml", namesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	muster := startConverter(t, "--config", config, "--kubeconfig", asServiceAccount(t, cluster, "muster-system", "muster"))
	const definition = "workloads.kueue.x-k8s.io"
	want := harness.ToJSON(t, map[string]any{
		"caBundle": base64.StdEncoding.EncodeToString(bundleOf(t, muster)), "url": muster.URL + "/convert",
	})
	for _, patch := range []string{`{"caBundle":null}`, `{"url":"https://127.0.0.1:1/convert"}`} {
		changeConverter(t, cluster, definition, patch)
		harness.Eventually(t, 20*time.Second, "the converter after "+patch, func() error {
			got, err := converterOf(cluster, definition)
			if err == nil && harness.ToJSON(t, got) != want {
				err = fmt.Errorf("it is %s", harness.ToJSON(t, got))
			}
			return err
		})
	}
	namespace := cluster.Namespace(t, nil)
	harness.Eventually(t, 20*time.Second, "a conversion", func() error {
		_, err := inVersion(cluster, oldVersion, "workloads", namespace).Create(harness.Context(t), workloadObject("wl"), harness.DryRun)
		return err
	})
}

// removeAll removes what is stored in the old version at once, while there is a muster to
// convert it: a namespace that is deleted later would wait for one for ever.
func removeAll(t *testing.T, cluster *harness.Cluster, resource, namespace string) {
	t.Helper()
	must(t, inVersion(cluster, newVersion, resource, namespace).DeleteCollection(
		context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

func TestAListOfObjectsStoredInTheOldVersionIsConverted(t *testing.T) {
	count := 40
	if harness.Soak() {
		count = 10_000
	}
	cluster := harness.Connect(t)
	muster := startConverter(t)
	namespace := cluster.Namespace(t, nil)
	ctx := harness.Context(t)
	create := func(version, name string, options metav1.CreateOptions) error {
		queue := queueObject(version, "LocalQueue", name, map[string]any{"clusterQueue": "cq"})
		_, err := inVersion(cluster, version, "localqueues", namespace).Create(ctx, queue, options)
		return err
	}
	storeIn(t, cluster, muster, "localqueues", oldVersion, 1, create)
	made := harness.Load(ctx, 16, count, func(i int) error { return create(oldVersion, fmt.Sprintf("old-%d", i), harness.ForReal) })
	if made.Failed > 0 {
		t.Fatalf("%d of %d queues are not there", made.Failed, count)
	}
	storeIn(t, cluster, muster, "localqueues", newVersion, 0, create)

	began := time.Now()
	list, err := inVersion(cluster, newVersion, "localqueues", namespace).List(ctx, metav1.ListOptions{})
	must(t, err)
	harness.Figure(t, "a list of %d objects in the old version: %.1f s", count, time.Since(began).Seconds())
	found := 0
	for _, queue := range list.Items {
		if target, _, _ := unstructured.NestedString(queue.Object, "spec", "clusterQueue"); target != "cq" || queue.GetAPIVersion() != "kueue.x-k8s.io/v1beta2" {
			t.Errorf("%s came as %s", queue.GetName(), harness.ToJSON(t, queue.Object))
		}
		found++
	}
	if found != count {
		t.Errorf("%d of %d queues", found, count)
	}
	if converted := conversions(t, muster); converted < count {
		t.Errorf("%d conversions for %d objects that are stored in the old version", converted, count)
	}

	// A muster that starts where nothing can be converted: it must read these queues to
	// become ready, and repair the definition to read them.
	muster.Stop(t)
	changeConverter(t, cluster, "localqueues.kueue.x-k8s.io", `{"caBundle":null}`)
	began = time.Now()
	harness.LaunchMuster(t)
	harness.Figure(t, "ready after %.1f s, where nothing could be converted", time.Since(began).Seconds())
	removeAll(t, cluster, "localqueues", namespace)
}
