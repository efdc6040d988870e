package harness

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Overrun follows the Jobs, JobSets and Workloads of a namespace in which every job is managed. It knows only
// these rules of muster: a Job whose controller is an existing JobSet with that uid is a part of it; any other
// Job counts alone; and the admitted amount of both is in the Workloads whose controller it is.
type Overrun struct{ *history }

// Overrun begins to look, at a namespace that is still empty.
func (c *Cluster) Overrun(t testing.TB, namespace string) *Overrun {
	t.Helper()
	return &Overrun{c.history(t, namespace, withoutManagers, unbroken, Jobs, JobSets, Workloads)}
}

// Check is an error for each version of an object at which the running Jobs of one owner, with all pods that
// they can have, requested more cpu than was admitted for the owner. Jobs that will end without another request
// have `grace`: the Jobs of a deleted JobSet until garbage is collected, and a Job that has lost its controller
// until this is seen.
func (o *Overrun) Check(t testing.TB, grace time.Duration) (errors []error) {
	t.Helper()
	book := newOverrunBook(grace)
	told := map[types.UID]bool{}
	for _, each := range o.inOrder(t) {
		book.see(t, each)
		for root, cpus := range book.running(each.at) {
			if most := book.admittedFor(root, each.at); cpus > most && !told[root] {
				told[root] = true
				errors = append(errors, fmt.Errorf("%s, version %d (%s %s): the running Jobs of %s ask for %dm cpu, and %dm are admitted",
					each.at.Format("15:04:05.000"), each.version, each.object.GetKind(), each.object.GetName(), root, cpus, most))
			}
		}
	}
	return errors
}

// Now is an error while more cpu is used than admitted, without any grace.
func (o *Overrun) Now(t testing.TB) error {
	t.Helper()
	book, now := newOverrunBook(0), time.Now()
	for _, each := range o.inOrder(t) {
		book.see(t, each)
	}
	for root, cpus := range book.running(now) {
		if most := book.admittedFor(root, now); cpus > most {
			return fmt.Errorf("the running Jobs of %s ask for %dm cpu, and %dm are admitted", root, cpus, most)
		}
	}
	return nil
}

func newOverrunBook(grace time.Duration) overrunBook {
	return overrunBook{grace: grace, jobs: map[types.UID]*runningJob{}, jobSets: map[types.UID]time.Time{}, workloads: map[holder]*admitted{}}
}

// runningJob is the amount that a Job that is not suspended can use. `root`: the owner of this quota when it
// was last known.
type runningJob struct {
	controller types.UID // of a JobSet; empty: none
	cpus       int64
	root       types.UID
	rootAt     time.Time
}

// holder is a Workload with its controller.
type holder struct{ workload, owner types.UID }

// admitted is the amount that a Workload holds, or held until then.
type admitted struct {
	cpus  int64
	until time.Time // zero: it does
}

type overrunBook struct {
	grace     time.Duration
	jobs      map[types.UID]*runningJob
	jobSets   map[types.UID]time.Time // when each was deleted; zero: it exists
	workloads map[holder]*admitted
}

func (b *overrunBook) see(t testing.TB, change moment) {
	uid := change.object.GetUID()
	switch change.object.GetKind() {
	case "Job":
		b.seeJob(t, change)
	case "JobSet":
		b.jobSets[uid] = time.Time{}
		if change.gone {
			b.jobSets[uid] = change.at
		}
	case "Workload":
		b.seeWorkload(change)
	}
}

// seeWorkload: released quota, also by the loss of its controller, counts for some more time.
func (b *overrunBook) seeWorkload(change moment) {
	uid := change.object.GetUID()
	holds, cpus := heldCPU(change)
	now := holder{uid, controllerOf(change.object)}
	for each, known := range b.workloads {
		if each.workload == uid && (!holds || each.owner != now.owner) && known.until.IsZero() {
			known.until = change.at.Add(b.grace)
		}
	}
	if holds {
		b.workloads[now] = &admitted{cpus: cpus}
	}
}

func controllerOf(object *unstructured.Unstructured) types.UID {
	if controller := metav1.GetControllerOf(object); controller != nil {
		return controller.UID
	}
	return ""
}

func heldCPU(change moment) (holds bool, cpus int64) {
	held, has := holdingOf(change.object)
	if !has || change.gone || ConditionOf(change.object, "Finished")["status"] == "True" {
		return false, 0
	}
	for key, amount := range held.used {
		if key.resource == "cpu" {
			cpus += amount.MilliValue()
		}
	}
	return true, cpus
}

func (b *overrunBook) seeJob(t testing.TB, change moment) {
	t.Helper()
	uid, job := change.object.GetUID(), batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(change.object.Object, &job); err != nil {
		t.Fatal(err)
	}
	if change.gone || !runsPods(&job) {
		delete(b.jobs, uid)
		return
	}
	known := b.jobs[uid]
	if known == nil {
		known = &runningJob{}
		b.jobs[uid] = known
	}
	known.controller, known.cpus = "", cpusOf(&job)
	if controller := metav1.GetControllerOf(&job); controller != nil && controller.Kind == "JobSet" &&
		controller.APIVersion == JobSets.GroupVersion().String() {
		known.controller = controller.UID
		// The controller of JobSets can see the end of a Job before the end of its JobSet, and makes the Job again:
		// this one is garbage too, on the quota of the same JobSet.
		if deleted := b.jobSets[controller.UID]; !deleted.IsZero() && known.root == "" {
			known.root, known.rootAt = controller.UID, deleted
		}
	}
}

// runsPods is whether the Job controller makes pods of it.
func runsPods(job *batchv1.Job) bool {
	for _, each := range job.Status.Conditions {
		if (each.Type == batchv1.JobComplete || each.Type == batchv1.JobFailed) && each.Status == "True" {
			return false
		}
	}
	suspended := job.Spec.Suspend != nil && *job.Spec.Suspend
	foreign := job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName
	return !suspended && !foreign && job.DeletionTimestamp == nil
}

// cpusOf is the request of all pods that a Job can have at a time, in millicpus.
func cpusOf(job *batchv1.Job) int64 {
	pods := int64(1)
	if job.Spec.Parallelism != nil {
		pods = int64(*job.Spec.Parallelism)
	}
	if job.Spec.Completions != nil {
		pods = min(pods, int64(*job.Spec.Completions))
	}
	each := resource.Quantity{}
	for i := range job.Spec.Template.Spec.Containers {
		each.Add(*job.Spec.Template.Spec.Containers[i].Resources.Requests.Cpu())
	}
	return pods * each.MilliValue()
}

// running is the request of the Jobs of each root.
func (b *overrunBook) running(now time.Time) map[types.UID]int64 {
	sums := map[types.UID]int64{}
	for uid, job := range b.jobs {
		root := uid
		if deleted, known := b.jobSets[job.controller]; known && deleted.IsZero() {
			root = job.controller
			job.root, job.rootAt = root, now
		} else if job.root != "" && now.Sub(job.rootAt) < b.grace {
			root = job.root
		}
		sums[root] += job.cpus
	}
	return sums
}

func (b *overrunBook) admittedFor(root types.UID, now time.Time) (cpus int64) {
	for holder, each := range b.workloads {
		if holder.owner == root && (each.until.IsZero() || now.Before(each.until)) {
			cpus += each.cpus
		}
	}
	return cpus
}
