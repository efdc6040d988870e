package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const jobSetDefinition = "jobsets." + JobSetGroup

// ToJSON gives what kubectl reads from its stdin.
func ToJSON(t testing.TB, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ForeignJobSet is a stand-in for JobSet's own project: a definition without
// groupSchedulingConfig and without muster's label, and a controller
// (foreignjobset_controller.go) with the parts that muster meets.
type ForeignJobSet struct {
	cluster    *Cluster
	definition *unstructured.Unstructured
	deployed   atomic.Bool // it acts only while its Deployment has pods
}

// InstallForeignJobSet replaces muster's definition, and deletes all JobSets with it; at the test's end it
// removes its own definition, and the next muster installs its definition again.
func (c *Cluster) InstallForeignJobSet(t testing.TB) *ForeignJobSet {
	t.Helper()
	foreign := &ForeignJobSet{cluster: c}
	for _, definition := range Documents(t, Manifests(t, "--only=crds")) {
		if definition.GetName() == jobSetDefinition {
			foreign.definition = definition
		}
	}
	foreign.definition.SetLabels(nil)
	versions, _, _ := unstructured.NestedSlice(foreign.definition.Object, "spec", "versions")
	version := versions[0].(map[string]any)
	spec := []string{"schema", "openAPIV3Schema", "properties", "spec"}
	unstructured.RemoveNestedField(version, append(spec, "properties", "groupSchedulingConfig")...)
	unstructured.RemoveNestedField(version, append(spec, "x-kubernetes-validations")...)
	Set(foreign.definition, versions, "spec", "versions")

	c.removeJobSetDefinition(t)
	t.Cleanup(func() { c.removeJobSetDefinition(t) })
	foreign.apply(t, metav1.CreateOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if !foreign.deployed.Load() || foreign.Runs(ctx) {
				foreign.reconcile(ctx)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return foreign
}

// foreignParts are the namespace and the Deployment of JobSet, by their names. Its pods only sleep.
const foreignParts = `
apiVersion: v1
kind: Namespace
metadata: {name: jobset-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: jobset-controller-manager, namespace: jobset-system, labels: {app.kubernetes.io/name: jobset}}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {muster.batch/node: real}
      containers:
      - {name: manager, image: "busybox:latest", imagePullPolicy: IfNotPresent, command: [sleep, "36000"]}
`

// foreignWebhooks is a webhook configuration of JobSet, by its name. The stand-in has no server, so it selects no object
// that there is.
func foreignWebhooks(kind, operations string) string {
	lower := strings.ToLower(kind)
	return fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "%sWebhookConfiguration",
		"metadata": {"name": "jobset-%s-webhook-configuration"}, "webhooks": [{"name": "%cjobset.kb.io", "sideEffects": "None",
		"admissionReviewVersions": ["v1"], "objectSelector": {"matchLabels": {"stand-in": "asks-about-nothing"}},
		"clientConfig": {"service": {"name": "jobset-webhook-service", "namespace": "jobset-system"}},
		"rules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["v1alpha2"], "operations": [%s], "resources": ["jobsets"]}]}]}`,
		kind, lower, lower[0], operations)
}

// Deploy gives the controller the parts that an installed JobSet has. From then on it acts while its Deployment has pods.
func (f *ForeignJobSet) Deploy(t testing.TB) {
	t.Helper()
	f.cluster.Kubectl(t, foreignParts, "apply", "-f", "-")
	f.cluster.Kubectl(t, foreignWebhooks("Validating", `"CREATE", "UPDATE"`), "apply", "-f", "-")
	f.cluster.Kubectl(t, foreignWebhooks("Mutating", `"CREATE"`), "apply", "-f", "-")
	f.deployed.Store(true)
	Eventually(t, time.Minute, "JobSet's controller runs", func() error {
		if !f.Runs(Context(t)) {
			return fmt.Errorf("it has no pod")
		}
		return nil
	})
}

// Runs is true while the Deployment has a pod that runs.
func (f *ForeignJobSet) Runs(ctx context.Context) bool {
	pods, err := f.cluster.Client.CoreV1().Pods("jobset-system").List(ctx, metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
	if err != nil {
		return false
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning {
			return true
		}
	}
	return false
}

// Reinstall restores the original definition, as an upgrade would.
func (f *ForeignJobSet) Reinstall(t testing.TB) {
	t.Helper()
	live, err := f.cluster.Dynamic.Resource(Definitions).Get(Context(t), jobSetDefinition, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live.Object["spec"] = f.definition.DeepCopy().Object["spec"]
	if _, err = f.cluster.Dynamic.Resource(Definitions).Update(Context(t), live, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("reinstalling the definition: %v", err)
	}
}

// Apply installs the definition with the command that upstream documents, without force.
func (f *ForeignJobSet) Apply(t testing.TB) {
	t.Helper()
	f.cluster.Kubectl(t, ToJSON(t, f.definition.Object), "apply", "--server-side", "-f", "-")
}

// Reserved is nil unless muster owns fields of the definition's spec.
func (f *ForeignJobSet) Reserved(t testing.TB) error {
	t.Helper()
	live, err := f.cluster.Dynamic.Resource(Definitions).Get(Context(t), jobSetDefinition, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == "muster" && strings.Contains(string(entry.FieldsV1.Raw), `"f:spec"`) {
			return fmt.Errorf("muster owns %s", entry.FieldsV1.Raw)
		}
	}
	return nil
}

// AddGroups adds the field groupSchedulingConfig, as muster does where it has the permission.
func (f *ForeignJobSet) AddGroups(t testing.TB) {
	t.Helper()
	patch := []byte(`[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/groupSchedulingConfig",
		"value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}]`)
	if _, err := f.cluster.Dynamic.Resource(Definitions).Patch(Context(t), jobSetDefinition, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("adding the field: %v", err)
	}
	Eventually(t, time.Minute, "the API server takes the field", func() error {
		probe := GroupScheduling(JobSet("probe", "workers"), 60)
		made, err := f.cluster.Resource(t, JobSetGroup, "JobSet", "default").Create(Context(t), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if _, found, _ := unstructured.NestedMap(made.Object, "spec", "groupSchedulingConfig"); !found {
			return fmt.Errorf("it is pruned")
		}
		return nil
	})
}

// KnowsGroups is nil if the definition has the field groupSchedulingConfig.
func (f *ForeignJobSet) KnowsGroups(t testing.TB) error {
	t.Helper()
	live, err := f.cluster.Dynamic.Resource(Definitions).Get(Context(t), jobSetDefinition, metav1.GetOptions{})
	if err != nil {
		return err
	}
	versions, _, _ := unstructured.NestedSlice(live.Object, "spec", "versions")
	_, found, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec",
		"properties", "groupSchedulingConfig")
	if !found {
		return fmt.Errorf("no groupSchedulingConfig in version %v", versions[0].(map[string]any)["name"])
	}
	return nil
}

func (f *ForeignJobSet) apply(t testing.TB, options metav1.CreateOptions) {
	t.Helper()
	if _, err := f.cluster.Dynamic.Resource(Definitions).Create(Context(t), f.definition, options); err != nil {
		t.Fatalf("installing the definition: %v", err)
	}
	f.cluster.WaitForDefinition(t, jobSetDefinition)
}

func (c *Cluster) foreignJobSetInstalled(t testing.TB) bool {
	t.Helper()
	live, err := c.Dynamic.Resource(Definitions).Get(Context(t), jobSetDefinition, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil && live.GetLabels()["app.kubernetes.io/name"] != "muster"
}

func (c *Cluster) removeJobSetDefinition(t testing.TB) {
	t.Helper()
	err := c.Dynamic.Resource(Definitions).Delete(context.Background(), jobSetDefinition, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("removing the definition: %v", err)
	}
	Eventually(t, time.Minute, "the definition is gone", func() error {
		_, err := c.Dynamic.Resource(Definitions).Get(context.Background(), jobSetDefinition, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there (%v)", err)
	})
}
