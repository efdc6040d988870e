package queues

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// While no webhook is registered, a user gives a Workload with quota to an object that muster does not run. muster could
// not preempt it then: it gives the Workload back to its Job, and says so.
func TestAWorkloadWhoseControllerWasReplacedGoesBackToItsJob(t *testing.T) {
	cluster := harness.Connect(t)
	harness.LaunchMuster(t, "--jobset-controller", "native")
	teams := cluster.Teams(t)
	ns := teams.Namespace
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=2"))
	job := harness.QueuedJob("train", 1)
	job.Labels[harness.QueueLabel] = "a"
	cluster.CreateJob(t, ns, job)
	teams.Admitted("train")

	other, err := cluster.Client.CoreV1().ConfigMaps(ns).Create(harness.Context(t),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
	harness.Must(t, err)
	controller, err := json.Marshal(metav1.NewControllerRef(other, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	harness.Must(t, err)
	workload := cluster.WaitForWorkload(t, ns, "train", "is admitted", harness.HasCondition("Admitted", "True", ""))
	cluster.Patch(t, harness.Workloads, ns, workload.GetName(), fmt.Sprintf(`{"metadata":{"ownerReferences":[%s]}}`, controller))

	harness.Eventually(t, 30*time.Second, "its controller is the Job again", func() error {
		found, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(ns).Get(harness.Context(t), workload.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if owner := metav1.GetControllerOf(found); owner == nil || owner.Kind != "Job" || owner.Name != "train" {
			return fmt.Errorf("it is %v", owner)
		}
		return harness.HasCondition("Admitted", "True", "")(found)
	})
	harness.Eventually(t, 30*time.Second, "the event that says so", func() error {
		events, err := cluster.Client.CoreV1().Events(ns).List(harness.Context(t), metav1.ListOptions{FieldSelector: "reason=WorkloadTakenBack"})
		if err != nil || len(events.Items) == 0 {
			return fmt.Errorf("%v, there are %d", err, len(events.Items))
		}
		return nil
	})
	// It can be evicted as any other.
	teams.Change("a", map[string]any{"stopPolicy": "HoldAndDrain"})
	teams.Await("train", "has left", harness.HasCondition("Evicted", "True", ""), harness.Released)
}
