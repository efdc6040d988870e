package operations

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// Writes of a leader that the network holds back until another replica leads and has decided otherwise: the API server
// carries out none of them. Each carries the version of the object that it was planned from, which is an older one by
// then; and tells the API server to give up when its sender's term ends.
func TestWritesThatArriveUnderTheNextLeaderChangeNothing(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	cluster.EnsureMusterNamespace(t)
	webhooks := harness.StartQueueMuster(t, "--config", harness.QuickLease(t, harness.NeverFreeLease(t, cluster), harness.QueuedJobSetsConfig))
	flags := []string{"--jobset-controller", "native", "--config",
		harness.QuickLease(t, harness.UsualLease, harness.QueuedJobSetsConfig), "--webhook-url", webhooks.URL,
		"--no-keep-webhook-configurations", "--no-metrics-authorization"}
	var wires [2]*harness.Wire
	var replicas [2]*harness.Muster
	for i := range replicas {
		wires[i] = cluster.Wire(t)
		replicas[i] = harness.LaunchMuster(t, append(flags, "--kubeconfig", wires[i].Kubeconfig)...)
		awaitLeader(t, replicas[0])
	}
	teams := cluster.Teams(t)
	teams.Flavor("f")
	run := func(name string, leader int, unseat func()) {
		late := lateScene{t, cluster, wires[leader], teams, name}
		late.begin()
		unseat()
		awaitLeader(t, replicas[1-leader])
		late.decideOtherwise()
		late.deliver()
	}
	run("cut", 0, func() { wires[0].Cut(true) })
	wires[0].Cut(false) // it follows now, and leads when the other one is ended
	run("ended", 1, func() { replicas[1].Stop(t) })
}

func awaitLeader(t *testing.T, replica *harness.Muster) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, "the replica leads", func() error {
		if !replica.Leads(t) {
			return fmt.Errorf("it does not")
		}
		return nil
	})
}

// lateScene is one change of leaders; its queue, and the end of the names of its jobs, is `name`.
type lateScene struct {
	*testing.T
	cluster *harness.Cluster
	wire    *harness.Wire
	teams   *harness.Teams
	name    string
}

// held are the stages of a job at which a write is held: its Workload's creation, its admission, its start, and the
// start of the Jobs of a JobSet.
func (s lateScene) held() []string {
	return []string{
		"post workloads job-made-" + s.name + "-", "patch workloads/status job-admitted-" + s.name + "-",
		"patch jobs started-" + s.name, "patch jobs resumed-" + s.name + "-w-0",
	}
}

// jobs of the scene, and who owns their Workloads.
func (s lateScene) jobs() (jobs, owners []string) {
	jobs = []string{"made-" + s.name, "admitted-" + s.name, "started-" + s.name}
	jobSet := "resumed-" + s.name
	return append(jobs, jobSet+"-w-0"), append(slices.Clone(jobs), jobSet)
}

// begin makes the jobs, and waits until a write of each is held.
func (s lateScene) begin() {
	s.Helper()
	s.teams.Queue(s.name, s.teams.Cpus("f=4"), map[string]any{"stopPolicy": "Hold"})
	jobs, owners := s.jobs()
	jobSet := harness.JobSetOf(owners[3], harness.ReplicatedJob{Name: "w", Template: harness.OneCPU()})
	jobSet.SetLabels(harness.Queue(s.name))
	s.cluster.CreateJobSet(s, s.teams.Namespace, jobSet)
	harness.Eventually(s, 30*time.Second, "the JobSet has its Job", func() error {
		_, err := s.cluster.Client.BatchV1().Jobs(s.teams.Namespace).Get(harness.Context(s), jobs[3], metav1.GetOptions{})
		return err
	})
	s.wire.HoldWrites(func(what string) bool {
		return slices.ContainsFunc(s.held(), func(prefix string) bool { return strings.HasPrefix(what, prefix) })
	})
	for _, job := range owners[:3] {
		s.teams.Job(s.name, job, 1, "1")
	}
	s.teams.Change(s.name, map[string]any{"stopPolicy": "None"})
	harness.Eventually(s, 30*time.Second, "a write at each stage is held", func() error {
		writes := s.wire.Held()
		for _, prefix := range s.held() {
			if !slices.ContainsFunc(writes, func(what string) bool { return strings.HasPrefix(what, prefix) }) {
				return fmt.Errorf("no %q of %q", prefix, writes)
			}
		}
		return nil
	})
}

// decideOtherwise has the new leader start all jobs, and then stop them.
func (s lateScene) decideOtherwise() {
	s.Helper()
	jobs, owners := s.jobs()
	s.teams.Admitted(owners...)
	for _, job := range jobs {
		s.teams.RunsWith(job, 1)
	}
	s.teams.Change(s.name, map[string]any{"stopPolicy": "HoldAndDrain"})
	for _, owner := range owners {
		s.teams.Await(owner, "has given its quota back", harness.Released)
	}
}

// deliver has the API server read the late writes, and demands that it carries out none.
func (s lateScene) deliver() {
	s.Helper()
	late := s.wire.DeliverLate(s)
	for _, write := range late {
		if write.Code != http.StatusConflict {
			s.Errorf("%s", write)
		}
		// The term of a leader that has to renew its Lease within 1.5 s.
		if write.Timeout <= 0 || write.Timeout > 1500*time.Millisecond {
			s.Errorf("%s asks the API server to give up after %s", write.What, write.Timeout)
		}
	}
	s.Logf("%s: %d late writes were refused", s.name, len(late))
	jobs, _ := s.jobs()
	for _, name := range jobs {
		job, err := s.cluster.Client.BatchV1().Jobs(s.teams.Namespace).Get(harness.Context(s), name, metav1.GetOptions{})
		harness.Must(s, err)
		if job.Spec.Suspend == nil || !*job.Spec.Suspend {
			s.Errorf("Job %s of a queue that is stopped runs", name)
		}
	}
}
