package queues

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.batch/test/cluster/harness"
)

// Finalizers hold what is used and nothing else.

const stormLabel = "muster.batch/storm"

// Namespaces full of queued and running jobs are deleted at once, some of them after
// their jobs or Workloads were.
func TestNamespacesDeletedAtOnceAreSoonGone(t *testing.T) {
	count := harness.Size(12, 200)
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	harness.StartQueueMuster(t)
	queues := cluster.Queues(t)
	storm := storm{cluster: cluster, queues: queues, label: stormLabel + "=" + queues.Namespace}
	storm.each(t, count, "making the namespaces", func(number int) error { return storm.make(number) })
	storm.admitSome(t, count)
	began := time.Now()
	storm.each(t, count, "deleting the namespaces", func(number int) error { return storm.remove(number) })
	harness.Eventually(t, time.Minute, "no namespace is Terminating", func() error {
		list, err := cluster.Client.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{LabelSelector: storm.label})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		return fmt.Errorf("%d are left, of them %s: %s", len(list.Items), list.Items[0].Name, whyTerminating(&list.Items[0]))
	})
	harness.Figure(t, "%d namespaces with 5 Jobs each were gone after %.1f s", count, time.Since(began).Seconds())
}

// whyTerminating says what keeps a namespace.
func whyTerminating(namespace *corev1.Namespace) string {
	text := ""
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			text += condition.Message + "; "
		}
	}
	return text
}

type storm struct {
	cluster *harness.Cluster
	queues  harness.Queues
	label   string
}

func (s storm) name(number int) string { return fmt.Sprintf("%s-%d", s.queues.Namespace, number) }

func (s storm) each(t *testing.T, count int, what string, do func(number int) error) {
	t.Helper()
	if outcome := harness.Load(harness.Context(t), 32, count, do); outcome.Failed > 0 {
		t.Fatalf("%s: %s", what, outcome)
	}
}

func (s storm) make(number int) error {
	ctx, name := context.Background(), s.name(number)
	_, err := s.cluster.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{stormLabel: s.queues.Namespace}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = s.cluster.Dynamic.Resource(harness.LocalQueues).Namespace(name).Create(ctx,
		harness.LocalQueueOf(harness.LocalQueueName, s.queues.ClusterQueue), harness.ForReal)
	for i := 0; i < 5 && err == nil; i++ {
		_, err = s.cluster.Client.BatchV1().Jobs(name).Create(ctx, harness.QueuedJob(fmt.Sprint("train-", i), 1), harness.ForReal)
	}
	return err
}

// admitSome admits two of the five Jobs of each namespace and waits until they start.
func (s storm) admitSome(t *testing.T, count int) {
	t.Helper()
	s.each(t, count, "admitting", func(number int) error {
		for i := range 2 {
			workload := s.cluster.WaitForWorkload(t, s.name(number), fmt.Sprint("train-", i), "is there")
			s.cluster.Admit(t, workload, s.queues.ClusterQueue, s.queues.Hollow)
		}
		return nil
	})
	harness.Eventually(t, time.Minute, "the admitted Jobs have started, and all others have Workloads", func() error {
		workloads, started := 0, 0
		for number := range count {
			list, err := s.cluster.Dynamic.Resource(harness.Workloads).Namespace(s.name(number)).List(context.Background(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			workloads += len(list.Items)
			jobs, err := s.cluster.Client.BatchV1().Jobs(s.name(number)).List(context.Background(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range jobs.Items {
				if !harness.Suspended(&jobs.Items[i]) {
					started++
				}
			}
		}
		if workloads != 5*count || started != 2*count {
			return fmt.Errorf("%d Workloads, %d Jobs started", workloads, started)
		}
		return nil
	})
}

// remove deletes a namespace: as it is, or with its jobs or Workloads on their way.
func (s storm) remove(number int) error {
	ctx, name := context.Background(), s.name(number)
	how := []metav1.DeletionPropagation{
		metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground,
	}[number%3]
	resource := []schema.GroupVersionResource{harness.Jobs, harness.Workloads}[number/3%2]
	if number%4 != 0 {
		err := s.cluster.Dynamic.Resource(resource).Namespace(name).DeleteCollection(ctx,
			metav1.DeleteOptions{PropagationPolicy: &how}, metav1.ListOptions{})
		if err != nil {
			return err
		}
	}
	return s.cluster.Client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
}

// used is what a ClusterQueue needs, and the queue.
type used struct {
	resource schema.GroupVersionResource
	name     string
}

// What is deleted while it is used stays until it is used no more, in whatever order.
var deletedQueueObjects = []harness.Behaviour{
	{Name: "a used queue, flavor and check stay in this order", Run: stayWhileUsed(0, 1, 2)},
	{Name: "a used queue, check and flavor stay in this order", Run: stayWhileUsed(0, 2, 1)},
	{Name: "a used flavor, queue and check stay in this order", Run: stayWhileUsed(1, 0, 2)},
	{Name: "a used flavor, check and queue stay in this order", Run: stayWhileUsed(1, 2, 0)},
	{Name: "a used check, queue and flavor stay in this order", Run: stayWhileUsed(2, 0, 1)},
	{Name: "a used check, flavor and queue stay in this order", Run: stayWhileUsed(2, 1, 0)},
	{Name: "a flavor that its ClusterQueue gave up goes", Run: flavorGivenUp},
	{Name: "what is made and deleted at once goes", Run: madeAndDeleted},
}

func flavorGivenUp(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	cluster.Delete(t, harness.ResourceFlavors, "", queues.Real, metav1.DeletePropagationBackground)
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue,
		harness.ToJSON(t, map[string]any{"spec": harness.ClusterQueueOf("any", queues.Hollow).Object["spec"]}))
	cluster.AwaitGone(t, harness.ResourceFlavors, "", queues.Real)
}

func stayWhileUsed(order ...int) func(*testing.T, *harness.Cluster, harness.Queues) {
	return func(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
		check := queues.Namespace + "-check"
		cluster.CreateCheck(t, check)
		cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue,
			fmt.Sprintf(`{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":%q}]}}}`, check))
		cluster.CreateJob(t, queues.Namespace, harness.QueuedJob("train", 1))
		workload := cluster.WaitForWorkload(t, queues.Namespace, "train", "is there")
		cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)
		awaitActive(t, cluster, queues.Namespace, "train", 1, "hollow")
		objects := []used{
			{harness.ClusterQueues, queues.ClusterQueue}, {harness.ResourceFlavors, queues.Hollow}, {harness.AdmissionChecks, check},
		}
		for _, i := range order {
			cluster.Delete(t, objects[i].resource, "", objects[i].name, metav1.DeletePropagationBackground)
		}
		checkKept(t, cluster, objects)
		cluster.WaitForWorkload(t, queues.Namespace, "train", "runs on", harness.HasCondition("Admitted", "True", ""))
		cluster.EndHollowPods(t, queues.Namespace, 0)
		cluster.WaitForWorkload(t, queues.Namespace, "train", "has finished", harness.HasCondition("Finished", "True", "Succeeded"))
		for _, object := range objects {
			cluster.AwaitGone(t, object.resource, "", object.name)
		}
	}
}

// checkKept demands that all, the first of them a ClusterQueue, are deleted and held.
func checkKept(t *testing.T, cluster *harness.Cluster, objects []used) {
	t.Helper()
	// The queue says that it goes once muster has evaluated it.
	harness.Eventually(t, 20*time.Second, "the ClusterQueue is terminating", func() error {
		queue, err := cluster.Dynamic.Resource(harness.ClusterQueues).Get(context.Background(), objects[0].name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return harness.HasCondition("Active", "False", "Terminating")(queue)
	})
	for _, object := range objects {
		kept, err := cluster.Dynamic.Resource(object.resource).Get(harness.Context(t), object.name, metav1.GetOptions{})
		harness.Must(t, err)
		if finalizers := kept.GetFinalizers(); kept.GetDeletionTimestamp() == nil || len(finalizers) != 1 || finalizers[0] != harness.InUseFinalizer {
			t.Errorf("%s is deleted %v and has the finalizers %v", object.name, kept.GetDeletionTimestamp(), finalizers)
		}
	}
}

// madeAndDeleted makes queue objects and deletes them before muster can see them.
func madeAndDeleted(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	prefix, ctx := queues.Namespace, context.Background()
	const rounds = 50
	outcome := harness.Load(ctx, 16, rounds, func(number int) error {
		name := fmt.Sprintf("%s-%d", prefix, number)
		objects := map[schema.GroupVersionResource]*unstructured.Unstructured{
			harness.ClusterQueues: harness.ClusterQueueOf(name, name),
			harness.ResourceFlavors: {Object: map[string]any{
				"apiVersion": harness.ResourceFlavors.GroupVersion().String(), "kind": "ResourceFlavor", "metadata": map[string]any{"name": name},
			}},
		}
		for resource, object := range objects {
			if _, err := cluster.Dynamic.Resource(resource).Create(ctx, object, harness.ForReal); err != nil {
				return err
			}
		}
		for resource := range objects {
			if err := cluster.Dynamic.Resource(resource).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	for number := range rounds {
		name := fmt.Sprintf("%s-%d", prefix, number)
		cluster.AwaitGone(t, harness.ClusterQueues, "", name)
		cluster.AwaitGone(t, harness.ResourceFlavors, "", name)
	}
}
