package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ShapeRun creates a Shape's Workloads and simulates their execution: an admitted Workload is marked as
// finished after its run time, and an evicted Workload releases its quota, as the controller of a job would do
// it. It checks at every change that no quota is exceeded.
type ShapeRun struct {
	Shape Shape
	// Writers is the number of connections for creates, and of those for everything else.
	Writers int
	// CreatesPerSecond, if not 0, makes the run an open loop, like Kueue's own runner: this number of creates is
	// sent per second (each at its planned time), for any result of the earlier creates, and finished Workloads
	// are marked by server-side apply.
	CreatesPerSecond int
	// CreatesAs is the user who creates the Workloads; empty: the administrator. The API server exempts the administrator
	// from its limits: it takes all creates at once, and calls the webhooks for all of them at once.
	CreatesAs string
	// AdmitsAs makes it admit every Workload at once, without regard to quota, as this user: these are the writes
	// of a run without a scheduler, and so the floor for any scheduler. Muster must not lead then; with muster's
	// user name, the webhooks skip these writes as they skip muster's own.
	AdmitsAs string
}

// ShapeOutcome is the result of a ShapeRun.
type ShapeOutcome struct {
	Workloads    int
	Created      time.Duration            // from the first create to the last one's answer
	Wall         time.Duration            // from the first create to the last Workload's end
	Waits        map[string]time.Duration // mean, from sending a create to seeing it admitted first
	Admissions   int                      // those of evicted ones count again
	Evictions    int
	OverAdmitted []string      // the first few moments at which a quota was exceeded
	StatusWrites int           // its own, to Workloads, without those that met a conflict
	Conflicts    int           // its own
	LongestPause time.Duration // without an admission, while a Workload waited for quota
	PauseBegan   time.Duration // when that was, from the first create
	PauseSilence time.Duration // in it: the longest time in which the run's watch showed no change of any Workload
	WaitedLong   int           // Workloads that waited for 120 s and more
	LostSeconds  float64       // pod-seconds that evictions threw away
	Throttled    int           // creates that the API server refused because it had too many requests (429)
	Unanswered   int           // writes that it gave up after a minute (504), and creates whose connection broke
	QuietPause   time.Duration // the longest of those that began after the last create's answer
	Relists      int           // how often the run's own watch had to begin again with a list
	Began        time.Time
	Seconds      []ShapeSecond // since then
}

type workloadCondition struct {
	Type       string `json:"type"`
	Status     string `json:"status"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	Transition string `json:"lastTransitionTime"`
	Generation int64  `json:"observedGeneration,omitempty"`
}

// workloadEvent is all that a run reads of a Workload.
type workloadEvent struct {
	Type   string
	Object struct {
		Message  string // of an ERROR
		Code     int    // the same
		Metadata struct{ Name, ResourceVersion string }
		Status   struct {
			Conditions []workloadCondition
			Admission  *struct{ ClusterQueue string }
		}
	}
}

// record is the run's knowledge of one Workload.
type record struct {
	arrival
	version    string
	conditions []workloadCondition
	sent       time.Time // its create
	reservedIn string    // the ClusterQueue; empty: it holds no quota
	admissions int
	admittedAt time.Time // the last time
	evicted    bool
	over       bool // its time is
	finished   bool
	busy       bool // a write for it waits or is under way
	timer      *time.Timer
}

type shapeRun struct {
	ShapeRun
	ctx           context.Context
	cancel        context.CancelCauseFunc
	client        *rawClient
	creator       *rawClient
	queues        ShapeQueues
	began         time.Time
	writes        chan *record
	mutex         sync.Mutex
	records       map[string]*record
	finished      int
	waiting       int            // how many wait for quota
	used          map[string]int // cpu, by ClusterQueue and by cohort
	outcome       ShapeOutcome
	waits         map[string]time.Duration // sums
	lastAdmission time.Time
	lastChange    time.Time
	silence       time.Duration // the longest since lastAdmission
	allOver       chan struct{}
	endedOnce     sync.Once
}

// Run runs it in existing queues, and fails the test when it does not end in time.
func (s ShapeRun) Run(t testing.TB, c *Cluster, queues ShapeQueues, within time.Duration) ShapeOutcome {
	t.Helper()
	timeout, stop := context.WithTimeoutCause(context.Background(), within, fmt.Errorf("not over within %s", within))
	defer stop()
	ctx, cancel := context.WithCancelCause(timeout)
	defer cancel(nil)
	arrivals := s.Shape.arrivals()
	r := &shapeRun{
		ShapeRun: s, ctx: ctx, cancel: cancel, client: c.rawClient(t), queues: queues,
		writes: make(chan *record, 2*len(arrivals)), records: make(map[string]*record, len(arrivals)),
		used: map[string]int{}, waits: map[string]time.Duration{}, allOver: make(chan struct{}),
	}
	r.creator = r.client
	if s.CreatesPerSecond > 0 {
		r.creator = c.multiplexedClient(t)
	}
	if s.CreatesAs != "" {
		c.bind(t, queues.Namespace, s.CreatesAs, "cluster-admin")
	}
	for _, each := range arrivals {
		r.records[each.name] = &record{arrival: each}
	}
	list, err := c.Dynamic.Resource(Workloads).Namespace(queues.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() { r.watch(list.GetResourceVersion()) })
	for range s.Writers {
		group.Go(r.write)
	}
	r.began = time.Now()
	r.lastChange, r.outcome.Began = r.began, r.began
	create := func(number int) error { return r.create(r.records[arrivals[number].name]) }
	created := s.createAll(ctx, len(arrivals), create)
	r.mutex.Lock()
	r.outcome.Created = time.Since(r.began)
	r.mutex.Unlock()
	if created.Failed > 0 {
		cancel(errors.New(created.String()))
	}
	r.await()
	cause := context.Cause(ctx)
	cancel(nil)
	group.Wait()
	if r.outcome.Wall == 0 {
		t.Errorf("%d of %d Workloads have finished: %v", r.finished, len(arrivals), cause)
	}
	r.outcome.Workloads, r.outcome.Waits = len(arrivals), map[string]time.Duration{}
	for _, set := range s.Shape.Sets {
		r.outcome.Waits[set.Class] = r.waits[set.Class] / time.Duration(set.Count*s.Shape.Cohorts*s.Shape.Queues)
	}
	return r.outcome
}

func (s ShapeRun) createAll(ctx context.Context, count int, create func(number int) error) Outcome {
	if s.CreatesPerSecond > 0 {
		return OpenLoad(ctx, s.CreatesPerSecond, count, create)
	}
	return Load(ctx, s.Writers, count, create)
}

// await the end of all, or a time in which no Workload ends.
func (r *shapeRun) await() {
	const patience = 30 * time.Second
	for last := -1; ; {
		select {
		case <-r.allOver:
			r.outcome.Wall = time.Since(r.began)
			return
		case <-r.ctx.Done():
			return
		case <-time.After(patience):
		}
		r.mutex.Lock()
		if last == r.finished {
			r.cancel(fmt.Errorf("nothing has finished for %s: %s", patience, r.describe()))
		}
		last = r.finished
		r.mutex.Unlock()
	}
}

// describe says where the Workloads are that have not finished. The mutex is held.
func (r *shapeRun) describe() string {
	counts, examples := map[string]int{}, map[string]string{}
	for name, each := range r.records {
		if each.finished {
			continue
		}
		state := fmt.Sprintf("created %t, reserved %t, evicted %t, over %t, write under way %t", !each.sent.IsZero(),
			each.reservedIn != "", each.evicted, each.over, each.busy)
		counts[state]++
		examples[state] = fmt.Sprint(name, " at ", each.version, " ", each.conditions)
	}
	text := fmt.Sprintf("%v are used", r.used)
	for state, count := range counts {
		text += fmt.Sprintf("\n  %d: %s, as %s", count, state, examples[state])
	}
	return text
}

// create sends one Workload when it is due.
func (r *shapeRun) create(workload *record) error {
	select {
	case <-time.After(time.Until(r.began.Add(workload.due))):
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	body := fmt.Appendf(nil, `{"apiVersion":%q,"kind":"Workload","metadata":{"name":%q},"spec":{"queueName":%q,"priority":%d,`+
		`"podSets":[{"name":"main","count":1,"template":{"spec":{"restartPolicy":"Never","containers":[`+
		`{"name":"main","image":"example.test/main:1","resources":{"requests":{"cpu":"%d"}}}]}}}]}}`,
		storedKueue, workload.name, r.queues.local(workload.arrival), workload.set.Priority, workload.set.CPU)
	r.mutex.Lock()
	workload.sent = time.Now()
	r.mutex.Unlock()
	if err := r.post(workload.name, body); err != nil {
		r.cancel(err)
		return err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.second().Created++
	return nil
}

// post creates a Workload. If the API server refuses it for now, post tries again after the time that the answer names, as
// client-go does. After a create without an answer (the API server gives up after one minute, or a connection breaks) the
// Workload can exist or not: post tries again and finds out.
func (r *shapeRun) post(name string, body []byte) error {
	unanswered := false
	for {
		status, err := r.creator.send(r.ctx, http.MethodPost, r.queues.path(), r.CreatesAs, "application/json", body)
		var later throttledError
		throttled := errors.As(err, &later)
		switch {
		case r.ctx.Err() != nil:
			return context.Cause(r.ctx)
		case throttled && !until(r.ctx, time.Now().Add(later.after)):
			return context.Cause(r.ctx)
		case throttled:
		case err != nil && (status == http.StatusGatewayTimeout || status == 0):
			unanswered = true
		case status == http.StatusConflict && !unanswered:
			return fmt.Errorf("there is a Workload %s already", name)
		default:
			return err
		}
		r.mutex.Lock()
		if throttled {
			r.outcome.Throttled++
		} else {
			r.outcome.Unanswered++
		}
		r.mutex.Unlock()
	}
}

func (r *shapeRun) see(event *workloadEvent) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	now := time.Now()
	r.silence, r.lastChange = max(r.silence, now.Sub(r.lastChange)), now
	workload := r.records[event.Object.Metadata.Name]
	if workload == nil || event.Type == "DELETED" {
		r.cancel(fmt.Errorf("somebody else's hand in the run: %s %s", event.Type, event.Object.Metadata.Name))
		return
	}
	waited := workload.waits()
	defer func() { r.count(waited, workload.waits(), now) }()
	if workload.version == "" {
		r.second().Appeared++
	}
	workload.version, workload.conditions = event.Object.Metadata.ResourceVersion, event.Object.Status.Conditions
	if isTrue(workload.conditions, "Finished") {
		r.end(workload)
		return
	}
	queue := ""
	if event.Object.Status.Admission != nil {
		queue = event.Object.Status.Admission.ClusterQueue
	}
	r.reserve(workload, queue)
	evicted := isTrue(workload.conditions, "Evicted")
	if evicted && !workload.evicted {
		r.outcome.Evictions++
	}
	workload.evicted = evicted
	switch admitted := queue != "" && !evicted && isTrue(workload.conditions, "Admitted"); {
	case admitted && workload.timer == nil:
		r.admitted(workload)
	case !admitted && workload.timer != nil:
		workload.timer.Stop()
		workload.timer, workload.over = nil, false
		ran := min(time.Since(workload.admittedAt), workload.set.Runtime)
		r.outcome.LostSeconds += ran.Seconds() // one pod each
	}
	r.act(workload)
}

func (r *shapeRun) admitted(workload *record) {
	now := time.Now()
	if waited := now.Sub(workload.sent); workload.admissions == 0 {
		r.waits[workload.set.Class] += waited
		if waited >= 2*time.Minute {
			r.outcome.WaitedLong++
		}
	}
	if pause := now.Sub(r.lastAdmission); pause > r.outcome.LongestPause {
		r.outcome.LongestPause, r.outcome.PauseBegan, r.outcome.PauseSilence = pause, r.lastAdmission.Sub(r.began), r.silence
	}
	if r.outcome.Created > 0 && r.lastAdmission.Sub(r.began) > r.outcome.Created {
		r.outcome.QuietPause = max(r.outcome.QuietPause, now.Sub(r.lastAdmission))
	}
	r.lastAdmission, workload.admittedAt, r.silence = now, now, 0
	workload.admissions++
	r.outcome.Admissions++
	r.second().Admitted++
	workload.timer = time.AfterFunc(workload.set.Runtime, func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if workload.timer != nil {
			workload.over = true
			r.second().Over++
			r.act(workload)
		}
	})
}

func (r *shapeRun) end(workload *record) {
	if workload.finished {
		return
	}
	workload.finished = true
	r.second().Finished++
	r.reserve(workload, "")
	r.finished++
	if r.finished == len(r.records) {
		r.endedOnce.Do(func() { close(r.allOver) })
	}
}

// reserve counts what the Workload holds now.
func (r *shapeRun) reserve(workload *record, queue string) {
	if queue == workload.reservedIn {
		return
	}
	cohort := fmt.Sprint(workload.cohort)
	if workload.reservedIn != "" {
		r.used[workload.reservedIn] -= workload.set.CPU
		r.used[cohort] -= workload.set.CPU
	}
	workload.reservedIn = queue
	if queue == "" {
		return
	}
	r.used[queue] += workload.set.CPU
	r.used[cohort] += workload.set.CPU
	over := r.used[queue] > r.Shape.Nominal+r.Shape.Borrowing || r.used[cohort] > r.Shape.Nominal*r.Shape.Queues
	if over && r.AdmitsAs == "" && len(r.outcome.OverAdmitted) < 5 {
		r.outcome.OverAdmitted = append(r.outcome.OverAdmitted, fmt.Sprintf("with %s %d cpu are used in %s, and %d in its cohort",
			workload.name, r.used[queue], queue, r.used[cohort]))
	}
}
