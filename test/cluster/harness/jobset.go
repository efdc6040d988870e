package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Labels that JobSet puts on its Jobs and pods.
const (
	JobSetNameLabel     = "jobset.sigs.k8s.io/jobset-name"
	ReplicatedNameLabel = "jobset.sigs.k8s.io/replicatedjob-name"
	RestartAttemptLabel = "jobset.sigs.k8s.io/restart-attempt"
)

// ReplicatedJob is one entry of a JobSet's spec.replicatedJobs.
type ReplicatedJob struct {
	Name     string
	Replicas int64 // 0: one replica
	Pods     int64 // of each Job; 0: one pod
	Template corev1.PodTemplateSpec
	Extra    map[string]any // further fields, as dependsOn
}

// JobSetOf makes a JobSet whose Jobs do not repeat failed pods.
func JobSetOf(name string, replicatedJobs ...ReplicatedJob) *unstructured.Unstructured {
	var jobs []any
	for _, each := range replicatedJobs {
		template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&each.Template)
		if err != nil {
			panic(err)
		}
		job := map[string]any{
			"name": each.Name, "replicas": max(each.Replicas, 1),
			"template": map[string]any{"spec": map[string]any{
				"parallelism": max(each.Pods, 1), "completions": max(each.Pods, 1), "backoffLimit": int64(0),
				"template": template,
			}},
		}
		for key, value := range each.Extra {
			job[key] = value
		}
		jobs = append(jobs, job)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": JobSetGroup + "/v1alpha2", "kind": "JobSet",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"replicatedJobs": jobs},
	}}
}

// HollowPod is a template whose pods run on hollow nodes and end after this many seconds with that exit code; negative:
// never.
func HollowPod(seconds, exitCode int) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "example.test/main:1"}},
	}}
	if seconds >= 0 {
		template.Annotations = map[string]string{
			HollowRunSeconds: fmt.Sprint(seconds), HollowExitCode: fmt.Sprint(exitCode),
		}
	}
	OnHollowNodes(&template.Spec)
	return template
}

// RealPod is a template whose pods run a shell command on the kubelet.
func RealPod(command string) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64),
		Containers: []corev1.Container{{
			Name: "main", Image: BusyboxImage, ImagePullPolicy: corev1.PullIfNotPresent,
			Command: []string{"sh", "-c", command},
		}},
	}}
	OnRealNode(&template.Spec)
	return template
}

// CreateJobSet creates it and returns it as stored.
func (c *Cluster) CreateJobSet(t testing.TB, namespace string, jobSet *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made, err := c.Dynamic.Resource(JobSets).Namespace(namespace).Create(Context(t), jobSet, ForReal)
	if err != nil {
		t.Fatalf("creating the JobSet %s: %v", jobSet.GetName(), err)
	}
	return made
}

// PatchJobSet applies a JSON merge patch.
func (c *Cluster) PatchJobSet(t testing.TB, namespace, name, patch string) {
	t.Helper()
	_, err := c.Dynamic.Resource(JobSets).Namespace(namespace).Patch(Context(t), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("patching the JobSet %s: %v", name, err)
	}
}

// WaitForJobSet waits until the condition gives no error.
func (c *Cluster) WaitForJobSet(t testing.TB, namespace, name string, within time.Duration, what string,
	condition func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	jobSets := c.Dynamic.Resource(JobSets).Namespace(namespace)
	var jobSet *unstructured.Unstructured
	Eventually(t, within, "JobSet "+name+": "+what, func() error {
		var err error
		if jobSet, err = jobSets.Get(Context(t), name, metav1.GetOptions{}); err != nil {
			return err
		}
		return condition(jobSet)
	})
	return jobSet
}

// HasCondition is a condition for WaitForJobSet: of that type, status and reason
// (any, when empty).
func HasCondition(kind, status, reason string) func(*unstructured.Unstructured) error {
	return func(object *unstructured.Unstructured) error {
		found := ConditionOf(object, kind)
		if found["status"] != status || (reason != "" && found["reason"] != reason) {
			return fmt.Errorf("%s is %v; status %v", kind, found, object.Object["status"])
		}
		return nil
	}
}

// ConditionOf is a condition of an object's status; empty when the object does not have it.
func ConditionOf(object *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range list {
		if condition, ok := each.(map[string]any); ok && condition["type"] == kind {
			return condition
		}
	}
	return map[string]any{}
}

// PodsOfJobSet lists the pods of a JobSet.
func (c *Cluster) PodsOfJobSet(t testing.TB, namespace, name string) []corev1.Pod {
	t.Helper()
	pods, err := c.podsWith(namespace, JobSetNameLabel, name)
	if err != nil {
		t.Fatalf("listing the pods of %s: %v", name, err)
	}
	return pods
}

// WaitForNoPods waits until the JobSet has no pod, not even one that is being deleted.
func (c *Cluster) WaitForNoPods(t testing.TB, namespace, jobSet string) {
	t.Helper()
	Eventually(t, time.Minute, "no pods of "+jobSet, func() error {
		pods, err := c.podsWith(namespace, JobSetNameLabel, jobSet)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d pods; %s", len(pods), describe(pods))
		}
		return err
	})
}

// WaitForJobSetPods waits until exactly this many pods that are not being deleted
// satisfy the condition, and returns them.
func (c *Cluster) WaitForJobSetPods(t testing.TB, namespace, name string, count int, within time.Duration, what string,
	condition func(*corev1.Pod) bool) []corev1.Pod {
	t.Helper()
	var found []corev1.Pod
	Eventually(t, within, fmt.Sprintf("%d pods of %s: %s", count, name, what), func() error {
		all, err := c.podsWith(namespace, JobSetNameLabel, name)
		if err != nil {
			return err
		}
		found = nil
		for _, pod := range all {
			if pod.DeletionTimestamp == nil && condition(&pod) {
				found = append(found, pod)
			}
		}
		if len(found) != count {
			return fmt.Errorf("%d of %d pods; %s", len(found), len(all), describe(all))
		}
		return nil
	})
	return found
}

// MainStarted is true once the main container runs or has run.
func MainStarted(pod *corev1.Pod) bool { return !StartedAt(pod, "main").IsZero() }

// WaitForEvent waits until the Events with that name about an object, together, contain all these texts. An
// Event is written after the change that it reports.
func (c *Cluster) WaitForEvent(t testing.TB, namespace, about string, texts ...string) {
	t.Helper()
	Eventually(t, 20*time.Second, fmt.Sprintf("events about %s tell of %q", about, texts), func() error {
		events, err := c.eventsAbout(namespace, about)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !strings.Contains(events, text) {
				return fmt.Errorf("events:\n%s", events)
			}
		}
		return nil
	})
}

// eventsAbout lists the Events about an object by that name, as "Reason: note".
func (c *Cluster) eventsAbout(namespace, name string) (string, error) {
	list, err := c.Client.EventsV1().Events(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	text := ""
	for _, event := range list.Items {
		if event.Regarding.Name == name {
			text += event.Reason + ": " + event.Note + "\n"
		}
	}
	return text, nil
}
