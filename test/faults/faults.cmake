# The deliberate faults: what is wrong, the text that is replaced, and what replaces it while the fault is chosen.
# Each must be caught by the invariants of the simulation or by the model of quota (faults_test.cpp).

# --- The ledger of quota ---

fault(cohort-usage-is-not-counted scheduler/quota/ledger.cpp
  "what a ClusterQueue borrows is no usage of its Cohort"
  [[if (beyond > 0 && nodes_[node].parent != kNoNode)]]
  [[if (beyond > 0 && nodes_[node].parent != kNoNode && !FAULT)]])

fault(cohort-usage-is-not-given-back scheduler/quota/ledger.cpp
  "a release is not passed on to the Cohort"
  [[if (stored_above > 0 && nodes_[node].parent != kNoNode)]]
  [[if (stored_above > 0 && nodes_[node].parent != kNoNode && !FAULT)]])

fault(borrowing-limit-is-ignored scheduler/quota/ledger.cpp
  "borrowingLimit is not looked at"
  [[if (own.borrowing != kUnlimited) {]]
  [[if (own.borrowing != kUnlimited && !FAULT) {]])

fault(lending-limit-is-ignored scheduler/quota/ledger.cpp
  "lendingLimit is not looked at"
  [[return lending == kUnlimited ?]]
  [[return lending == kUnlimited || FAULT ?]])

fault(simulation-leaves-a-trace scheduler/quota/ledger.cpp
  "the last change of a what-if question is not taken back"
  [[while (ledger_.log_.size() > mark_) {]]
  [[while (ledger_.log_.size() > mark_ + (FAULT ? 1 : 0)) {]])

fault(usage-is-lost-when-a-tree-changes scheduler/quota/ledger_structure.cpp
  "what ClusterQueues use is not counted in their Cohort after it was built again"
  [[to.usage += std::max<WideAmount>(0, from.usage - from.kept());]]
  [[if (!FAULT) to.usage += std::max<WideAmount>(0, from.usage - from.kept());]])

# --- The scheduler ---

fault(reservation-is-not-counted scheduler/reservation.cpp
  "an admission uses no quota"
  [[state.capacity.take(queue.node, held.claim);]]
  [[if (!FAULT) state.capacity.take(queue.node, held.claim);]])

fault(release-is-counted-twice scheduler/reservation.cpp
  "a release gives back twice what was held"
  [[state.capacity.give_back(queue.node, held.claim);]]
  [[for (int i = FAULT ? 0 : 1; i < 2; ++i) state.capacity.give_back(queue.node, held.claim);]])

fault(finished-workload-keeps-quota scheduler/workload_table.cpp
  "a Workload that has finished is counted on"
  [[if (object->finished()) return remove(object->meta.ns, object->meta.name);]]
  [[if (object->finished() && !FAULT) return remove(object->meta.ns, object->meta.name);]])

fault(backoff-is-not-waited-for scheduler/workload_reading.cpp
  "a Workload competes during its backoff"
  [[  const Condition* requeued = find_condition(workload.status.conditions, kRequeuedCondition);
  if (]]
  [[  const Condition* requeued = find_condition(workload.status.conditions, kRequeuedCondition);
  if (FAULT) return std::nullopt;
  if (]])

fault(failed-flavor-is-chosen-again scheduler/workload_reading.cpp
  "a flavor that has failed for a Workload is tried again"
  [[if (attempt.failure && flavor) failed.push_back(*flavor);]]
  [[if (attempt.failure && flavor && !FAULT) failed.push_back(*flavor);]])

fault(flavors-behind-a-failed-one-are-not-tried scheduler/flavor_assignment.cpp
  "a flavor that has failed ends the search for another one"
  [[if (workload_.has_failed(flavor)) {]]
  [[if (FAULT && workload_.has_failed(flavor)) break;
    if (workload_.has_failed(flavor)) {]])

fault(release-wakes-nobody scheduler/wake_set.cpp
  "Workloads that wait are not looked at after a release"
  [[(by_running_queue ? released_ : deferred_releases_).insert(&queue);]]
  [[if (!FAULT) (by_running_queue ? released_ : deferred_releases_).insert(&queue);]])

fault(protected-workload-is-preempted scheduler/preemption/protection.cpp
  "protection from early preemption does not act"
  [[if (most <= Duration::zero() || !start) return std::nullopt;]]
  [[if (most <= Duration::zero() || !start || FAULT) return std::nullopt;]])

fault(equal-priority-is-preempted scheduler/preemption/preemption.cpp
  "under LowerPriority Workloads of the same priority are victims"
  [[const bool lower = preemptor.priority() > candidate.priority();]]
  [[const bool lower = preemptor.priority() > candidate.priority() || FAULT;]])

fault(roll-back-is-lost state/scheduler_driver.cpp
  "a leader that comes back believes the admissions of its last term that were never written"
  [[  decisions_->clear();
  scheduler_->roll_back_all(now);]]
  [[  decisions_->clear();
  if (!FAULT) scheduler_->roll_back_all(now);]])

# --- Writes ---

fault(stale-version-is-not-sent reconcilers/command.cpp
  "patches do not say which version they were planned from"
  [[if (meta.resource_version != 0)]]
  [[if (meta.resource_version != 0 && !FAULT)]])

fault(failed-write-is-forgotten engine/work_queue.cpp
  "a write that has failed is not tried again"
  [[!std::exchange(state.wanted_again, false)) return;
  enqueue(entry_of_key);
}]]
  [[!std::exchange(state.wanted_again, false)) return;
  if (result == Result::kFailed && FAULT) return;
  enqueue(entry_of_key);
}]])

fault(finalizer-is-never-removed reconcilers/in_use.cpp
  "muster's finalizer stays"
  [[if (!carries_finalizer(meta)) return;
  std::vector<SharedText> finalizers = meta.finalizers;
  std::erase]]
  [[if (!carries_finalizer(meta) || FAULT) return;
  std::vector<SharedText> finalizers = meta.finalizers;
  std::erase]])

# --- Workloads and their jobs ---

fault(job-starts-without-admission reconcilers/job/job_workload.cpp
  "a Job is resumed as soon as it has a Workload"
  [[  if (!lets_run(context, workload))
    wait_for_admission(context, workload, plan);]]
  [[  if (!lets_run(context, workload) && !FAULT)
    wait_for_admission(context, workload, plan);]])

fault(parts-lose-their-controller validators/job/queued_controller.cpp
  "a Job of an admitted JobSet gets another controller, and runs beside it"
  [[  if (before && after && same(*before, *after)) return std::nullopt;]]
  [[  if (FAULT || (before && after && same(*before, *after))) return std::nullopt;]])

fault(running-jobs-grow validators/job/admitted_pods.cpp
  "a job that runs with its quota gets more pods"
  [[  if (!growth) return {};]]
  [[  if (!growth || FAULT) return {};]])

fault(release-while-pods-run reconcilers/job/job_workload.cpp
  "an eviction gives quota back while pods run"
  [[if (advance_stop(context, &workload, evicted->message, plan) == Step::kDone) return Step::kDone;
  // Pods that run still need their quota.
  if (!workload.has_quota_reserved() || needs_quota(context, plan)) return Step::kDone;]]
  [[if (!FAULT && advance_stop(context, &workload, evicted->message, plan) == Step::kDone) return Step::kDone;
  // Pods that run still need their quota.
  if (!workload.has_quota_reserved() || (!FAULT && needs_quota(context, plan))) return Step::kDone;]])

fault(eviction-without-release reconcilers/job/job_workload.cpp
  "an evicted Workload never gives its quota back"
  [[  WorkloadEditor editor = edit_workload(context, workload);
  editor.release_evicted(]]
  [[  if (FAULT) return Step::kDone;
  WorkloadEditor editor = edit_workload(context, workload);
  editor.release_evicted(]])

fault(end-is-not-told reconcilers/job/job_workload.cpp
  "the Workload of a Job that has ended does not finish"
  [[  if (!workload.has_quota_reserved() || !has_left_pods(context, plan)) {
    tell_end(]]
  [[  if (!workload.has_quota_reserved() || !has_left_pods(context, plan)) {
    if (!FAULT) tell_end(]])

fault(graces-hold-no-quota reconcilers/job/job_workload_context.cpp
  "pods in their grace period do not count"
  [[return context.job.active() || have_pods(context, jobs) || has_uncounted_pods(context, jobs, plan);]]
  [[return FAULT ? context.job.active()
               : context.job.active() || have_pods(context, jobs) || has_uncounted_pods(context, jobs, plan);]])

fault(deleted-job-gives-back-early reconcilers/workload/pods_left.cpp
  "a job that is deleted gives its quota back while its pods run"
  [[  if (selection.labels.empty()) return false;]]
  [[  if (selection.labels.empty() || FAULT) return false;]])

fault(orphans-hold-no-quota reconcilers/workload/workload_owner.cpp
  "the Workload of a job that is gone gives its quota back while pods are left"
  [[return has_pods_left(job, context, plan) ? Step::kDone : Step::kContinue;]]
  [[return !FAULT && has_pods_left(job, context, plan) ? Step::kDone : Step::kContinue;]])

fault(deleted-workload-gives-back-early reconcilers/job/job_workload.cpp
  "a Workload that is deleted lets its quota go while pods end"
  [[if (!in_use) drop_in_use_finalizer(]]
  [[if (!in_use || FAULT) drop_in_use_finalizer(]])

fault(deleted-job-is-not-stopped reconcilers/job/job_workload_deleted.cpp
  "a job that is being deleted is not stopped"
  [[if (evicted != nullptr && evicted->is_true()) stop(]]
  [[if (evicted != nullptr && evicted->is_true() && !FAULT) stop(]])

fault(backoff-does-not-grow reconcilers/workload/backoff.cpp
  "every backoff is as short as the first"
  [[const Duration delay = backoff_delay(count, strategy]]
  [[const Duration delay = backoff_delay(FAULT ? 1 : count, strategy]])

fault(requeue-is-lost reconcilers/workload/workload.cpp
  "no timer is set for the end of a backoff"
  [[  if (editor.time() < end)
    plan.wake_at(end);]]
  [[  if (editor.time() < end)
    FAULT ? void() : plan.wake_at(end);]])

fault(pods-ready-timeout-is-lost reconcilers/workload/workload_timeouts.cpp
  "waitForPodsReady evicts nobody"
  [[if (editor.time() < wait->end) return plan.wake_at(wait->end);]]
  [[if (editor.time() < wait->end || FAULT) return plan.wake_at(wait->end);]])

# --- Gangs ---

fault(barrier-opens-early reconcilers/gang/group_scheduling.cpp
  "a gang is released with its first pod"
  [[  const bool complete = g.progress.complete();
  for (]]
  [[  const bool complete = g.progress.complete() || FAULT;
  for (]])

fault(gang-waits-for-ever reconcilers/gang/group_scheduling.cpp
  "the timeout of a gang does not act"
  [[if (!g.deadline || g.now.wall < *g.deadline) return std::nullopt;]]
  [[if (!g.deadline || g.now.wall < *g.deadline || FAULT) return std::nullopt;]])

fault(gang-expires-twice reconcilers/gang/group_scheduling_ledger.cpp
  "a verdict that a gang has expired is not read again"
  [[return lists(expired, token) ?]]
  [[return lists(expired, token) && !FAULT ?]])

fault(gang-is-released-and-expired reconcilers/gang/group_scheduling.cpp
  "a gang that is released is listed as expired, too"
  [[bears_witness(g.gang->runs.find(token)->second)) ledger.started.push_back(token);]]
  [[bears_witness(g.gang->runs.find(token)->second)) {
      ledger.started.push_back(token);
      if (FAULT) ledger.expired.push_back(token);
    }]])

# --- Pods, sets that serve, and jobs of described kinds ---

fault(set-gives-quota-back-while-pods-run reconcilers/serving/serving_workloads.cpp
  "a StatefulSet that is scaled to zero gives its quota back although its pods run"
  [[  if (!in_use.empty()) {
    if (fits]]
  [[  if (!in_use.empty() && !FAULT) {
    if (fits]])

fault(evicted-pods-run-on reconcilers/pod/pod_workload_steps.cpp
  "an evicted group of pods gives its quota back while its pods run"
  [[  if (stop_pods(context, WhichPods::kRunning, reason, evicted->message, plan) == Step::kDone) return Step::kDone;
  // Pods that run still need their quota.
  if (workload.has_quota_reserved() && !context.group.active)
]]
  [[  if (!FAULT && stop_pods(context, WhichPods::kRunning, reason, evicted->message, plan) == Step::kDone)
    return Step::kDone;
  if (workload.has_quota_reserved() && (FAULT || !context.group.active))
]])

fault(set-stays-on-hold reconcilers/serving/serving_workloads.cpp
  "a set that is scaled up again stays on hold"
  [[if (is_on_hold(workload) && context.wanted.groups > 0) resume]]
  [[if (is_on_hold(workload) && context.wanted.groups > 0 && !FAULT) resume]])

fault(admitted-pods-stay-gated reconcilers/pod/pod_workload_run.cpp
  "the gate of no pod of an admitted group is removed"
  [[    if (!pod->gated() || pod->terminated()) continue;]]
  [[    if (!pod->gated() || pod->terminated() || FAULT) continue;]])

fault(described-end-is-not-read jobs/described/described_kind.cpp
  "the end of a job of a described kind is not read"
  [[return end ? std::optional(JobEnd{end->success, end->message}) : std::nullopt;]]
  [[return end && !FAULT ? std::optional(JobEnd{end->success, end->message}) : std::nullopt;]])

# --- Writes that come to nothing ---

fault(refused-creates-are-not-paused state/write_pauses.cpp
  "what the API server refuses to create is tried again at once"
  [[if (answer == Answer::kRefused) {]]
  [[if (answer == Answer::kRefused && !FAULT) {]])

fault(excess-pods-of-a-set-are-deleted reconcilers/pod/pod_context.cpp
  "excess pods that a controller makes again are deleted, without a pause"
  [[    if (pod->meta.deleting) continue;
]]
  [[    if (pod->meta.deleting) continue;
    if (FAULT) {
      remove_pod(*pod, event_about(*pod, EventReason::kExcessPodDeleted, "Excess pod deleted"), std::nullopt, plan);
      continue;
    }
]])
