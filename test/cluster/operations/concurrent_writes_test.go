package operations

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// While the API server does not answer, as many admissions as concurrentWrites allows are on their way, and explain
// says of such a job what it waits for.
func TestAdmissionsThatTheAPIServerDoesNotAnswer(t *testing.T) {
	cluster := harness.Connect(t)
	wire := cluster.Wire(t)
	muster := harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig, "--concurrent-writes", "3")
	teams := cluster.Teams(t)
	cluster.Kubectl(t, "", "create", "serviceaccount", "boss", "-n", teams.Namespace)
	cluster.Kubectl(t, "", "create", "clusterrolebinding", "boss-"+teams.Namespace, "--clusterrole", "cluster-admin",
		"--serviceaccount", teams.Namespace+":boss")
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrolebinding", "boss-"+teams.Namespace) })
	token := harness.ExplainToken(t, cluster, teams.Namespace, "boss")
	teams.Flavor("f")
	teams.Queue("a", teams.Cpus("f=10"))

	wire.HoldWrites(func(what string) bool { return strings.HasPrefix(what, "patch workloads/status") })
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("job-%d", i))
		teams.Job("a", names[i], 1, "1")
	}
	held := func() (jobs []string) {
		for _, name := range names {
			if strings.Contains(strings.Join(wire.Held(), " "), " job-"+name+"-") {
				jobs = append(jobs, name)
			}
		}
		return jobs
	}
	harness.Eventually(t, 30*time.Second, "an admission that is not written is explained", func() error {
		jobs := held()
		if len(jobs) == 0 {
			return fmt.Errorf("no admission is on its way")
		}
		status, answer := harness.ExplainDirectly(t, muster, "/explain/v1/namespaces/"+teams.Namespace+"/jobs/"+jobs[0], token)
		if status != http.StatusOK || answer.Reason != "AdmissionNotWritten" {
			return fmt.Errorf("%d, %+v", status, answer)
		}
		return nil
	})
	// Fewer only between the end of one and its next attempt.
	harness.Eventually(t, 10*time.Second, "three admissions are on their way", func() error {
		if count := wire.Holding(); count != 3 {
			return fmt.Errorf("%d are", count)
		}
		return nil
	})
	// The engine has a limit of admissions; what sends has one of all writes.
	wire.HoldWrites(func(what string) bool { return strings.HasPrefix(what, "patch jobs ") })
	harness.Eventually(t, time.Minute, "a start is sent once more, because its sender has waited long enough", func() error {
		starts := map[string]int{}
		for _, what := range wire.Held() {
			starts[what]++
			if strings.HasPrefix(what, "patch jobs ") && starts[what] > 1 {
				return nil
			}
		}
		return fmt.Errorf("held are %v", starts)
	})
	if most := wire.MostHeld(time.Second); most != 3 {
		t.Errorf("%d writes were on their way at a time", most)
	}
	wire.HoldWrites(nil)
	teams.Admitted(names...)
}
