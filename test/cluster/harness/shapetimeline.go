package harness

import "time"

// ShapeSecond is what happened in one second of a ShapeRun.
type ShapeSecond struct {
	Created  int           // creates that the API server answered
	Appeared int           // Workloads that the run's watch showed for the first time
	Admitted int           // admissions that it showed
	Over     int           // run times that ended, so that a write was due
	Ended    int           // answers to the writes that mark Workloads as finished
	Finished int           // finished Workloads that the watch showed
	Slowest  time.Duration // of those writes
}

// second is the entry of now. The mutex is held.
func (r *shapeRun) second() *ShapeSecond {
	number := int(time.Since(r.began) / time.Second)
	for len(r.outcome.Seconds) <= number {
		r.outcome.Seconds = append(r.outcome.Seconds, ShapeSecond{})
	}
	return &r.outcome.Seconds[number]
}

// waits is whether it exists and has no quota.
func (w *record) waits() bool { return w.version != "" && w.reservedIn == "" && !w.finished }

// count counts those that wait. A time without an admission begins when the first of them appears.
func (r *shapeRun) count(waited, waits bool, now time.Time) {
	switch {
	case waited && !waits:
		r.waiting--
	case waits && !waited:
		if r.waiting == 0 {
			r.lastAdmission = now
		}
		r.waiting++
	}
}
