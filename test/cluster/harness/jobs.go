package harness

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
