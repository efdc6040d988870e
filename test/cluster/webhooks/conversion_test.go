package webhooks

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

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

// changeConverter is what a person does to a definition by hand.
func changeConverter(t *testing.T, cluster *harness.Cluster, definition, patch string) {
	t.Helper()
	_, err := cluster.Dynamic.Resource(harness.Definitions).Patch(harness.Context(t), definition, types.MergePatchType,
		[]byte(`{"spec":{"conversion":{"webhook":{"clientConfig":`+patch+`}}}}`), metav1.PatchOptions{})
	harness.Must(t, err)
}

func TestAnObjectIsReadInBothVersionsWhicheverItWasWrittenIn(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartConverter(t)
	namespace := cluster.Namespace(t, nil)
	ctx := harness.Context(t)

	written, err := harness.InVersion(cluster, harness.OldVersion, "workloads", namespace).Create(ctx,
		harness.WorkloadObject("wl"), metav1.CreateOptions{})
	harness.Must(t, err)
	// Its queue is missing, and muster says so in the status that is written here too.
	cluster.AwaitWorkload(t, namespace, "wl", "waits for its queue", harness.HasCondition("QuotaReserved", "False", ""))
	harness.Eventually(t, 20*time.Second, "writing the status", func() error {
		written, err = harness.InVersion(cluster, harness.OldVersion, "workloads", namespace).Get(ctx, "wl", metav1.GetOptions{})
		if err != nil {
			return err
		}
		harness.Set(written, int64(7), "status", "accumulatedPastExexcutionTimeSeconds")
		written, err = harness.InVersion(cluster, harness.OldVersion, "workloads", namespace).UpdateStatus(ctx, written, metav1.UpdateOptions{})
		return err
	})
	read, err := harness.InVersion(cluster, harness.NewVersion, "workloads", namespace).Get(ctx, "wl", metav1.GetOptions{})
	harness.Must(t, err)
	class, _, _ := unstructured.NestedStringMap(read.Object, "spec", "priorityClassRef")
	if harness.ToJSON(t, class) != `{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"high"}` {
		t.Errorf("priorityClassRef is %v", class)
	}
	if seconds, _, _ := unstructured.NestedInt64(read.Object, "status", "accumulatedPastExecutionTimeSeconds"); seconds != 7 {
		t.Errorf("accumulatedPastExecutionTimeSeconds is %d", seconds)
	}
	again, err := harness.InVersion(cluster, harness.OldVersion, "workloads", namespace).Get(ctx, "wl", metav1.GetOptions{})
	harness.Must(t, err)
	if harness.Essence(t, again) != harness.Essence(t, written) {
		t.Errorf("it was written as\n%s\nand is read as\n%s", harness.Essence(t, written), harness.Essence(t, again))
	}

	queue := harness.QueueObjectIn(harness.NewVersion, "ClusterQueue", namespace, map[string]any{"cohortName": "all"})
	_, err = harness.InVersion(cluster, harness.NewVersion, "clusterqueues", "").Create(ctx, queue, metav1.CreateOptions{})
	harness.Must(t, err)
	t.Cleanup(func() {
		_ = harness.InVersion(cluster, harness.NewVersion, "clusterqueues", "").Delete(context.Background(), namespace, metav1.DeleteOptions{})
	})
	read, err = harness.InVersion(cluster, harness.OldVersion, "clusterqueues", "").Get(ctx, namespace, metav1.GetOptions{})
	harness.Must(t, err)
	if cohort, _, _ := unstructured.NestedString(read.Object, "spec", "cohort"); cohort != "all" {
		t.Errorf("cohort is %q", cohort)
	}
}

func TestAConverterThatWasChangedByHandComesBack(t *testing.T) {
	cluster := harness.Connect(t)
	// With the rights of the manifests and no others.
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	muster := harness.StartConverter(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	const definition = "workloads.kueue.x-k8s.io"
	want := harness.ToJSON(t, map[string]any{
		"caBundle": base64.StdEncoding.EncodeToString(harness.BundleOf(t, muster)), "url": muster.URL + "/convert",
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
		_, err := harness.InVersion(cluster, harness.OldVersion, "workloads", namespace).Create(harness.Context(t),
			harness.WorkloadObject("wl"), harness.DryRun)
		return err
	})
}

func TestAListOfObjectsStoredInTheOldVersionIsConverted(t *testing.T) {
	count := 40
	if harness.Soak() {
		count = 10_000
	}
	cluster := harness.Connect(t)
	muster := harness.StartConverter(t)
	namespace := cluster.Namespace(t, nil)
	ctx := harness.Context(t)
	create := func(version, name string, options metav1.CreateOptions) error {
		queue := harness.QueueObjectIn(version, "LocalQueue", name, map[string]any{"clusterQueue": "cq"})
		_, err := harness.InVersion(cluster, version, "localqueues", namespace).Create(ctx, queue, options)
		return err
	}
	harness.AwaitStoredVersion(t, cluster, muster, "localqueues", harness.OldVersion, 1, create)
	made := harness.Load(ctx, 16, count, func(i int) error { return create(harness.OldVersion, fmt.Sprintf("old-%d", i), harness.ForReal) })
	if made.Failed > 0 {
		t.Fatalf("%d of %d queues are not there", made.Failed, count)
	}
	harness.AwaitStoredVersion(t, cluster, muster, "localqueues", harness.NewVersion, 0, create)

	began := time.Now()
	list, err := harness.InVersion(cluster, harness.NewVersion, "localqueues", namespace).List(ctx, metav1.ListOptions{})
	harness.Must(t, err)
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
	if converted := harness.Conversions(t, muster); converted < count {
		t.Errorf("%d conversions for %d objects that are stored in the old version", converted, count)
	}

	// A muster that starts where nothing can be converted: it must read these queues to
	// become ready, and repair the definition to read them.
	muster.Stop(t)
	changeConverter(t, cluster, "localqueues.kueue.x-k8s.io", `{"caBundle":null}`)
	began = time.Now()
	harness.LaunchMuster(t)
	harness.Figure(t, "ready after %.1f s, where nothing could be converted", time.Since(began).Seconds())
	harness.RemoveOldVersions(t, cluster, "localqueues", namespace)
}
