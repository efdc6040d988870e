package scheduling

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Many Workloads are late in the same moment, since no replica led when their time was over:
// each is evicted once, they do not come back together, and the API server never has more
// writes of muster's at a time than it has connections.

func TestFiveHundredWorkloadsAreLateTogether(t *testing.T) {
	lateTogether(t, 500, "leaseDuration: 5s, renewDeadline: 4s, retryPeriod: 500ms,", nil)
}

// Ten thousand, beside reviews whose latency is logged. The lease is the one that users have: a
// shorter one is lost in such a load.
func TestSoakTenThousandWorkloadsAreLateTogether(t *testing.T) {
	if !harness.Soak() {
		t.Skip("takes ten minutes: set MUSTER_SOAK")
	}
	lateTogether(t, 10_000, "", steadyReviews)
}

// steadyReviews asks for one every 20 ms, each on a new connection; `count` as harness.Load.
func steadyReviews(ctx context.Context, t *testing.T, muster *harness.Muster, count int) (outcome harness.Outcome) {
	client, body, began := harness.ReviewClient(harness.BundleOf(t, muster)), harness.Review(t, "probe"), time.Now()
	for number := 0; number != count && ctx.Err() == nil; number++ {
		time.Sleep(time.Until(began.Add(time.Duration(number) * 20 * time.Millisecond)))
		sent := time.Now()
		if _, err := harness.PostReview(ctx, client, muster, body, "probe"); err != nil {
			outcome.Failed++
			outcome.Errors = []error{err}
			continue
		}
		outcome.Latencies = append(outcome.Latencies, time.Since(sent))
	}
	slices.Sort(outcome.Latencies)
	return outcome
}

type load func(ctx context.Context, t *testing.T, muster *harness.Muster, count int) harness.Outcome

// beside runs the load, if there is one, while `work` is done.
func (l load) beside(t *testing.T, muster *harness.Muster, work func()) (outcome harness.Outcome) {
	if l == nil {
		work()
		return outcome
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { outcome = l(ctx, t, muster, -1) })
	work()
	cancel()
	group.Wait()
	return outcome
}

// lateTogether runs `reviews`, if there are any, while nothing else happens, and while all are evicted.
func lateTogether(t *testing.T, count int, lease string, reviews load) {
	const connections = 32 + 2 // and the Lease, and Events
	cluster := harness.Connect(t)
	cluster.EnsureMusterNamespace(t)
	wire := cluster.Wire(t)
	// All of them are admitted before the first of them is late.
	timeout := harness.UnderLoad(5*time.Second + time.Duration(count)*20*time.Millisecond).Round(time.Second)
	muster := harness.StartQueueMuster(t, "--kubeconfig", wire.Kubeconfig, "--config", harness.WriteFile(t, "config.yaml",
		"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nclientConnection: {qps: -1, burst: 1}\n"+
			"leaderElection: {leaderElect: true, "+lease+" resourceName: "+harness.UsualLease+"}\n"+
			"waitForPodsReady: {timeout: "+timeout.String()+", requeuingStrategy: {backoffBaseSeconds: 3600}}\n"))
	var idle harness.Outcome
	if reviews != nil {
		idle = reviews(context.Background(), t, muster, 250)
	}
	queues := cluster.Queues(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	outcome := harness.Load(ctx, 16, count, func(number int) error {
		_, err := cluster.Client.BatchV1().Jobs(queues.Namespace).Create(ctx, lateJob(fmt.Sprint("late-", number)), harness.ForReal)
		return err
	})
	if outcome.Failed > 0 {
		t.Fatal(outcome)
	}
	harness.LetIn(t, cluster, queues)
	last := awaitAdmitted(t, cluster, queues.Namespace, count)
	muster.Slay()
	harness.Eventually(t, timeout+time.Minute, "the time of all is over", func() error {
		if left := time.Until(last.Add(timeout + time.Second)); left > 0 {
			return fmt.Errorf("%s is left", left)
		}
		return nil
	})
	muster.Restart(t)
	harness.Eventually(t, time.Minute, "muster is ready again", muster.Ready)
	began := time.Now()
	var evicted, back map[string]int
	busy := reviews.beside(t, muster, func() { evicted, back = awaitLate(t, cluster, queues.Namespace, count) })
	took := time.Since(began)

	herd := 0
	for _, each := range back {
		herd = max(herd, each)
	}
	harness.Figure(t, "%d Workloads were evicted in %d different seconds, all of them %s after muster was ready again, and come back in %d different ones, "+
		"at most %d in one; at most %d writes at a time; reviews while idle: %s; meanwhile: %s",
		count, len(evicted), took.Round(time.Second/10), len(back), herd, wire.MostWrites(), idle, busy)
	if idle.Failed+busy.Failed > 0 {
		t.Error("reviews failed")
	}
	if herd > count/20+1 {
		t.Errorf("%d of %d come back in one second", herd, count)
	}
	if wire.MostWrites() > connections {
		t.Errorf("%d writes were on their way at a time, %d are allowed", wire.MostWrites(), connections)
	}
}

// awaitAdmitted waits until all are, and tells when the last one was.
func awaitAdmitted(t *testing.T, cluster *harness.Cluster, namespace string, count int) (last time.Time) {
	t.Helper()
	everyWorkload(t, cluster, namespace, "all are admitted", count, func(workload *unstructured.Unstructured) error {
		condition := harness.ConditionOf(workload, "Admitted")
		if condition["status"] != "True" {
			return fmt.Errorf("%s is not admitted", workload.GetName())
		}
		at, err := time.Parse(time.RFC3339, fmt.Sprint(condition["lastTransitionTime"]))
		if last.Before(at) {
			last = at
		}
		return err
	})
	return last
}

// awaitLate waits until all were evicted, once, and counts them by the second of it and of
// their return.
func awaitLate(t *testing.T, cluster *harness.Cluster, namespace string, count int) (evicted, back map[string]int) {
	t.Helper()
	evictedAt, backAt := map[string]string{}, map[string]string{}
	everyWorkload(t, cluster, namespace, "all were evicted", count, func(workload *unstructured.Unstructured) error {
		if evictions(workload, "PodsReadyTimeout", "WaitForStart") != 1 {
			return fmt.Errorf("%s has the status %v", workload.GetName(), workload.Object["status"])
		}
		name := workload.GetName()
		backAt[name], _, _ = unstructured.NestedString(workload.Object, "status", "requeueState", "requeueAt")
		evictedAt[name] = fmt.Sprint(harness.ConditionOf(workload, "Evicted")["lastTransitionTime"])
		return nil
	})
	evicted, back = map[string]int{}, map[string]int{}
	for name := range backAt {
		evicted[evictedAt[name]]++
		back[backAt[name]]++
	}
	return evicted, back
}

// everyWorkload waits until there are this many and `check` has no error for any.
func everyWorkload(t *testing.T, cluster *harness.Cluster, namespace, what string, count int, check func(*unstructured.Unstructured) error) {
	t.Helper()
	client := cluster.Dynamic.Resource(harness.Workloads).Namespace(namespace)
	// A list of all is dear: not before the one that was not there yet has come to it.
	behind := ""
	harness.Eventually(t, 25*time.Minute, what, func() error {
		if behind != "" {
			workload, err := client.Get(context.Background(), behind, metav1.GetOptions{})
			if err == nil {
				err = check(workload)
			}
			if err != nil {
				return err
			}
		}
		list, err := client.List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := check(&list.Items[i]); err != nil {
				behind = list.Items[i].GetName()
				return err
			}
		}
		if len(list.Items) != count {
			return fmt.Errorf("there are %d Workloads, not %d", len(list.Items), count)
		}
		return nil
	})
}
