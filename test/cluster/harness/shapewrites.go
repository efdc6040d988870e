package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// What a ShapeRun writes.

// act queues the write that a Workload needs, if any. The mutex is held.
func (r *shapeRun) act(workload *record) {
	if !workload.busy && r.wanted(workload) != nil {
		workload.busy = true
		r.writes <- workload
	}
}

// admits is whether it has to admit the Workload. The mutex is held.
func (r *shapeRun) admits(workload *record) bool {
	return r.AdmitsAs != "" && workload.reservedIn == "" && !workload.finished
}

var finished = workloadCondition{Type: "Finished", Status: "True", Reason: "Succeeded", Message: "By test"}

// wanted is the new status of a Workload; nil: no write.
func (r *shapeRun) wanted(workload *record) map[string]any {
	switch queue := r.queues.cluster(workload.arrival); {
	case workload.finished:
		return nil
	case workload.evicted && workload.reservedIn != "":
		return map[string]any{"admission": nil, "conditions": with(workload.conditions,
			workloadCondition{Type: "QuotaReserved", Status: "False", Reason: "PendingEvaluation", Message: "Preempted"},
			workloadCondition{Type: "Admitted", Status: "False", Reason: "NoReservation", Message: "The workload has no reservation"},
			workloadCondition{Type: "Requeued", Status: "True", Reason: "Preempted", Message: "Preempted"})}
	case workload.over && r.CreatesPerSecond > 0:
		return map[string]any{"conditions": with(nil, finished)} // the others belong to others
	case workload.over:
		return map[string]any{"conditions": with(workload.conditions, finished)}
	case r.admits(workload):
		return map[string]any{
			"admission": map[string]any{"clusterQueue": queue, "podSetAssignments": []any{map[string]any{
				"name": "main", "count": 1, "flavors": map[string]any{"cpu": r.queues.Flavor},
				"resourceUsage": map[string]any{"cpu": fmt.Sprint(workload.set.CPU)},
			}}},
			"conditions": with(workload.conditions,
				workloadCondition{Type: "QuotaReserved", Status: "True", Reason: "QuotaReserved", Message: "Quota reserved in ClusterQueue " + queue},
				workloadCondition{Type: "Admitted", Status: "True", Reason: "Admitted", Message: "The workload is admitted"}),
		}
	}
	return nil
}

// write carries out queued writes until the run ends.
func (r *shapeRun) write() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case workload := <-r.writes:
			r.writeOne(workload)
		}
	}
}

func (r *shapeRun) writeOne(workload *record) {
	r.mutex.Lock()
	status, version, user := r.wanted(workload), workload.version, ""
	if r.admits(workload) {
		user = r.AdmitsAs
	}
	ends := workload.over && !workload.evicted
	applies := r.CreatesPerSecond > 0 && ends
	r.mutex.Unlock()
	answer, sent := http.StatusOK, time.Now()
	if status != nil {
		var err error
		if applies {
			answer, err = r.apply(workload.name, status)
		} else {
			answer, err = r.patch(workload.name, version, user, status)
		}
		if answer == http.StatusGatewayTimeout {
			r.unanswered(workload)
			return
		}
		if err != nil {
			r.cancel(err)
			return
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	workload.busy = false
	if ends && status != nil {
		second := r.second()
		second.Ended++
		second.Slowest = max(second.Slowest, time.Since(sent))
	}
	switch {
	case status == nil:
	case answer == http.StatusConflict:
		r.outcome.Conflicts++
		if workload.version != version {
			r.act(workload) // otherwise the change that caused the conflict is still to come
		}
	default:
		r.outcome.StatusWrites++
		if workload.version != version {
			r.act(workload) // the next change has been seen already
		}
	}
}

// unanswered sends a write again that the API server gave up. If it was carried out all the same, the watch shows it.
func (r *shapeRun) unanswered(workload *record) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.outcome.Unanswered++
	workload.busy = false
	r.act(workload)
}

func (r *shapeRun) patch(name, version, user string, status map[string]any) (int, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": status})
	if err != nil {
		return 0, err
	}
	return r.client.send(r.ctx, http.MethodPatch, r.queues.path()+"/"+name+"/status", user, mergePatch, body)
}

func (r *shapeRun) apply(name string, status map[string]any) (int, error) {
	body, err := json.Marshal(map[string]any{
		"apiVersion": storedKueue, "kind": "Workload", "metadata": map[string]any{"name": name}, "status": status,
	})
	if err != nil {
		return 0, err
	}
	path := r.queues.path() + "/" + name + "/status?fieldManager=runner&force=true"
	return r.client.send(r.ctx, http.MethodPatch, path, "", applyPatch, body)
}

func isTrue(conditions []workloadCondition, kind string) bool {
	for _, each := range conditions {
		if each.Type == kind {
			return each.Status == "True"
		}
	}
	return false
}

func with(conditions []workloadCondition, news ...workloadCondition) []workloadCondition {
	var all []workloadCondition
	for _, each := range conditions {
		kept := true
		for _, new := range news {
			kept = kept && new.Type != each.Type
		}
		if kept {
			all = append(all, each)
		}
	}
	now := time.Now().UTC().Format(time.RFC3339)
	for _, new := range news {
		new.Transition, new.Generation = now, 1 // no spec changes
		all = append(all, new)
	}
	return all
}
