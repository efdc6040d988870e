package operations

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.batch/test/cluster/harness"
)

// Any user who can create Jobs can create them with the largest template that etcd takes.
func TestJobsInNoQueueTakeLittleMemory(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.StartMuster(t)
	queues := cluster.Queues(t)
	before := muster.ResidentKiB(t)
	argument := strings.Repeat("y", 1000)
	for number := range 60 {
		job := harness.Job(fmt.Sprint("large-", number), nil)
		suspend := true
		job.Spec.Suspend = &suspend
		args := []string{fmt.Sprint(number)}
		for range 1400 {
			args = append(args, argument)
		}
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Args: args}}
		cluster.CreateJob(t, queues.Namespace, job)
	}
	// Events of one kind come in order: when muster has seen this Job, it has seen the others.
	cluster.CreateJob(t, queues.Namespace, harness.Job("last", harness.Queue(harness.LocalQueueName)))
	cluster.WaitForWorkload(t, queues.Namespace, "last", "exists")
	grown := muster.ResidentKiB(t) - before
	harness.Figure(t, "60 Jobs of 1.4 MB in no queue: muster grew by %.1f MiB", float64(grown)/1024)
	if grown > 40*1024 {
		t.Errorf("60 Jobs in no queue made muster grow by %d KiB", grown)
	}
}
