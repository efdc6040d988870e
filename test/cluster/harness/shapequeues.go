package harness

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var cohorts = kueue("cohorts")

// ShapeQueues are where the Workloads of a Shape are queued: a LocalQueue for each
// ClusterQueue, all in one namespace, whose name is also the prefix of the others.
type ShapeQueues struct {
	Namespace string
	Flavor    string
}

func (q ShapeQueues) cohort(number int) string { return fmt.Sprintf("%s-%d", q.Namespace, number) }
func (q ShapeQueues) cluster(a arrival) string {
	return fmt.Sprintf("%s-%d-%d", q.Namespace, a.cohort, a.queue)
}
func (q ShapeQueues) local(a arrival) string { return fmt.Sprintf("queue-%d-%d", a.cohort, a.queue) }
func (q ShapeQueues) path() string {
	return "/apis/" + storedKueue + "/namespaces/" + q.Namespace + "/workloads"
}

// ShapeQueues creates the queues of a shape. At the test's end they and all Workloads are deleted, also without
// a leading muster that would remove the finalizers.
func (c *Cluster) ShapeQueues(t testing.TB, shape Shape) ShapeQueues {
	t.Helper()
	q := ShapeQueues{Namespace: c.Namespace(t, nil)}
	q.Flavor = q.Namespace
	c.CreateFlavor(t, q.Flavor, nil)
	t.Cleanup(func() { c.forceAway(t, ResourceFlavors, q.Flavor) })
	for number := range shape.Cohorts {
		name := q.cohort(number)
		c.Create(t, cohorts, "", queueObject("Cohort", name, nil))
		t.Cleanup(func() { c.forceAway(t, cohorts, name) })
	}
	each := func(do func(arrival) error) {
		t.Helper()
		outcome := Load(context.Background(), 32, shape.Cohorts*shape.Queues, func(number int) error {
			return do(arrival{cohort: number / shape.Queues, queue: number % shape.Queues})
		})
		if outcome.Failed > 0 {
			t.Error(outcome)
		}
	}
	create := func(resource schema.GroupVersionResource, namespace string, object *unstructured.Unstructured) error {
		_, err := c.Dynamic.Resource(resource).Namespace(namespace).Create(context.Background(), object, ForReal)
		return err
	}
	t.Cleanup(func() {
		each(func(a arrival) error { c.forceAway(t, ClusterQueues, q.cluster(a)); return nil })
	})
	each(func(a arrival) error {
		err := create(ClusterQueues, "", q.clusterQueueOf(shape, a))
		if err == nil {
			err = create(LocalQueues, q.Namespace, LocalQueueOf(q.local(a), q.cluster(a)))
		}
		return err
	})
	t.Cleanup(func() { c.deleteWorkloads(t, q) })
	return q
}

func (q ShapeQueues) clusterQueueOf(shape Shape, a arrival) *unstructured.Unstructured {
	return queueObject("ClusterQueue", q.cluster(a), map[string]any{
		"cohortName":        q.cohort(a.cohort),
		"namespaceSelector": map[string]any{},
		"preemption":        map[string]any{"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
		"resourceGroups": []any{map[string]any{"coveredResources": []any{"cpu"}, "flavors": []any{map[string]any{
			"name": q.Flavor, "resources": []any{map[string]any{
				"name": "cpu", "nominalQuota": fmt.Sprint(shape.Nominal), "borrowingLimit": fmt.Sprint(shape.Borrowing),
			}},
		}}}},
	})
}

// forceAway deletes an object that can have muster's finalizer.
func (c *Cluster) forceAway(t testing.TB, resource schema.GroupVersionResource, name string) {
	t.Helper()
	ctx, client := context.Background(), c.Dynamic.Resource(resource)
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("deleting %s %s: %v", resource.Resource, name, err)
	}
	_, err := client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("taking the finalizer of %s %s away: %v", resource.Resource, name, err)
	}
}

// AwaitOpen waits until muster says of all LocalQueues that they take Workloads.
func (c *Cluster) AwaitOpen(t testing.TB, q ShapeQueues) {
	t.Helper()
	Eventually(t, 2*time.Minute, "all queues are open", func() error {
		list, err := c.Dynamic.Resource(LocalQueues).Namespace(q.Namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := HasCondition("Active", "True", "")(&list.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteWorkloads deletes as many at once as the API server takes. A deletion that the API server does not answer
// in time is sent again: after a run with many Workloads it is still busy with their events.
func (c *Cluster) deleteWorkloads(t testing.TB, q ShapeQueues) {
	t.Helper()
	client := c.rawClient(t)
	list, err := c.Dynamic.Resource(Workloads).Namespace(q.Namespace).List(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Error(err)
		return
	}
	outcome := Load(context.Background(), 32, len(list.Items), func(number int) (err error) {
		for range 5 {
			var code int
			code, err = client.send(context.Background(), http.MethodDelete, q.path()+"/"+list.Items[number].GetName(), "", "", nil)
			if err == nil || code == http.StatusNotFound {
				return nil
			}
		}
		return err
	})
	if outcome.Failed > 0 {
		t.Error(outcome)
	}
}

// AwaitSteadyWatch waits until a watch of Workloads lives its whole time: some seconds
// after a definition was changed, as by muster's conversion webhook, the API server ends
// all watches of its kind.
func (c *Cluster) AwaitSteadyWatch(t testing.TB, q ShapeQueues) {
	t.Helper()
	const whole = 8 * time.Second
	client := c.rawClient(t)
	Eventually(t, 2*time.Minute, "a watch lives its whole time", func() error {
		began := time.Now()
		err := client.watch(Context(t), q.path(), "0", whole, func([]byte) error { return nil })
		if lived := time.Since(began); err == nil && lived < whole-time.Second {
			err = fmt.Errorf("it ended after %s", lived)
		}
		return err
	})
}

// bind gives a user a ClusterRole in one namespace.
func (c *Cluster) bind(t testing.TB, namespace, user, role string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := c.Client.RbacV1().RoleBindings(namespace).Create(Context(t), binding, ForReal); err != nil {
		t.Fatal(err)
	}
}
