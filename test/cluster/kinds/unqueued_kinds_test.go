package kinds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"muster.batch/test/cluster/harness"
)

const rayJobDefinition = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "rayjobs.ray.io"},
	"spec": {"group": "ray.io", "scope": "Namespaced", "names": {"kind": "RayJob", "listKind": "RayJobList", "plural": "rayjobs", "singular": "rayjob"},
	"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

// queuedObject has a queue's name, and a pod template or pod that is complete enough to be stored.
func queuedObject(resource schema.GroupVersionResource, kind string) *unstructured.Unstructured {
	pod := map[string]any{"containers": []any{map[string]any{"name": "main", "image": "busybox"}}}
	labels := func() map[string]any { return map[string]any{"app": "x"} }
	spec := map[string]any{"selector": map[string]any{"matchLabels": labels()}, "template": map[string]any{"metadata": map[string]any{"labels": labels()}, "spec": pod}}
	if kind == "Pod" {
		spec = pod
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(resource.GroupVersion().String())
	object.SetKind(kind)
	object.SetName(strings.ToLower(kind))
	object.SetLabels(harness.Queue("some"))
	return object
}

// A user who gives a queue to an object of a kind that muster does not queue gets a warning from the API server itself:
// no muster runs here.
func TestKindsThatAreNotQueuedAreToldWithoutMuster(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	cluster.Kubectl(t, rayJobDefinition, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "crd", "rayjobs.ray.io") })
	cluster.WaitForDefinition(t, "rayjobs.ray.io")
	namespace := cluster.Namespace(t, nil)
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	harness.Must(t, err)
	told := &harness.Warnings{}
	config.WarningHandler = told
	client, err := dynamic.NewForConfig(config)
	harness.Must(t, err)
	kinds := map[string]schema.GroupVersionResource{
		"Pod":        {Version: "v1", Resource: "pods"},
		"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
		"RayJob":     {Group: "ray.io", Version: "v1", Resource: "rayjobs"},
	}
	try := func(kind string, change func(*unstructured.Unstructured)) (string, error) {
		object := queuedObject(kinds[kind], kind)
		change(object)
		_, err := client.Resource(kinds[kind]).Namespace(namespace).Create(harness.Context(t), object, harness.DryRun)
		return told.Take(), err
	}
	as := func(*unstructured.Unstructured) {}
	plain := func(object *unstructured.Unstructured) { object.SetLabels(nil) }
	owned := func(object *unstructured.Unstructured) {
		yes := true
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "x", UID: "x", Controller: &yes}})
	}
	inTemplate := func(object *unstructured.Unstructured) {
		object.SetLabels(nil)
		harness.Set(object, "some", "spec", "template", "metadata", "labels", harness.QueueLabel)
	}

	policy := harness.Manifests(t, "--only=policies")
	cluster.Kubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, policy, "delete", "-f", "-") })
	for kind := range kinds {
		sentence := "muster does not queue objects of kind " + kind + ": "
		harness.Eventually(t, 30*time.Second, "a "+kind+" with a queue is stored with a warning", func() error {
			warning, err := try(kind, as)
			if err == nil && !strings.Contains(warning, sentence) {
				err = fmt.Errorf("it is %q", warning)
			}
			return err
		})
		if kind != "Pod" {
			if warning, err := try(kind, inTemplate); err != nil || !strings.Contains(warning, sentence) {
				t.Errorf("a %s with a queue in its pod template: warning %q, error %v", kind, warning, err)
			}
		}
		for what, change := range map[string]func(*unstructured.Unstructured){"without a queue": plain, "of a controller": owned} {
			if warning, err := try(kind, change); err != nil || strings.Contains(warning, "muster") {
				t.Errorf("a %s %s: warning %q, error %v", kind, what, warning, err)
			}
		}
	}
	// A CronJob gets a warning where its Jobs do not get the label.
	for where, warned := range map[string]bool{"": true, "jobTemplate": false} {
		cronJob := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "spec": map[string]any{
			"schedule": "0 2 * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "busybox"}}}}}}}}}
		cronJob.SetName("nightly")
		cronJob.SetLabels(harness.Queue("some"))
		if where != "" {
			harness.Set(cronJob, "some", "spec", where, "metadata", "labels", harness.QueueLabel)
		}
		_, err := client.Resource(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}).Namespace(namespace).Create(harness.Context(t), cronJob, harness.DryRun)
		harness.Must(t, err)
		if warning := told.Take(); strings.Contains(warning, "of a CronJob has no effect") != warned {
			t.Errorf("a CronJob with the queue on itself and on %q: warning %q", where, warning)
		}
	}
	updatesAreToldOnce(t, client.Resource(kinds["RayJob"]).Namespace(namespace), told, queuedObject(kinds["RayJob"], "RayJob"))

	cluster.Kubectl(t, harness.Manifests(t, "--only=policies", "--unqueued-kinds=Deny"), "apply", "-f", "-")
	for kind := range kinds {
		harness.Eventually(t, 30*time.Second, "a "+kind+" with a queue is refused", func() error {
			_, err := try(kind, as)
			if err == nil || !strings.Contains(err.Error(), "muster does not queue objects of kind "+kind+": ") {
				return fmt.Errorf("the answer is %v", err)
			}
			return nil
		})
	}
	// The pods of a Job with a queue bear keys of ours, and are made by a controller.
	job := harness.HollowJob("queued", 1)
	job.Labels, job.Spec.Template.Labels = harness.Queue("some"), harness.Queue("some")
	cluster.CreateJob(t, namespace, job)
	harness.Eventually(t, 30*time.Second, "the Job's pod", func() error {
		pods, err := cluster.Client.CoreV1().Pods(namespace).List(harness.Context(t), metav1.ListOptions{LabelSelector: harness.QueueLabel + "=some"})
		if err == nil && len(pods.Items) == 0 {
			err = fmt.Errorf("there is none")
		}
		return err
	})
}

// updatesAreToldOnce: of updates the one that brings the queue is reported, and no later one.
func updatesAreToldOnce(t *testing.T, client dynamic.ResourceInterface, told *harness.Warnings, object *unstructured.Unstructured) {
	t.Helper()
	labels := object.GetLabels()
	object.SetLabels(nil)
	live, err := client.Create(harness.Context(t), object, harness.ForReal)
	harness.Must(t, err)
	for i, want := range []bool{true, false} {
		live.SetLabels(labels)
		live.SetAnnotations(map[string]string{"changed": fmt.Sprint(i)})
		live, err = client.Update(harness.Context(t), live, metav1.UpdateOptions{})
		harness.Must(t, err)
		if warning := told.Take(); strings.Contains(warning, "muster") != want {
			t.Errorf("update %d: warning %q", i, warning)
		}
	}
}

// A queue name on a kind that integrations.frameworks leaves out: the object runs at once, and its user gets a warning,
// or it is refused.
func TestQueueNameOnAKindThatIsNotEnabled(t *testing.T) {
	cluster := harness.Connect(t)
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	harness.Must(t, err)
	told := &harness.Warnings{}
	config.WarningHandler = told
	client, err := dynamic.NewForConfig(config)
	harness.Must(t, err)
	namespace := cluster.Namespace(t, nil)
	jobSets := client.Resource(harness.JobSets).Namespace(namespace)
	const sentence = "muster does not queue JobSets here, as integrations.frameworks lacks jobset.x-k8s.io/jobset"
	for _, action := range []string{"Warn", "Deny"} {
		t.Run(action, func(t *testing.T) {
			harness.StartQueueMuster(t, "--config", harness.WriteFile(t, "config.yaml",
				harness.NamesOfTheManifests+"integrations: {frameworks: [batch/job]}\n---\n"+
					"apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\nunqueuedKinds: "+action+"\n"))
			jobSet := harness.JobSetOf(strings.ToLower(action), harness.ReplicatedJob{Name: "w", Template: harness.HollowPod(-1, 0)})
			jobSet.SetLabels(harness.Queue("some"))
			made, err := jobSets.Create(harness.Context(t), jobSet, metav1.CreateOptions{})
			if action == "Deny" {
				if err == nil || !strings.Contains(err.Error(), sentence) {
					t.Errorf("the answer is %v", err)
				}
				return
			}
			harness.Must(t, err)
			if warning := told.Take(); !strings.Contains(warning, sentence) {
				t.Errorf("the warning is %q", warning)
			}
			if suspended, _, _ := unstructured.NestedBool(made.Object, "spec", "suspend"); suspended {
				t.Error("the JobSet was suspended")
			}
			harness.Eventually(t, 30*time.Second, "its Job runs", func() error {
				job, err := cluster.Client.BatchV1().Jobs(namespace).Get(harness.Context(t), "warn-w-0", metav1.GetOptions{})
				if err == nil && job.Spec.Suspend != nil && *job.Spec.Suspend {
					err = fmt.Errorf("it is suspended")
				}
				return err
			})
			if workloads := cluster.Kubectl(t, "", "get", "workloads", "-n", namespace, "-o", "name"); workloads != "" {
				t.Errorf("it has %s", workloads)
			}
		})
	}
}
