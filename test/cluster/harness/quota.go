package harness

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Quota is all that becomes of the reservations of a cluster.
type Quota struct{ *history }

// WatchQuota begins the observation, and continues after a crash of the API server: the objects after the crash
// replace the missed events.
func (c *Cluster) WatchQuota(t testing.TB) *Quota {
	t.Helper()
	trim := func(object *unstructured.Unstructured) {
		withoutManagers(object)
		if object.GetKind() == "Workload" {
			delete(object.Object, "spec")
		}
	}
	return &Quota{c.history(t, "", trim, goesOn, Workloads, ClusterQueues, Cohorts)}
}

// Reservation is the time when a Workload got quota, according to the watch.
type Reservation struct {
	Workload string
	At       time.Time
}

// Check requires for every reservation so far: the ClusterQueue used no more than its quota and borrowing
// limit, its tree of cohorts used no more than the quota of all members, and no Workload reserved a second time
// without an eviction in between. Lending limits are not checked. It returns the reservations in order.
func (q *Quota) Check(t testing.TB) []Reservation {
	t.Helper()
	book := quotaBook{limits: map[string][]limitsUntil{}, held: map[types.UID]holding{}}
	var made []Reservation
	for _, each := range q.inOrder(t) {
		if each.object.GetKind() != "Workload" {
			book.setLimits(each)
			continue
		}
		isNew, err := book.see(each)
		if err != nil {
			t.Errorf("at version %d: Workload %s %v", each.version, each.object.GetName(), err)
		}
		if isNew {
			made = append(made, Reservation{each.object.GetNamespace() + "/" + each.object.GetName(), each.at})
		}
	}
	return made
}

// grace is how long a changed quota counts on: an admission can be on its way to the API
// server while the change is on its way to muster.
const grace = time.Second

// flavored is a resource in a flavor.
type flavored struct{ flavor, resource string }

// amounts is so much of each.
type amounts map[flavored]resource.Quantity

func (a amounts) add(key flavored, amount resource.Quantity) {
	sum := a[key].DeepCopy()
	sum.Add(amount)
	a[key] = sum
}

// limitsUntil are the quotas of a ClusterQueue or Cohort as they were until then; the zero
// time: as they are.
type limitsUntil struct {
	version   int64  // of the object's spec
	parent    string // Cohort
	nominal   amounts
	borrowing amounts
	until     time.Time
}

// holding is the quota that a Workload has.
type holding struct {
	queue string
	used  amounts
}

type quotaBook struct {
	limits map[string][]limitsUntil // by kind and name, the newest last
	held   map[types.UID]holding
}

func (b *quotaBook) setLimits(change moment) {
	key := change.object.GetKind() + " " + change.object.GetName()
	known := b.limits[key]
	if len(known) > 0 && !change.gone && known[len(known)-1].version == change.object.GetGeneration() {
		return // its status
	}
	if len(known) > 0 {
		known[len(known)-1].until = change.at.Add(grace)
	}
	if !change.gone {
		known = append(known, limitsOf(change.object))
	}
	b.limits[key] = known
}

func limitsOf(object *unstructured.Unstructured) limitsUntil {
	limits := limitsUntil{version: object.GetGeneration(), nominal: amounts{}, borrowing: amounts{}}
	field := map[string]string{"ClusterQueue": "cohortName", "Cohort": "parentName"}[object.GetKind()]
	limits.parent, _, _ = unstructured.NestedString(object.Object, "spec", field)
	for _, group := range objectsIn(object.Object, "spec", "resourceGroups") {
		for _, flavor := range objectsIn(group, "flavors") {
			for _, quota := range objectsIn(flavor, "resources") {
				key := flavored{fmt.Sprint(flavor["name"]), fmt.Sprint(quota["name"])}
				limits.nominal[key] = quantity(quota["nominalQuota"])
				if most := quota["borrowingLimit"]; most != nil {
					limits.borrowing[key] = quantity(most)
				}
			}
		}
	}
	return limits
}

func objectsIn(object map[string]any, path ...string) (found []map[string]any) {
	list, _, _ := unstructured.NestedSlice(object, path...)
	for _, each := range list {
		found = append(found, each.(map[string]any))
	}
	return found
}

func quantity(value any) resource.Quantity {
	parsed, _ := resource.ParseQuantity(fmt.Sprint(value))
	return parsed
}

// see records a version of a Workload. It returns an error if its new quota was not free, or if the quota
// changed in a way that is not allowed.
func (b *quotaBook) see(change moment) (reserved bool, err error) {
	workload := change.object
	before, had := b.held[workload.GetUID()]
	now, has := holdingOf(workload)
	finished := ConditionOf(workload, "Finished")["status"] == "True"
	// A serving object with zero replicas releases its quota by itself.
	onHold := ConditionOf(workload, "QuotaReserved")["reason"] == "OnHold"
	if change.gone || finished {
		has = false
	}
	delete(b.held, workload.GetUID())
	switch {
	case has && had && now.queue != before.queue:
		return false, fmt.Errorf("changed from ClusterQueue %s to %s", before.queue, now.queue)
	case had && !has && !change.gone && !finished && !onHold && ConditionOf(workload, "Evicted")["status"] != "True":
		return false, fmt.Errorf("lost its quota without an eviction: %v", workload.Object["status"])
	case has:
		b.held[workload.GetUID()] = now
	}
	if !has || had {
		return false, nil
	}
	for key := range now.used {
		if err := b.fits(now.queue, key, change.at); err != nil {
			return true, err
		}
	}
	return true, nil
}

// holdingOf is the quota that a Workload holds; quota of finished pods that it has released is free.
func holdingOf(workload *unstructured.Unstructured) (holding, bool) {
	queue, _, _ := unstructured.NestedString(workload.Object, "status", "admission", "clusterQueue")
	if queue == "" || ConditionOf(workload, "QuotaReserved")["status"] != "True" {
		return holding{}, false
	}
	ended := map[any]int64{}
	for _, each := range objectsIn(workload.Object, "status", "reclaimablePods") {
		ended[each["name"]], _, _ = unstructured.NestedInt64(each, "count")
	}
	used := amounts{}
	for _, podSet := range objectsIn(workload.Object, "status", "admission", "podSetAssignments") {
		count, _, _ := unstructured.NestedInt64(podSet, "count")
		flavors, _, _ := unstructured.NestedStringMap(podSet, "flavors")
		usage, _, _ := unstructured.NestedMap(podSet, "resourceUsage")
		for name, flavor := range flavors {
			amount := quantity(usage[name])
			if gone := ended[podSet["name"]]; gone > 0 {
				amount.SetMilli(amount.MilliValue() / count * (count - gone))
			}
			used.add(flavored{flavor, name}, amount)
		}
	}
	return holding{queue, used}, true
}

// fits is nil if the usage of a flavor's resource fits into a ClusterQueue and its tree.
func (b *quotaBook) fits(queue string, key flavored, at time.Time) error {
	root := b.root("ClusterQueue " + queue)
	own, tree := resource.Quantity{}, resource.Quantity{}
	for _, each := range b.held {
		if each.queue == queue {
			own.Add(each.used[key])
		}
		if b.root("ClusterQueue "+each.queue) == root {
			tree.Add(each.used[key])
		}
	}
	most, bounded := b.mostOf("ClusterQueue "+queue, key, at)
	if bounded && own.Cmp(most) > 0 {
		return fmt.Errorf("makes ClusterQueue %s use %s of %v, of which it may use %s", queue, own.String(), key, most.String())
	}
	all := resource.Quantity{}
	for name := range b.limits {
		if b.root(name) == root {
			all.Add(b.nominal(name, key, at))
		}
	}
	if tree.Cmp(all) > 0 {
		return fmt.Errorf("makes the tree of %s use %s of %v, of which there are %s", root, tree.String(), key, all.String())
	}
	return nil
}

// root is the top of a tree: a Cohort, which need not exist, or a ClusterQueue alone.
func (b *quotaBook) root(name string) string {
	for range 10 {
		known := b.limits[name]
		if len(known) == 0 || known[len(known)-1].parent == "" {
			return name
		}
		name = "Cohort " + known[len(known)-1].parent
	}
	return name + ", in a cycle"
}

// valid are the limits that count then.
func (b *quotaBook) valid(name string, at time.Time) (valid []limitsUntil) {
	for _, each := range b.limits[name] {
		if each.until.IsZero() || at.Before(each.until) {
			valid = append(valid, each)
		}
	}
	return valid
}

func (b *quotaBook) nominal(name string, key flavored, at time.Time) (most resource.Quantity) {
	for _, each := range b.valid(name, at) {
		if has := each.nominal[key]; has.Cmp(most) > 0 {
			most = has
		}
	}
	return most
}

// mostOf is the most that a ClusterQueue can use; without a borrowing limit only the tree limits it.
func (b *quotaBook) mostOf(name string, key flavored, at time.Time) (most resource.Quantity, bounded bool) {
	for _, each := range b.valid(name, at) {
		borrowing, limited := each.borrowing[key]
		if each.parent != "" && !limited {
			return resource.Quantity{}, false
		}
		limit := borrowing.DeepCopy()
		limit.Add(each.nominal[key])
		if limit.Cmp(most) > 0 {
			most = limit
		}
	}
	return most, true
}
