package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// reconcile does the next step for every JobSet: Jobs of the current attempt, suspend and resume, restarts, the
// end, and TTL. Errors are retried in the next round.
func (f *ForeignJobSet) reconcile(ctx context.Context) {
	list, err := f.cluster.Dynamic.Resource(JobSets).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for index := range list.Items {
		if list.Items[index].GetDeletionTimestamp() == nil {
			_ = f.reconcileOne(ctx, &list.Items[index])
		}
	}
}

func (f *ForeignJobSet) reconcileOne(ctx context.Context, jobSet *unstructured.Unstructured) error {
	jobs, err := f.cluster.Client.BatchV1().Jobs(jobSet.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: JobSetNameLabel + "=" + jobSet.GetName()})
	if err != nil {
		return err
	}
	for _, kind := range []string{"Failed", "Completed"} {
		if end := ConditionOf(jobSet, kind); end["status"] == "True" {
			return f.cleanUp(ctx, jobSet, fmt.Sprint(end["lastTransitionTime"]), jobs.Items)
		}
	}
	restarts, _, _ := unstructured.NestedInt64(jobSet.Object, "status", "restarts")
	current := map[string]*batchv1.Job{}
	for index := range jobs.Items {
		job := &jobs.Items[index]
		if !metav1.IsControlledBy(job, jobSet) || job.DeletionTimestamp != nil {
			continue
		}
		if job.Labels[RestartAttemptLabel] != fmt.Sprint(restarts) {
			if err := f.deleteJob(ctx, job, metav1.DeletePropagationForeground); err != nil {
				return err
			}
			continue
		}
		current[job.Name] = job
	}
	if ended, err := f.end(ctx, jobSet, restarts, current); ended || err != nil {
		return err
	}
	if counts := countsOf(jobSet, current); !reflect.DeepEqual(counts, fieldOf(jobSet, "status", "replicatedJobsStatus")) {
		Set(jobSet, counts, "status", "replicatedJobsStatus")
		return f.writeStatus(ctx, jobSet)
	}
	return f.makeAndSuspend(ctx, jobSet, restarts, current)
}

// countsOf is status.replicatedJobsStatus: how many Jobs of each replicated job are in which state.
func countsOf(jobSet *unstructured.Unstructured, jobs map[string]*batchv1.Job) []any {
	var all []any
	replicated, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	for _, each := range replicated {
		name := each.(map[string]any)["name"]
		counts := map[string]any{"name": name, "ready": int64(0), "active": int64(0), "succeeded": int64(0), "failed": int64(0), "suspended": int64(0)}
		count := func(state string, is bool) {
			if is {
				counts[state] = counts[state].(int64) + 1
			}
		}
		for _, job := range jobs {
			if job.Labels[ReplicatedNameLabel] == name {
				ready := job.Status.Ready != nil && *job.Status.Ready >= *job.Spec.Parallelism
				count("ready", ready)
				count("active", job.Status.Active > 0)
				count("succeeded", jobIs(job, batchv1.JobComplete))
				count("failed", jobIs(job, batchv1.JobFailed))
				count("suspended", *job.Spec.Suspend)
			}
		}
		all = append(all, counts)
	}
	return all
}

func fieldOf(object *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	return value
}

// cleanUp deletes the Jobs of a finished JobSet, and the JobSet itself after its TTL.
func (f *ForeignJobSet) cleanUp(ctx context.Context, jobSet *unstructured.Unstructured, over string, jobs []batchv1.Job) error {
	var all error
	for index := range jobs {
		if jobs[index].Status.CompletionTime == nil {
			all = errors.Join(all, f.deleteJob(ctx, &jobs[index], metav1.DeletePropagationBackground))
		}
	}
	ttl, limited, _ := unstructured.NestedInt64(jobSet.Object, "spec", "ttlSecondsAfterFinished")
	since, err := time.Parse(time.RFC3339, over)
	if limited && err == nil && time.Since(since) > time.Duration(ttl)*time.Second {
		all = errors.Join(all, f.cluster.Dynamic.Resource(JobSets).Namespace(jobSet.GetNamespace()).Delete(ctx, jobSet.GetName(),
			metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
	}
	return all
}

// end writes the results of the Jobs of this attempt into the JobSet: its next attempt, its failure or its
// completion.
func (f *ForeignJobSet) end(ctx context.Context, jobSet *unstructured.Unstructured, restarts int64, jobs map[string]*batchv1.Job) (bool, error) {
	complete := 0
	for _, job := range jobs {
		if jobIs(job, batchv1.JobFailed) {
			allowed, _, _ := unstructured.NestedInt64(jobSet.Object, "spec", "failurePolicy", "maxRestarts")
			if restarts < allowed {
				Set(jobSet, restarts+1, "status", "restarts")
				return true, f.writeStatus(ctx, jobSet)
			}
			setCondition(jobSet, "Failed", "True", "FailedJobs", "jobset failed due to one or more job failures")
			return true, f.writeStatus(ctx, jobSet)
		}
		if jobIs(job, batchv1.JobComplete) {
			complete++
		}
	}
	if complete == 0 || complete < len(childrenOf(jobSet, restarts)) {
		return false, nil
	}
	setCondition(jobSet, "Completed", "True", "AllJobsCompleted", "jobset completed successfully")
	return true, f.writeStatus(ctx, jobSet)
}

// makeAndSuspend creates the missing Jobs, and suspends or resumes the existing Jobs.
func (f *ForeignJobSet) makeAndSuspend(ctx context.Context, jobSet *unstructured.Unstructured, restarts int64, jobs map[string]*batchv1.Job) error {
	var all error
	suspend, _, _ := unstructured.NestedBool(jobSet.Object, "spec", "suspend")
	for _, wanted := range childrenOf(jobSet, restarts) {
		live, found := jobs[wanted.Name]
		switch {
		case !found:
			wanted.Spec.Suspend = &suspend
			_, err := f.cluster.Client.BatchV1().Jobs(wanted.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
			all = errors.Join(all, err)
		case suspend && !*live.Spec.Suspend:
			live.Spec.Suspend = &suspend
			_, err := f.cluster.Client.BatchV1().Jobs(live.Namespace).Update(ctx, live, metav1.UpdateOptions{})
			all = errors.Join(all, err)
		case !suspend && *live.Spec.Suspend:
			all = errors.Join(all, f.resume(ctx, live, wanted))
		}
	}
	return all
}

// resume starts a Job with the placement and the names of its pods that the JobSet has now.
func (f *ForeignJobSet) resume(ctx context.Context, live, wanted *batchv1.Job) error {
	jobs := f.cluster.Client.BatchV1().Jobs(live.Namespace)
	if live.Status.StartTime != nil {
		live.Status.StartTime = nil
		written, err := jobs.UpdateStatus(ctx, live, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		live = written
	}
	template := &live.Spec.Template
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	maps.Copy(template.Annotations, wanted.Spec.Template.Annotations)
	maps.Copy(template.Labels, wanted.Spec.Template.Labels)
	template.Spec.NodeSelector = wanted.Spec.Template.Spec.NodeSelector
	template.Spec.Tolerations = wanted.Spec.Template.Spec.Tolerations
	template.Spec.SchedulingGates = wanted.Spec.Template.Spec.SchedulingGates
	live.Spec.Suspend = new(bool)
	_, err := jobs.Update(ctx, live, metav1.UpdateOptions{})
	return err
}

func (f *ForeignJobSet) deleteJob(ctx context.Context, job *batchv1.Job, how metav1.DeletionPropagation) error {
	return f.cluster.Client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: &how})
}

func (f *ForeignJobSet) writeStatus(ctx context.Context, jobSet *unstructured.Unstructured) error {
	_, err := f.cluster.Dynamic.Resource(JobSets).Namespace(jobSet.GetNamespace()).UpdateStatus(ctx, jobSet, metav1.UpdateOptions{})
	return err
}

func jobIs(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	for _, condition := range job.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// childrenOf are the Jobs of an attempt, with the labels that matter.
func childrenOf(jobSet *unstructured.Unstructured, attempt int64) []*batchv1.Job {
	var all []*batchv1.Job
	replicated, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	for _, each := range replicated {
		fields := each.(map[string]any)
		replicas, found, _ := unstructured.NestedInt64(fields, "replicas")
		if !found {
			replicas = 1
		}
		for index := range replicas {
			all = append(all, childOf(jobSet, fields, index, attempt))
		}
	}
	return all
}

func childOf(jobSet *unstructured.Unstructured, replicated map[string]any, index, attempt int64) *batchv1.Job {
	job := &batchv1.Job{}
	template, _, _ := unstructured.NestedMap(replicated, "template")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, job); err != nil {
		panic(err)
	}
	name := fmt.Sprint(replicated["name"])
	labels := map[string]string{
		JobSetNameLabel: jobSet.GetName(), "jobset.sigs.k8s.io/jobset-uid": string(jobSet.GetUID()),
		ReplicatedNameLabel: name, RestartAttemptLabel: fmt.Sprint(attempt), "jobset.sigs.k8s.io/job-index": fmt.Sprint(index),
	}
	job.Name, job.Namespace, job.Labels = fmt.Sprintf("%s-%s-%d", jobSet.GetName(), name, index), jobSet.GetNamespace(), labels
	if job.Spec.Template.Labels == nil {
		job.Spec.Template.Labels = map[string]string{}
	}
	maps.Copy(job.Spec.Template.Labels, labels)
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(jobSet, jobSet.GroupVersionKind())}
	indexed := batchv1.IndexedCompletion
	job.Spec.CompletionMode = &indexed
	return job
}

// Guard refuses changes of spec.replicatedJobs while the JobSet runs, as upstream's webhook does. It acts when this returns.
func (f *ForeignJobSet) Guard(t testing.TB) {
	t.Helper()
	f.cluster.Kubectl(t, `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "foreign-jobset"},
		"spec": {"failurePolicy": "Fail",
			"matchConstraints": {"resourceRules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["jobsets"]}]},
			"validations": [{"message": "spec.replicatedJobs: field is immutable",
				"expression": "object.spec.?suspend.orValue(false) || oldObject.spec.?suspend.orValue(false) || object.spec.replicatedJobs == oldObject.spec.replicatedJobs"}]}}`,
		"apply", "-f", "-")
	t.Cleanup(func() {
		f.cluster.Kubectl(t, "", "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "foreign-jobset", "--ignore-not-found")
	})
	f.cluster.Kubectl(t, `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
		"metadata": {"name": "foreign-jobset"}, "spec": {"policyName": "foreign-jobset", "validationActions": ["Deny"]}}`, "apply", "-f", "-")

	namespace := f.cluster.Namespace(t, nil)
	running := JobSetOf("guarded", ReplicatedJob{Name: "workers", Template: HollowPod(-1, 0)})
	f.cluster.CreateJobSet(t, namespace, running)
	jobSets := f.cluster.Dynamic.Resource(JobSets).Namespace(namespace)
	Eventually(t, time.Minute, "the policy acts", func() error {
		live, err := jobSets.Get(Context(t), running.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		replicated, _, _ := unstructured.NestedSlice(live.Object, "spec", "replicatedJobs")
		replicated[0].(map[string]any)["groupName"] = "another"
		Set(live, replicated, "spec", "replicatedJobs")
		_, err = jobSets.Update(Context(t), live, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'foreign-jobset'") {
			return fmt.Errorf("the change is answered with %v", err)
		}
		return nil
	})
}
