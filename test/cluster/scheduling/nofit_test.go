package scheduling

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Workloads that ask for more than their queue will ever have get this message once, however often
// what others use and give back makes the scheduler look at the queue again.
func TestWorkloadsThatNeverFitCostOneStatusWriteEach(t *testing.T) {
	count, others := harness.Size(500, 10_000), harness.Size(40, 400)
	cluster := harness.Connect(t)
	wire := cluster.Wire(t)
	harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig, "--config", harness.WriteFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n"))
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=10"))
	runner := cluster.RunAdmitted(t, teams.Namespace, 50*time.Millisecond)
	create := func(name string, cpus func(number int) int, count int) {
		t.Helper()
		outcome := harness.Load(harness.Context(t), 16, count, func(number int) error {
			workload := harness.JoblessWorkload(fmt.Sprint(name, "-", number), "a", cpus(number))
			_, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(teams.Namespace).Create(context.Background(), workload, harness.ForReal)
			return err
		})
		if outcome.Failed > 0 {
			t.Fatal(outcome)
		}
	}
	one := func(int) int { return 1 }
	// All of them different: of Workloads that are alike the scheduler looks at one.
	create("large", func(number int) int { return 11 + number }, count)
	harness.Eventually(t, harness.Size(2*time.Minute, 20*time.Minute), "all are told that they do not fit", func() error {
		told := statusWrites(wire, "large-")
		if len(told) < count {
			return fmt.Errorf("%d of %d are", len(told), count)
		}
		return nil
	})
	create("small", one, others)
	runner.Await(t, others)

	// A write that is still to come would come before this Workload's.
	create("last", one, 1)
	runner.Await(t, others+1)
	list, err := cluster.Dynamic.Resource(harness.Workloads).Namespace(teams.Namespace).List(context.Background(), metav1.ListOptions{})
	harness.Must(t, err)
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].GetName(), "large-") {
			harness.Must(t, harness.HasCondition("QuotaReserved", "False", "")(&list.Items[i]))
		}
	}
	told, most := statusWrites(wire, "large-"), 0
	for _, writes := range told {
		most = max(most, writes)
	}
	harness.Figure(t, "%d Workloads that never fit, %d others admitted and finished meanwhile: %d have status writes, at most %d each", count, others+1, len(told), most)
	if most != 1 || len(told) != count {
		t.Errorf("%d of %d have status writes, at most %d each", len(told), count, most)
	}
	harness.Must(t, cluster.RemoveWorkloads(teams.Namespace))
}

// statusWrites counts muster's writes of the status of each Workload whose name begins so.
func statusWrites(wire *harness.Wire, prefix string) map[string]int {
	counts := map[string]int{}
	for _, line := range wire.Journal() {
		if name, is := strings.CutPrefix(line, "patch workloads/status "); is && strings.HasPrefix(name, prefix) {
			counts[name]++
		}
	}
	return counts
}
