package harness

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Teams are queues in which muster's scheduler decides. All objects outside of their namespace have its name as
// a prefix, so that one cluster can have many; the functions below use the short names. Their pods run on
// hollow nodes.
type Teams struct {
	Namespace string
	t         testing.TB
	cluster   *Cluster
	made      []ofCluster
}

type ofCluster struct {
	kind schema.GroupVersionResource
	name string
}

// Teams creates the namespace. At the test's end the jobs are deleted, and muster, which must run, gets some
// time to remove its finalizers: an object that stays fails the test.
func (c *Cluster) Teams(t testing.TB) *Teams {
	t.Helper()
	teams := &Teams{Namespace: c.Namespace(t, nil), t: t, cluster: c}
	t.Cleanup(func() {
		c.leaveQueues(t, teams.Namespace)
		for _, each := range teams.made {
			_ = c.Dynamic.Resource(each.kind).Delete(context.Background(), each.name, metav1.DeleteOptions{})
		}
		for _, each := range teams.made {
			c.removeInUse(t, each.kind, each.name)
		}
	})
	return teams
}

// Name is how an object outside of the namespace is really called.
func (s *Teams) Name(short string) string { return s.Namespace + "-" + short }

// make makes an object outside of the namespace.
func (s *Teams) make(kind schema.GroupVersionResource, object *unstructured.Unstructured) {
	s.t.Helper()
	s.cluster.Create(s.t, kind, "", object)
	s.made = append(s.made, ofCluster{kind, object.GetName()})
}

// Flavor makes a ResourceFlavor of the hollow nodes.
func (s *Teams) Flavor(short string) {
	s.t.Helper()
	s.flavorOf(short, "hollow")
}

// RealFlavor makes a ResourceFlavor of the real node.
func (s *Teams) RealFlavor(short string) {
	s.t.Helper()
	s.flavorOf(short, "real")
}

// SoldOut creates a ResourceFlavor of nodes that do not exist and cannot be bought.
func (s *Teams) SoldOut(short string) {
	s.t.Helper()
	s.flavorOf(short, "sold-out")
}

// AnyNode creates a flavor without node labels, for a resource group beside one with node labels.
func (s *Teams) AnyNode(short string) {
	s.t.Helper()
	s.make(ResourceFlavors, queueObject("ResourceFlavor", s.Name(short), map[string]any{}))
}

func (s *Teams) flavorOf(short, nodes string) {
	s.t.Helper()
	s.make(ResourceFlavors, queueObject("ResourceFlavor", s.Name(short), map[string]any{
		"nodeLabels":  map[string]any{NodeLabel: nodes},
		"tolerations": []any{map[string]any{"key": NodeLabel, "operator": "Equal", "value": nodes, "effect": "NoSchedule"}},
	}))
}

// FlavorOf is the short name of the flavor of the cpus of a Workload's first pod set.
func (s *Teams) FlavorOf(workload *unstructured.Unstructured) string {
	for _, podSet := range objectsIn(workload.Object, "status", "admission", "podSetAssignments") {
		flavor, _, _ := unstructured.NestedString(podSet, "flavors", "cpu")
		return strings.TrimPrefix(flavor, s.Namespace+"-")
	}
	return ""
}

// Class makes a WorkloadPriorityClass.
func (s *Teams) Class(short string, value int64) {
	s.t.Helper()
	s.cluster.CreatePriorityClass(s.t, s.Name(short), value)
}

// Cpus is a resource group of cpu with so much of each flavor, as "flavor=nominal" or
// "flavor=nominal+borrowing".
func (s *Teams) Cpus(quotas ...string) map[string]any {
	var flavors []any
	for _, each := range quotas {
		flavor, amount, _ := strings.Cut(each, "=")
		nominal, borrowing, limited := strings.Cut(amount, "+")
		cpu := map[string]any{"name": "cpu", "nominalQuota": nominal}
		if limited {
			cpu["borrowingLimit"] = borrowing
		}
		flavors = append(flavors, map[string]any{"name": s.Name(flavor), "resources": []any{cpu}})
	}
	return map[string]any{"resourceGroups": []any{map[string]any{"coveredResources": []any{"cpu"}, "flavors": flavors}}}
}

// Queue makes a ClusterQueue, with these fields of its spec, and a LocalQueue of its
// short name.
func (s *Teams) Queue(short string, specs ...map[string]any) {
	s.t.Helper()
	spec := map[string]any{"namespaceSelector": map[string]any{}}
	for _, each := range specs {
		maps.Copy(spec, each)
	}
	s.make(ClusterQueues, queueObject("ClusterQueue", s.Name(short), spec))
	s.cluster.Create(s.t, LocalQueues, s.Namespace, LocalQueueOf(short, s.Name(short)))
}

// InCohort is a field for Queue.
func (s *Teams) InCohort(short string) map[string]any {
	return map[string]any{"cohortName": s.Name(short)}
}

// Cohort makes one below a parent.
func (s *Teams) Cohort(short, parent string) {
	s.t.Helper()
	s.make(Cohorts, queueObject("Cohort", s.Name(short), map[string]any{"parentName": s.Name(parent)}))
}

// Change patches the spec of a ClusterQueue.
func (s *Teams) Change(short string, spec map[string]any) {
	s.t.Helper()
	s.cluster.Patch(s.t, ClusterQueues, "", s.Name(short), ToJSON(s.t, map[string]any{"spec": spec}))
}

// MoveToTop removes a Cohort's parent.
func (s *Teams) MoveToTop(short string) {
	s.t.Helper()
	s.cluster.Patch(s.t, Cohorts, "", s.Name(short), `{"spec":{"parentName":null}}`)
}

// Job makes a Job in a queue: this many pods of this many cpus each, which run until they are
// ended. `edit` can change it before.
func (s *Teams) Job(queue, name string, pods int32, cpu string, edit ...func(*batchv1.Job)) {
	s.t.Helper()
	job := Job(name, Queue(queue))
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &pods, &pods, new(int32)
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	for _, each := range edit {
		each(job)
	}
	s.cluster.CreateJob(s.t, s.Namespace, job)
}

// OfClass gives a Job a priority.
func (s *Teams) OfClass(short string) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Labels[PriorityLabel] = s.Name(short) }
}

// Kubectl runs it in the namespace.
func (s *Teams) Kubectl(arguments ...string) string {
	s.t.Helper()
	return s.cluster.Kubectl(s.t, "", append(arguments, "-n", s.Namespace)...)
}

// Await waits until the conditions of the Workload of a Job have this state.
func (s *Teams) Await(job, what string, conditions ...func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	s.t.Helper()
	return s.cluster.WaitForWorkload(s.t, s.Namespace, job, what, conditions...)
}

// Delete removes a job, and waits until its Workload is gone too. Garbage collection needs up to 30 s for a kind whose
// CRD is new.
func (s *Teams) Delete(resource, job string) {
	s.t.Helper()
	s.Kubectl("delete", resource, job)
	Eventually(s.t, time.Minute, job+" is gone", func() error {
		owned, err := s.cluster.workloadsOf(s.Namespace, job)
		if err == nil && len(owned) > 0 {
			err = fmt.Errorf("its Workload is there: %v", owned[0].Object["metadata"])
		}
		return err
	})
}

// `Told` waits until the Events about a Job's Workload, together, contain all these texts.
func (s *Teams) Told(job string, texts ...string) {
	s.t.Helper()
	s.cluster.WaitForEvent(s.t, s.Namespace, s.Await(job, "is there").GetName(), texts...)
}

// Admitted waits until these Jobs are.
func (s *Teams) Admitted(jobs ...string) {
	s.t.Helper()
	for _, job := range jobs {
		s.Await(job, "is admitted", HasCondition("Admitted", "True", ""), HasCondition("QuotaReserved", "True", ""))
	}
}

// Waits waits until the Workload of a Job has no quota for that reason, with these words in its message.
func (s *Teams) Waits(job, reason string, words ...string) {
	s.t.Helper()
	s.Await(job, "waits: "+reason, FieldIs(nil, "status", "admission"), HasCondition("QuotaReserved", "False", reason),
		func(workload *unstructured.Unstructured) error {
			message := fmt.Sprint(ConditionOf(workload, "QuotaReserved")["message"])
			for _, word := range words {
				if !strings.Contains(message, word) {
					return fmt.Errorf("it says %q and nothing of %q", message, word)
				}
			}
			return nil
		})
}

// AdmittedOf counts which of these Jobs are admitted.
func (s *Teams) AdmittedOf(jobs ...string) (names []string, err error) {
	list, err := s.cluster.Dynamic.Resource(Workloads).Namespace(s.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		for i := range list.Items {
			owner := metav1.GetControllerOf(&list.Items[i])
			if owner != nil && owner.Name == job && HasCondition("Admitted", "True", "")(&list.Items[i]) == nil {
				names = append(names, job)
			}
		}
	}
	return names, nil
}

// AwaitSome waits until exactly this many of these Jobs are admitted, and returns them.
func (s *Teams) AwaitSome(count int, jobs ...string) (names []string) {
	s.t.Helper()
	Eventually(s.t, time.Minute, fmt.Sprintf("%d of %v are admitted", count, jobs), func() error {
		var err error
		if names, err = s.AdmittedOf(jobs...); err == nil && len(names) != count {
			err = fmt.Errorf("%v are", names)
		}
		return err
	})
	return names
}

// End lets the Jobs succeed.
func (s *Teams) End(jobs ...string) {
	s.t.Helper()
	for _, job := range jobs {
		Eventually(s.t, time.Minute, "the pods of "+job+" end", func() error {
			pods, err := s.cluster.podsWith(s.Namespace, jobNameLabel, job)
			if err != nil {
				return err
			}
			ended := 0
			for i := range pods {
				if pods[i].DeletionTimestamp != nil {
					continue
				}
				if err := s.cluster.endHollowPod(&pods[i], 0); err != nil && !apierrors.IsNotFound(err) {
					return err
				}
				ended++
			}
			if ended == 0 {
				return fmt.Errorf("it has none")
			}
			_, err = s.cluster.WorkloadOf(s.Namespace, job, HasCondition("Finished", "True", "Succeeded"))
			return err
		})
	}
}

// RunsWith waits until a Job has exactly this many running pods.
func (s *Teams) RunsWith(job string, pods int) {
	s.t.Helper()
	s.cluster.WaitForPods(s.t, s.Namespace, job, pods, time.Minute, "running", func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
	})
}

// QueueIs waits until a ClusterQueue is active, or not, for that reason and with these
// words.
func (s *Teams) QueueIs(short, active, reason, words string) {
	s.t.Helper()
	s.awaitQueue(short, "is active "+active, func(queue *unstructured.Unstructured) error {
		if message := fmt.Sprint(ConditionOf(queue, "Active")["message"]); !strings.Contains(message, words) {
			return fmt.Errorf("it says %q and nothing of %q", message, words)
		}
		return HasCondition("Active", active, reason)(queue)
	})
}

// QueueUses waits until the status of a ClusterQueue says how much cpu is used, over all
// flavors.
func (s *Teams) QueueUses(short, cpu string) {
	s.t.Helper()
	s.awaitQueue(short, "uses "+cpu, func(queue *unstructured.Unstructured) error {
		sum := resource.Quantity{}
		for _, flavor := range objectsIn(queue.Object, "status", "flavorsUsage") {
			for _, each := range objectsIn(flavor, "resources") {
				sum.Add(quantity(each["total"]))
			}
		}
		if sum.Cmp(resource.MustParse(cpu)) != 0 {
			return fmt.Errorf("it uses %s; status %v", sum.String(), queue.Object["status"])
		}
		return nil
	})
}

func (s *Teams) awaitQueue(short, what string, condition func(*unstructured.Unstructured) error) {
	s.t.Helper()
	Eventually(s.t, time.Minute, "ClusterQueue "+short+" "+what, func() error {
		queue, err := s.cluster.Dynamic.Resource(ClusterQueues).Get(context.Background(), s.Name(short), metav1.GetOptions{})
		if err != nil {
			return err
		}
		return condition(queue)
	})
}

// SetActive pauses the Workload of a Job, as a user does.
func (s *Teams) SetActive(job string, active bool) {
	s.t.Helper()
	s.cluster.SetActive(s.t, s.Await(job, "is there"), active)
}

// TryPatch patches the Workload of a Job as a user does: a JSON merge patch.
func (s *Teams) TryPatch(job, patch string) error {
	workload := s.Await(job, "is there")
	_, err := s.cluster.Dynamic.Resource(Workloads).Namespace(s.Namespace).Patch(context.Background(), workload.GetName(),
		types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// NextSecond waits until a new timestamp is later than all earlier ones: Kubernetes' timestamps are whole
// seconds.
func (s *Teams) NextSecond() {
	s.t.Helper()
	began := time.Now().Unix()
	Eventually(s.t, 5*time.Second, "the next second", func() error {
		if now := time.Now(); now.Unix() == began {
			return fmt.Errorf("it is %s", now)
		}
		return nil
	})
}

// PreemptByPriority is the policy of a queue in which the higher priority preempts the lower.
func PreemptByPriority() map[string]any {
	return map[string]any{"preemption": map[string]any{"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}}
}

// OneRunsAndOneWaits fills the queue q with the Job "runs", behind which "waits" does.
func OneRunsAndOneWaits(teams *Teams) {
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"))
	teams.Job("q", "runs", 1, "1")
	teams.Admitted("runs")
	teams.Job("q", "waits", 1, "1")
	teams.Waits("waits", "WaitingForQuota")
}
