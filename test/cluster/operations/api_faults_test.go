package operations

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// The way to the API server is broken in ways that a real API server cannot be asked for, and
// the API server itself hangs. Nothing that runs is affected, and muster ends when it gets the signal.

// A load balancer without a backend answers for the kinds that decide about running jobs.
func TestWrongAnswersStopNothing(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	wire := cluster.Wire(t)
	harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=6"))
	for _, name := range []string{"one", "two"} {
		teams.Job("a", name, 2, "1")
		teams.RunsWith(name, 2)
	}
	jobs := cluster.Client.BatchV1().Jobs(teams.Namespace)
	t.Cleanup(func() { wire.AnswerWrongly(nil) }) // what follows the test needs muster
	watcher, err := jobs.Watch(context.Background(), metav1.ListOptions{})
	harness.Must(t, err)
	defer watcher.Stop()

	for _, answer := range []harness.WrongAnswer{
		{Status: http.StatusNotFound, Body: "<html>no backend</html>"},
		{Status: http.StatusForbidden, Body: "<html>log in first</html>"},
		{Status: http.StatusGone, Body: "gone"},
		{Status: http.StatusInternalServerError, Body: "oops"},
		{Status: http.StatusOK, Body: "<html>maintenance</html>"},
		{Status: http.StatusOK, Body: `{"kind":"WorkloadList","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"resourceVersion":"1"},"it`},
	} {
		before := wire.WrongAnswers()
		wire.AnswerWrongly(&answer, "workloads", "jobs", "localqueues", "clusterqueues", "resourceflavors", "namespaces")
		harness.Eventually(t, 2*time.Minute, fmt.Sprintf("muster meets answers with %d", answer.Status), func() error {
			if met := wire.WrongAnswers() - before; met < 8 {
				return fmt.Errorf("%d so far", met)
			}
			return nil
		})
	}
	wire.AnswerWrongly(nil)
	// Another one starts, so all watches are back; the first two have run all the time.
	teams.Job("a", "three", 2, "1")
	teams.RunsWith("three", 2)
	for {
		select {
		case event := <-watcher.ResultChan():
			job, ok := event.Object.(*batchv1.Job)
			if ok && job.Name != "three" && job.Spec.Suspend != nil && *job.Spec.Suspend {
				t.Errorf("Job %s was suspended", job.Name)
			}
			continue
		default:
		}
		break
	}
	teams.RunsWith("one", 2)
	teams.RunsWith("two", 2)
	teams.End("one", "two", "three")
}

// While the API server does not answer, muster serves its probes, is unready, and goes on trying; and ends at
// SIGTERM within its grace period.
func TestStartsAndEndsWithoutAnApiServer(t *testing.T) {
	cluster := harness.Connect(t)
	t.Run("it refuses connections, and is there later", func(t *testing.T) {
		wire := cluster.Wire(t)
		wire.Cut(true)
		muster := harness.SpawnMuster(t, func() {}, "--kubeconfig", wire.Kubeconfig)
		muster.AwaitHealthy(t)
		if muster.Ready() == nil {
			t.Error("ready without an API server")
		}
		wire.Cut(false)
		harness.Eventually(t, 60*time.Second, "muster is ready once the API server is there", muster.Ready)
		muster.Stop(t)
	})
	t.Run("it hangs", func(t *testing.T) {
		var resume func()
		muster := harness.SpawnMuster(t, func() { resume = cluster.SuspendAPIServer(t) })
		defer resume()
		muster.AwaitHealthy(t)
		if muster.Ready() == nil {
			t.Error("ready without an API server")
		}
		muster.Stop(t) // demands that it ends in time and well
	})
	t.Run("it hangs later", func(t *testing.T) {
		muster := harness.LaunchMuster(t)
		resume := cluster.SuspendAPIServer(t)
		defer resume()
		muster.Stop(t)
	})
}
