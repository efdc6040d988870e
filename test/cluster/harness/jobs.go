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
	"k8s.io/apimachinery/pkg/types"
)

// CreateJob creates a Job and returns it as stored.
func (c *Cluster) CreateJob(t testing.TB, namespace string, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	made, err := c.Client.BatchV1().Jobs(namespace).Create(Context(t), job, ForReal)
	if err != nil {
		t.Fatalf("creating the Job %s: %v", job.Name, err)
	}
	return made
}

// WaitForJob waits until the Job has the condition, such as Complete or Failed.
func (c *Cluster) WaitForJob(t testing.TB, namespace, name string, within time.Duration,
	condition batchv1.JobConditionType) *batchv1.Job {
	t.Helper()
	var job *batchv1.Job
	Eventually(t, within, fmt.Sprintf("Job %s is %s", name, condition), func() error {
		var err error
		job, err = c.Client.BatchV1().Jobs(namespace).Get(Context(t), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, each := range job.Status.Conditions {
			if each.Type == condition && each.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("its status is %+v", job.Status)
	})
	return job
}

// HollowJob is a Job of that size on the hollow nodes.
func HollowJob(name string, pods int32) *batchv1.Job {
	job := Job(name, nil)
	job.Spec.Parallelism, job.Spec.Completions = &pods, &pods
	OnHollowNodes(&job.Spec.Template.Spec)
	return job
}

// AwaitNothingLeft waits until a JobSet and everything it owned is gone.
func AwaitNothingLeft(t *testing.T, cluster *Cluster, namespace, name string) {
	t.Helper()
	Eventually(t, time.Minute, "nothing left of "+name, func() error {
		_, err := cluster.Dynamic.Resource(JobSets).Namespace(namespace).Get(Context(t), name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the JobSet is there (%v)", err)
		}
		left, err := cluster.TryKubectl("", "get", "jobs,pods,services,configmaps", "-n", namespace, "-o", "name")
		if err == nil && left != "configmap/kube-root-ca.crt\n" {
			err = fmt.Errorf("left: %s", left)
		}
		return err
	})
}

// RealJob is a Job on the kubelet whose containers run a shell command.
func RealJob(name string, pods int32, command string) *batchv1.Job {
	job := Job(name, nil)
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &pods, &pods, new(int32)
	spec := &job.Spec.Template.Spec
	OnRealNode(spec)
	spec.TerminationGracePeriodSeconds = new(int64)
	main := &spec.Containers[0]
	main.Image, main.ImagePullPolicy = BusyboxImage, corev1.PullIfNotPresent
	main.Command = []string{"sh", "-c", command}
	return job
}

// PatchJob changes a Job by a merge patch.
func PatchJob(t *testing.T, cluster *Cluster, namespace, name, patch string) error {
	t.Helper()
	_, err := cluster.Client.BatchV1().Jobs(namespace).Patch(Context(t), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// GetJob reads a Job that is there.
func GetJob(t *testing.T, cluster *Cluster, namespace, name string) *batchv1.Job {
	t.Helper()
	job, err := cluster.Client.BatchV1().Jobs(namespace).Get(Context(t), name, metav1.GetOptions{})
	Must(t, err)
	return job
}

// AwaitStopped waits until a Job is suspended, no part of a stop is left to do and no
// pod of it runs.
func AwaitStopped(t *testing.T, cluster *Cluster, namespace, name string) *batchv1.Job {
	t.Helper()
	var job *batchv1.Job
	Eventually(t, time.Minute, name+" is stopped", func() error {
		var err error
		if job, err = cluster.Client.BatchV1().Jobs(namespace).Get(context.Background(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		if _, stopping := job.Annotations[StoppingAnnotation]; stopping || !Suspended(job) || job.Status.Active > 0 || job.Status.StartTime != nil {
			return fmt.Errorf("suspend %v, annotations %v, active %d, start time %v", Suspended(job), job.Annotations, job.Status.Active, job.Status.StartTime)
		}
		return nil
	})
	return job
}

// HeldFinalizer keeps what is deleted until a test removes it.
const HeldFinalizer = "example.com/held"

// Suspended is whether a Job is.
func Suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }
