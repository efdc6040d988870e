package queues

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.batch/test/cluster/harness"
)

// A flavor, its ClusterQueue, a LocalQueue and a Workload are made and deleted in every order,
// with and without time for muster to admit the Workload in between: no finalizer stays.
func TestQueuesThatAreMadeUsedAndDeletedAtOnceGo(t *testing.T) {
	races, within := harness.Size(50, 1000), harness.Bound(5*time.Second)
	cluster := harness.Connect(t)
	harness.StartQueueMuster(t)
	namespace := cluster.Namespace(t, nil)
	var mutex sync.Mutex
	var took []time.Duration
	admitted := 0
	outcome := harness.Load(harness.Context(t), 16, races, func(number int) error {
		race := queueRace{cluster: cluster, namespace: namespace, name: fmt.Sprintf("%s-%d", namespace, number),
			random: rand.New(rand.NewPCG(7, uint64(number))), timing: raceTiming(number % int(raceTimings))}
		lasted, err := race.run(within)
		mutex.Lock()
		defer mutex.Unlock()
		took = append(took, lasted)
		if race.admitted {
			admitted++
		}
		return err
	})
	slices.Sort(took)
	harness.Figure(t, "%d races, in %d of them the Workload was admitted: all gone after %s at the median, %s at most", races, admitted,
		took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	if outcome.Failed > 0 {
		t.Error(outcome)
	}
	if sure := races / int(raceTimings); admitted < sure || admitted > races-sure {
		t.Errorf("in %d of %d races the Workload was admitted; in %d it should be, and in as many it cannot be", admitted, races, sure)
	}
}

// When the deletes come. How far muster is at a random moment depends on the machine; the other two are sure.
type raceTiming int

const (
	deleteAtRandom raceTiming = iota
	deleteAdmitted
	deleteWithoutQueue // there is no LocalQueue
	raceTimings
)

type queueRace struct {
	cluster         *harness.Cluster
	namespace, name string
	random          *rand.Rand
	timing          raceTiming
	admitted        bool
}

func (r *queueRace) isAdmitted(ctx context.Context) bool {
	now, err := r.cluster.Dynamic.Resource(harness.Workloads).Namespace(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	return err == nil && harness.HasCondition("Admitted", "True", "")(now) == nil
}

// raced is one of the four objects of a race.
type raced struct {
	kind      schema.GroupVersionResource
	namespace string
	object    *unstructured.Unstructured
}

func (r *queueRace) objects() []raced {
	flavor := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": harness.ResourceFlavors.GroupVersion().String(), "kind": "ResourceFlavor", "metadata": map[string]any{"name": r.name},
	}}
	queue := harness.ClusterQueueOf(r.name, r.name)
	harness.Set(queue, "None", "spec", "stopPolicy")
	return []raced{
		{harness.ResourceFlavors, "", flavor},
		{harness.ClusterQueues, "", queue},
		{harness.LocalQueues, r.namespace, harness.LocalQueueOf(r.name, r.name)},
		{harness.Workloads, r.namespace, harness.JoblessWorkload(r.name, r.name, 1)},
	}
}

func (r *queueRace) shuffled() []raced {
	all := r.objects()
	r.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// run returns how long after the last delete all were gone.
func (r *queueRace) run(within time.Duration) (time.Duration, error) {
	ctx := context.Background()
	for _, one := range r.shuffled() {
		if r.timing == deleteWithoutQueue && one.kind == harness.LocalQueues {
			continue
		}
		if _, err := r.cluster.Dynamic.Resource(one.kind).Namespace(one.namespace).Create(ctx, one.object, harness.ForReal); err != nil {
			return 0, err
		}
	}
	if r.timing == deleteAtRandom {
		// Not for luck: where in muster's work the deletes fall is what races are about.
		time.Sleep(time.Duration(r.random.IntN(150)) * time.Millisecond)
	}
	for began := time.Now(); r.timing == deleteAdmitted && !r.isAdmitted(ctx); {
		if time.Since(began) > time.Minute {
			return 0, fmt.Errorf("%s was not admitted within a minute", r.name)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, one := range r.shuffled() {
		client := r.cluster.Dynamic.Resource(one.kind).Namespace(one.namespace)
		if one.kind == harness.Workloads {
			r.admitted = r.isAdmitted(ctx)
		}
		if err := client.Delete(ctx, r.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
	}
	deleted := time.Now()
	for {
		left := r.left()
		took := time.Since(deleted)
		if left == nil || took > within {
			return took, left
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// left is an error if one of the four is still there.
func (r *queueRace) left() error {
	for _, one := range r.objects() {
		object, err := r.cluster.Dynamic.Resource(one.kind).Namespace(one.namespace).Get(context.Background(), r.name, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("%s %s is there, deleted %v, finalizers %v, status %v", one.kind.Resource, r.name,
				object.GetDeletionTimestamp(), object.GetFinalizers(), object.Object["status"])
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
