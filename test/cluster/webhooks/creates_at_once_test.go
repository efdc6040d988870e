package webhooks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// Five hundred clients create a queued Job each at the same time. All are answered, and
// muster's part of each call stays short; how long the API server sees a call last is logged beside it: that includes
// its own waits for a processor.
func TestFiveHundredCreatesAtOnce(t *testing.T) {
	const clients, limit = 500, 50 * time.Millisecond
	rounds := harness.Size(1, 20)
	cluster := harness.Connect(t)
	muster := harness.StartMuster(t, "--no-metrics-authorization")
	namespace := cluster.Namespace(t, nil)
	create := func(name string) func(int) error {
		return func(number int) error {
			job := harness.Job(fmt.Sprintf("%s-%d", name, number), harness.Queue("some"))
			_, err := cluster.Client.BatchV1().Jobs(namespace).Create(context.Background(), job, harness.ForReal)
			return err
		}
	}
	// The first calls make connections, which is another matter.
	if warm := harness.Load(harness.Context(t), 32, 100, create("warm")); warm.Failed > 0 {
		t.Fatal(warm)
	}
	seen := func() (own, server harness.Histogram) {
		_, text := harness.MetricsAnswer(t, muster, "")
		return harness.HistogramIn(text, "muster_webhook_request_duration_seconds"),
			harness.HistogramIn(harness.APIServerMetrics(t, cluster), "apiserver_admission_webhook_admission_duration_seconds",
				"muster.batch", `operation="CREATE"`)
	}
	ownBefore, serverBefore := seen()
	outcome := harness.Load(harness.Context(t), clients, clients*rounds, create("at-once"))
	own, server := seen()
	own, server = own.Since(ownBefore), server.Since(serverBefore)

	harness.Figure(t, "%d clients: %s; %d calls of muster: p50 %s, p99 %s in muster, p50 %s, p99 %s as the API server saw them", clients, outcome,
		own.Count(), own.Percentile(50).Round(time.Microsecond), own.Percentile(99).Round(time.Microsecond),
		server.Percentile(50).Round(time.Millisecond), server.Percentile(99).Round(time.Millisecond))
	if outcome.Failed > 0 {
		t.Errorf("creates failed: %s", outcome)
	}
	if want := 2 * clients * rounds; own.Count() < want || server.Count() < want {
		t.Errorf("muster counts %d calls and the API server %d of %d", own.Count(), server.Count(), want)
	}
	late, err := own.Above(limit)
	harness.Must(t, err)
	if late*100 > own.Count() {
		t.Errorf("%d of %d calls took muster more than %s", late, own.Count(), limit)
	}
}
