package harness

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is the result of a number of requests.
type Outcome struct {
	Latencies []time.Duration // of those that succeeded, sorted
	Errors    []error         // the first few
	Failed    int
}

// Total is the number of requests that were made.
func (o Outcome) Total() int { return len(o.Latencies) + o.Failed }

// Percentile of the latencies, by the nearest rank.
func (o Outcome) Percentile(percent float64) time.Duration {
	if len(o.Latencies) == 0 {
		return 0
	}
	rank := int(percent / 100 * float64(len(o.Latencies)))
	return o.Latencies[min(rank, len(o.Latencies)-1)]
}

// add counts one request.
func (o *Outcome) add(took time.Duration, err error) {
	const shown = 5 // errors kept
	if err == nil {
		o.Latencies = append(o.Latencies, took)
		return
	}
	o.Failed++
	if len(o.Errors) < shown {
		o.Errors = append(o.Errors, err)
	}
}

func (o Outcome) String() string {
	text := fmt.Sprintf("%d requests, %d failed, p50 %s, p99 %s", o.Total(), o.Failed,
		o.Percentile(50).Round(time.Microsecond), o.Percentile(99).Round(time.Microsecond))
	for _, err := range o.Errors {
		text += "\n  " + err.Error()
	}
	return text
}

// Load calls request with 0, 1, 2, ... from this many workers, until count calls
// were made (if count is not negative) or the context ends.
func Load(ctx context.Context, workers, count int, request func(number int) error) Outcome {
	var (
		next    atomic.Int64
		mutex   sync.Mutex
		outcome Outcome
		group   sync.WaitGroup
	)
	worker := func() {
		for ctx.Err() == nil {
			number := int(next.Add(1)) - 1
			if count >= 0 && number >= count {
				return
			}
			began := time.Now()
			err := request(number)
			took := time.Since(began)
			mutex.Lock()
			outcome.add(took, err)
			mutex.Unlock()
		}
	}
	for range workers {
		group.Go(worker)
	}
	group.Wait()
	slices.Sort(outcome.Latencies)
	return outcome
}

// OpenLoad calls request with 0, 1, 2, ... at a fixed rate, each at its planned time for any result of the
// earlier calls, until count calls were made (if count is not negative) or the context ends, and waits for all
// answers. Latencies count from the planned time of a request.
func OpenLoad(ctx context.Context, perSecond, count int, request func(number int) error) Outcome {
	var (
		mutex   sync.Mutex
		outcome Outcome
		group   sync.WaitGroup
	)
	began, interval := time.Now(), time.Second/time.Duration(perSecond)
	due := func(number int) time.Time { return began.Add(time.Duration(number) * interval) }
	for number := 0; number != count && until(ctx, due(number)); number++ {
		group.Go(func() {
			err := request(number)
			mutex.Lock()
			defer mutex.Unlock()
			outcome.add(time.Since(due(number)), err)
		})
	}
	group.Wait()
	slices.Sort(outcome.Latencies)
	return outcome
}

// until waits; false if the context ends first.
func until(ctx context.Context, moment time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(moment)):
		return true
	}
}

// CreateQueued is a request for Load and OpenLoad: a dry run goes through the webhooks like any create and leaves
// nothing behind.
func CreateQueued(ctx context.Context, cluster *Cluster, namespace string) func(int) error {
	return func(number int) error {
		// Not the load's own context: a request that is under way when the load
		// ends must be answered too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		job := Job(fmt.Sprintf("load-%d", number), Queue("some"))
		made, err := cluster.Client.BatchV1().Jobs(namespace).Create(ctx, job, DryRun)
		if err == nil && !Suspended(made) {
			err = fmt.Errorf("%s was created, but not suspended", job.Name)
		}
		return err
	}
}
