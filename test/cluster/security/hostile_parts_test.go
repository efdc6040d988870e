package security

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.batch/test/cluster/harness"
)

// A tenant whose jobs are in a queue only if he says so tries to run pods under the name of another job, of one that does
// not exist, or of a Workload that is not for him. His queue has two CPUs.
func TestHostileTenantRunsNothingInAnothersName(t *testing.T) {
	h := addHostileTenant(t, startMusterForTenants(t, "integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, pod]}\n"))
	h.watchPods()
	t.Run("a queue in the template of a JobSet", h.namesQueueInTemplate)
	t.Run("a start between two looks", h.growsWhileSuspended)
	t.Run("a controller that is gone", h.outlivesItsController)
	t.Run("a Job of a JobSet, made beforehand", h.makesPartBeforehand)
	t.Run("the Workload of a group of pods", h.takesWorkloadOfGroup)
}

func (h *hostileTenant) in(t *testing.T) *hostileTenant {
	inner := *h
	inner.T = t
	return &inner
}

func (h *hostileTenant) delete(kind string, name string) {
	h.Helper()
	h.cluster.Kubectl(h.T, "", "delete", kind, name, "-n", h.namespace, "--wait")
}

func (h *hostileTenant) namesQueueInTemplate(t *testing.T) {
	h = h.in(t)
	set := h.jobSet("storm", "", 10)
	jobs, _, err := unstructured.NestedSlice(set.Object, "spec", "replicatedJobs")
	harness.Must(t, err)
	harness.Must(t, unstructured.SetNestedField(jobs[0].(map[string]any), "q", "template", "metadata", "labels", "kueue.x-k8s.io/queue-name"))
	harness.Must(t, unstructured.SetNestedSlice(set.Object, jobs, "spec", "replicatedJobs"))
	_, err = h.of(harness.JobSets).Create(harness.Context(t), set, harness.ForReal)
	h.refused("a queue in the template of a JobSet", err, "spec.replicatedJobs[0].template.metadata.labels")
}

func (h *hostileTenant) growsWhileSuspended(t *testing.T) {
	h = h.in(t)
	h.create(jobsOf, h.job("grows", "q", 2, manyCompletions))
	h.awaitPods(2)
	for range 3 {
		harness.Must(t, h.patch(jobsOf, "grows", spec(fields{"suspend": true, "parallelism": 40})))
		h.refused("a start of a Job that has grown", h.patch(jobsOf, "grows", spec(fields{"suspend": false})), "spec.suspend")
	}
	harness.Must(t, h.patch(jobsOf, "grows", spec(fields{"parallelism": 2})))
	h.awaitPods(2)
	elastic := fields{"metadata": fields{"annotations": fields{"kueue.x-k8s.io/elastic-job": "true"}}}
	harness.Must(t, h.patch(jobsOf, "grows", spec(fields{"suspend": true, "parallelism": 1})))
	if err := h.patch(jobsOf, "grows", elastic); err == nil {
		h.awaitPods(1)
		h.refused("growth of an elastic Job", h.patch(jobsOf, "grows", spec(fields{"parallelism": 40})), "spec.parallelism")
	}
	h.delete("job", "grows")
	h.awaitPods(0)
}

func manyCompletions(job *batchv1.Job) {
	completions := int32(1000)
	job.Spec.Completions = &completions
}

// The garbage collector cannot find the controller, because its version is not served, and leaves the Job.
func (h *hostileTenant) outlivesItsController(t *testing.T) {
	h = h.in(t)
	set := h.jobSet("elsewhere", "", 1)
	harness.Must(t, unstructured.SetNestedField(set.Object, "example.com/controller", "spec", "managedBy"))
	made := h.create(harness.JobSets, set)
	orphan := h.job("orphan", "q", 2, manyCompletions)
	owners := ownedBy(made)
	owners[0].(map[string]any)["apiVersion"] = "jobset.x-k8s.io/v1alpha1"
	harness.Must(t, unstructured.SetNestedSlice(orphan.Object, owners, "metadata", "ownerReferences"))
	// muster refuses a Job whose controller it has not seen yet.
	harness.Eventually(t, 10*time.Second, "the Job of the JobSet", func() error {
		_, err := h.of(jobsOf).Create(harness.Context(t), orphan, harness.ForReal)
		return err
	})
	h.awaitPods(2)
	h.delete("jobset", "elsewhere")
	harness.Must(t, h.patch(jobsOf, "orphan", spec(fields{"suspend": true, "parallelism": 40})))
	h.refused("a start without a controller", h.patch(jobsOf, "orphan", spec(fields{"suspend": false})), "spec.suspend")
	h.awaitPods(0)
	// It is queued by itself, as a Job without a controller.
	harness.Must(t, h.patch(jobsOf, "orphan", spec(fields{"parallelism": 2})))
	h.awaitPods(2)
	h.delete("job", "orphan")
	h.awaitPods(0)
}

func (h *hostileTenant) makesPartBeforehand(t *testing.T) {
	h = h.in(t)
	pods := func(cpu string) corev1.PodTemplateSpec {
		template := harness.OneCPU()
		template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
		return template
	}
	set := harness.JobSetOf("parts", harness.ReplicatedJob{Name: "a", Pods: 1, Template: pods("1")},
		harness.ReplicatedJob{Name: "b", Pods: 1, Template: pods("1")})
	harness.Must(t, unstructured.SetNestedField(set.Object, true, "spec", "suspend"))
	jobs, _, err := unstructured.NestedSlice(set.Object, "spec", "replicatedJobs")
	harness.Must(t, err)
	jobs[1].(map[string]any)["dependsOn"] = []any{map[string]any{"name": "a", "status": "Ready"}}
	harness.Must(t, unstructured.SetNestedSlice(set.Object, jobs, "spec", "replicatedJobs"))
	made := h.create(harness.JobSets, set)

	labels := h.awaitJob("parts-a-0").GetLabels()
	labels["jobset.sigs.k8s.io/replicatedjob-name"] = "b"
	part := harness.Job("parts-b-0", labels)
	suspend, one := true, int32(1)
	part.Spec.Suspend, part.Spec.Parallelism, part.Spec.Completions, part.Spec.Template = &suspend, &one, &one, pods("12")
	mode := batchv1.IndexedCompletion
	part.Spec.CompletionMode = &mode
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part)
	harness.Must(t, err)
	forged := &unstructured.Unstructured{Object: object}
	harness.Must(t, unstructured.SetNestedSlice(forged.Object, ownedBy(made), "metadata", "ownerReferences"))
	h.create(jobsOf, forged)

	harness.Must(t, h.patch(harness.JobSets, "parts", fields{"metadata": fields{"labels": fields{"kueue.x-k8s.io/queue-name": "q"}}}))
	// muster makes the Job again, with what the JobSet says.
	harness.Eventually(t, 2*time.Minute, "both Jobs run as the JobSet says", func() error {
		names, cpus := h.livePods()
		if cpus != 2000 {
			return fmt.Errorf("%dm by %v", cpus, names)
		}
		return nil
	})
	h.delete("jobset", "parts")
	h.awaitPods(0)
}

func (h *hostileTenant) takesWorkloadOfGroup(t *testing.T) {
	h = h.in(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one",
		Labels:      map[string]string{"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/pod-group-name": "group"},
		Annotations: map[string]string{"kueue.x-k8s.io/pod-group-total-count": "1", "kueue.x-k8s.io/role-hash": "main"}},
		Spec: harness.OneCPU().Spec}
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	pod.APIVersion, pod.Kind = "v1", "Pod"
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	harness.Must(t, err)
	h.create(podsOf, &unstructured.Unstructured{Object: object})
	h.cluster.AwaitWorkload(t, h.namespace, "group", "is admitted", harness.HasCondition("Admitted", "True", ""))

	job := h.job("thief", "q", 1, func(job *batchv1.Job) {
		job.Spec.Template.Spec = pod.Spec
		job.Labels["kueue.x-k8s.io/prebuilt-workload-name"] = "group"
	})
	h.create(jobsOf, job)
	harness.Eventually(t, time.Minute, "the Job is told that the Workload is not for it", func() error {
		return h.told("thief", "PrebuiltWorkloadTaken")
	})
	h.awaitPods(0)
}

// `told` asks whether there is an Event of this reason about a Job.
func (h *hostileTenant) told(job, reason string) error {
	events, err := h.cluster.Client.EventsV1().Events(h.namespace).List(harness.Context(h.T), metav1.ListOptions{})
	harness.Must(h.T, err)
	for i := range events.Items {
		if events.Items[i].Regarding.Name == job && events.Items[i].Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("no Event %s about Job %s", reason, job)
}
