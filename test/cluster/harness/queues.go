package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds of queues, in the stored version. Tests that poll or watch use these instead of Resource, which
// runs discovery each time.
var (
	AdmissionChecks         = kueue("admissionchecks")
	ClusterQueues           = kueue("clusterqueues")
	Cohorts                 = kueue("cohorts")
	LocalQueues             = kueue("localqueues")
	ResourceFlavors         = kueue("resourceflavors")
	WorkloadPriorityClasses = kueue("workloadpriorityclasses")
	Workloads               = kueue("workloads")
	JobSets                 = schema.GroupVersionResource{Group: JobSetGroup, Version: "v1alpha2", Resource: "jobsets"}
	Jobs                    = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
)

const storedKueue = KueueGroup + "/v1beta2"

func kueue(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: KueueGroup, Version: "v1beta2", Resource: resource}
}

// Queues are the queues of one namespace: the LocalQueue "queue" and its ClusterQueue, which is held, so that
// only the test admits Workloads.
type Queues struct {
	Namespace    string
	ClusterQueue string
	// Flavors. Pods get onto hollow nodes, which are tainted, by the tolerations of the flavor.
	Hollow, Real string
}

// LocalQueueName is the name of every LocalQueue that Queues makes.
const LocalQueueName = "queue"

// Queues creates a namespace and its queues. At the test's end the jobs are deleted, and muster, which must
// run, gets some time to remove its finalizers: an object that stays fails the test.
func (c *Cluster) Queues(t testing.TB) Queues {
	t.Helper()
	return c.QueuesIn(t, c.Namespace(t, nil))
}

// QueuesIn is Queues for an existing namespace.
func (c *Cluster) QueuesIn(t testing.TB, namespace string) Queues {
	t.Helper()
	q := Queues{Namespace: namespace, ClusterQueue: namespace, Hollow: namespace + "-hollow", Real: namespace + "-real"}
	c.CreateFlavor(t, q.Hollow, map[string]any{NodeLabel: "hollow"}, map[string]any{
		"key": NodeLabel, "operator": "Equal", "value": "hollow", "effect": "NoSchedule",
	})
	c.CreateFlavor(t, q.Real, map[string]any{NodeLabel: "real"})
	c.Create(t, ClusterQueues, "", ClusterQueueOf(q.ClusterQueue, q.Hollow, q.Real))
	c.Create(t, LocalQueues, namespace, LocalQueueOf(LocalQueueName, q.ClusterQueue))
	t.Cleanup(func() {
		c.leaveQueues(t, namespace)
		c.removeInUse(t, ClusterQueues, q.ClusterQueue)
		c.removeInUse(t, ResourceFlavors, q.Hollow)
		c.removeInUse(t, ResourceFlavors, q.Real)
	})
	return q
}

// ClusterQueueOf makes a ClusterQueue of 1,000 cpu of each flavor, which is held.
func ClusterQueueOf(name string, flavors ...string) *unstructured.Unstructured {
	var quotas []any
	for _, flavor := range flavors {
		quotas = append(quotas, map[string]any{
			"name": flavor, "resources": []any{map[string]any{"name": "cpu", "nominalQuota": "1000"}},
		})
	}
	return queueObject("ClusterQueue", name, map[string]any{
		"stopPolicy": "Hold", "namespaceSelector": map[string]any{},
		"resourceGroups": []any{map[string]any{"coveredResources": []any{"cpu"}, "flavors": quotas}},
	})
}

// LocalQueueOf makes a LocalQueue.
func LocalQueueOf(name, clusterQueue string) *unstructured.Unstructured {
	return queueObject("LocalQueue", name, map[string]any{"clusterQueue": clusterQueue})
}

// CreateFlavor makes a ResourceFlavor; its maker removes it.
func (c *Cluster) CreateFlavor(t testing.TB, name string, nodeLabels map[string]any, tolerations ...any) {
	t.Helper()
	spec := map[string]any{"nodeLabels": nodeLabels}
	if len(tolerations) > 0 {
		spec["tolerations"] = tolerations
	}
	c.Create(t, ResourceFlavors, "", queueObject("ResourceFlavor", name, spec))
}

// CreatePriorityClass makes a WorkloadPriorityClass and removes it at the test's end.
func (c *Cluster) CreatePriorityClass(t testing.TB, name string, value int64) {
	t.Helper()
	class := queueObject("WorkloadPriorityClass", name, nil)
	class.Object["value"] = value
	c.Create(t, WorkloadPriorityClasses, "", class)
	t.Cleanup(func() {
		if err := c.Dynamic.Resource(WorkloadPriorityClasses).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("removing the priority class: %v", err)
		}
	})
}

// CreateCheck makes an AdmissionCheck; its maker removes it.
func (c *Cluster) CreateCheck(t testing.TB, name string) {
	t.Helper()
	c.Create(t, AdmissionChecks, "", queueObject("AdmissionCheck", name, map[string]any{"controllerName": "muster.batch/test"}))
}

func queueObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": storedKueue, "kind": kind, "metadata": map[string]any{"name": name},
	}}
	if spec != nil {
		object.Object["spec"] = spec
	}
	return object
}

// Create makes an object and returns it as stored.
func (c *Cluster) Create(t testing.TB, resource schema.GroupVersionResource, namespace string,
	object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made, err := c.Dynamic.Resource(resource).Namespace(namespace).Create(Context(t), object, ForReal)
	if err != nil {
		t.Fatalf("creating %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return made
}

// Patch applies a JSON merge patch.
func (c *Cluster) Patch(t testing.TB, resource schema.GroupVersionResource, namespace, name, patch string, subresources ...string) {
	t.Helper()
	_, err := c.Dynamic.Resource(resource).Namespace(namespace).Patch(Context(t), name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		t.Fatalf("patching %s %s: %v", resource.Resource, name, err)
	}
}

// Delete deletes an object with that propagation.
func (c *Cluster) Delete(t testing.TB, resource schema.GroupVersionResource, namespace, name string, how metav1.DeletionPropagation) {
	t.Helper()
	err := c.Dynamic.Resource(resource).Namespace(namespace).Delete(Context(t), name, metav1.DeleteOptions{PropagationPolicy: &how})
	if err != nil {
		t.Fatalf("deleting %s %s: %v", resource.Resource, name, err)
	}
}

// AwaitGone waits until the object no longer exists.
func (c *Cluster) AwaitGone(t testing.TB, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	Eventually(t, 30*time.Second, resource.Resource+" "+name+" is gone", func() error {
		return c.gone(resource, namespace, name)
	})
}

func (c *Cluster) gone(resource schema.GroupVersionResource, namespace, name string) error {
	object, err := c.Dynamic.Resource(resource).Namespace(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("it is there, deleted %v, finalizers %v, status %v",
			object.GetDeletionTimestamp(), object.GetFinalizers(), object.Object["status"])
	}
	return err
}

// leaveQueues deletes the jobs of a namespace and demands that muster lets their
// Workloads go.
func (c *Cluster) leaveQueues(t testing.TB, namespace string) {
	t.Helper()
	ctx := context.Background()
	background := metav1.DeletePropagationBackground
	for _, resource := range []schema.GroupVersionResource{JobSets, Jobs, Workloads} {
		// The API server ends a request after a minute, and ten thousand objects take longer.
		err := within(3*time.Minute, func() error {
			err := c.Dynamic.Resource(resource).Namespace(namespace).DeleteCollection(ctx,
				metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Errorf("deleting the %s: %v", resource.Resource, err)
		}
	}
	c.deleteOrphans(t, namespace)
	if err := c.awaitNoWorkloads(namespace); err != nil {
		t.Errorf("after their jobs were deleted: %v", err)
		c.forceWorkloadsAway(namespace)
	}
}

// deleteOrphans deletes the pods of Jobs that are gone: their Workloads keep their quota until then.
func (c *Cluster) deleteOrphans(t testing.TB, namespace string) {
	t.Helper()
	ctx, pods := context.Background(), c.Client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel})
	if err != nil {
		t.Errorf("listing pods: %v", err)
		return
	}
	for i := range list.Items {
		if pod := &list.Items[i]; metav1.GetControllerOf(pod) == nil {
			_ = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{})
		}
	}
}

// awaitNoWorkloads fails when their number has stayed the same for too long: muster asks at least once a minute whether
// pods of a job that is gone are left.
func (c *Cluster) awaitNoWorkloads(namespace string) error {
	const patience = 75 * time.Second
	left, since := -1, time.Now()
	for {
		now, err := c.leftWorkloads(namespace)
		if err == nil {
			return nil
		}
		if now != left {
			left, since = now, time.Now()
		}
		if time.Since(since) > patience {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// leftWorkloads is how many there are, without a list of ten thousand, and an error about the first of them.
func (c *Cluster) leftWorkloads(namespace string) (int, error) {
	list, err := c.Dynamic.Resource(Workloads).Namespace(namespace).List(context.Background(), metav1.ListOptions{Limit: 1})
	if err != nil {
		return -1, err
	}
	count := len(list.Items)
	if count == 0 {
		return 0, nil
	}
	if more := list.GetRemainingItemCount(); more != nil {
		count += int(*more)
	}
	first := &list.Items[0]
	return count, fmt.Errorf("%d Workloads are left, of them %s: deleted %v, finalizers %v, status %v", count,
		first.GetName(), first.GetDeletionTimestamp(), first.GetFinalizers(), first.Object["status"])
}

// forceWorkloadsAway is for a namespace that muster looks after no more: its Workloads
// would keep it for ever. Errors are the next test's.
func (c *Cluster) forceWorkloadsAway(namespace string) {
	ctx, client := context.Background(), c.Dynamic.Resource(Workloads).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, workload := range list.Items {
		_ = client.Delete(ctx, workload.GetName(), metav1.DeleteOptions{})
		_, _ = client.Patch(ctx, workload.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
}

// removeInUse deletes an object that muster's finalizer holds while it is used.
func (c *Cluster) removeInUse(t testing.TB, resource schema.GroupVersionResource, name string) {
	t.Helper()
	ctx, client := context.Background(), c.Dynamic.Resource(resource)
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("deleting %s %s: %v", resource.Resource, name, err)
	}
	// A watch that broke several times begins again after 30 s.
	if err := within(45*time.Second, func() error { return c.gone(resource, "", name) }); err != nil {
		t.Errorf("%s %s, which nothing uses: %v", resource.Resource, name, err)
		_, _ = client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
}

// within is Eventually for the time after a test; it continues after a failure.
func within(limit time.Duration, condition func() error) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := condition()
		if err == nil || time.Since(began) > UnderLoad(limit) {
			return err
		}
	}
}

// FlavoredPod is a template without placement: the flavor determines where its pods run. They run until the
// test ends them.
func FlavoredPod() corev1.PodTemplateSpec {
	template := RealPod("sleep 600")
	template.Spec.NodeSelector = nil
	return template
}

// EndHollowPods lets the pods on hollow nodes end with that exit code, now.
func (c *Cluster) EndHollowPods(t testing.TB, namespace string, exitCode int) {
	t.Helper()
	pods, err := c.Client.CoreV1().Pods(namespace).List(Context(t), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("listing pods: %v", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if err := c.endHollowPod(pod, exitCode); err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("ending %s: %v", pod.Name, err)
		}
	}
}

func (c *Cluster) endHollowPod(pod *corev1.Pod, exitCode int) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"0",%q:"%d"}}}`, HollowRunSeconds, HollowExitCode, exitCode)
	_, err := c.Client.CoreV1().Pods(pod.Namespace).Patch(context.Background(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// OpenQueue makes a LocalQueue for hollow nodes whose quota is enough for all.
func OpenQueue(t *testing.T, cluster *Cluster) Queues {
	t.Helper()
	queues := cluster.Queues(t)
	cluster.Patch(t, ClusterQueues, "", queues.ClusterQueue, `{"spec":{"stopPolicy":"None"}}`)
	Eventually(t, time.Minute, "the queue is open", func() error {
		queue, err := cluster.Dynamic.Resource(LocalQueues).Namespace(queues.Namespace).Get(
			Context(t), LocalQueueName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return HasCondition("Active", "True", "")(queue)
	})
	return queues
}

// LetIn lets the scheduler admit what is in the queues.
func LetIn(t *testing.T, cluster *Cluster, queues Queues) {
	t.Helper()
	cluster.Patch(t, ClusterQueues, "", queues.ClusterQueue, `{"spec":{"stopPolicy":"None"}}`)
}
