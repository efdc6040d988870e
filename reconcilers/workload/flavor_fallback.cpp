#include "reconcilers/workload/flavor_fallback.h"

#include <algorithm>
#include <limits>

#include "api/texts/workload_texts.h"
#include "reconcilers/workload/backoff.h"
#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/flavor_group_order.h"
#include "reconcilers/workload/workload_checks.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/flavor_options.h"
#include "state/scheduler_driver.h"

namespace muster::reconcilers {
namespace {

using Names = std::vector<std::string>;
using Options = std::vector<scheduler::FlavorOptions>;

constexpr FallbackTrigger kTriggers[] = {FallbackTrigger::kTimeout, FallbackTrigger::kRejectedCheck};

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names failed_flavors(const FlavorHistory& history) {
  Names failed;
  for (const FlavorAttempt& attempt : history.attempts) {
    if (attempt.failure) failed.push_back(attempt.flavor);
  }
  return failed;
}

bool has_alternative(const scheduler::FlavorOptions& options, std::string_view flavor, const Names& failed) {
  return std::any_of(options.eligible.begin(), options.eligible.end(),
                     [&](const std::string& other) { return other != flavor && !contains(failed, other); });
}

// Whether every pod set that has the flavor (without quota: that could have it) could have another one.
bool can_be_left(std::string_view flavor, const Options& all, const Names& failed) {
  bool concerned = false;
  for (const scheduler::FlavorOptions& options : all) {
    const bool concerns = options.assigned.empty() ? contains(options.eligible, flavor) : options.assigned == flavor;
    if (!concerns) continue;
    if (!has_alternative(options, flavor, failed)) return false;
    concerned = true;
  }
  return concerned;
}

// The first of the flavors that fail now that can be left; empty: none. One at a time, so that the flavors of the other
// groups are tried with the next one as well.
std::string flavor_to_leave(const Names& failing, const Options& options, const Names& failed) {
  const auto found = std::find_if(failing.begin(), failing.end(),
                                  [&](const std::string& flavor) { return can_be_left(flavor, options, failed); });
  return found == failing.end() ? "" : *found;
}

bool nothing_left(const Options& all, const Names& failed) {
  return std::any_of(all.begin(), all.end(), [&](const scheduler::FlavorOptions& options) {
    return !options.eligible.empty() && !has_alternative(options, "", failed);
  });
}

// The flavors that fail at the same time.
struct Failing {
  FallbackTrigger trigger = FallbackTrigger::kTimeout;
  Names flavors{};
};

class Fallback {
 public:
  Fallback(WorkloadEditor& editor, const ClusterQueue& queue, const QueueSettings& settings, Options options)
      : editor_(editor),
        queue_(queue),
        strategy_(*queue.fallback),
        settings_(settings),
        options_(std::move(options)),
        groups_(queue) {}

  Step enforce_rejected_checks();
  Step enforce_timeouts(Plan& plan);
  // Without quota.
  void drop_void_failures();
  void note_spent_flavors();
  void begin_round_when_waited(Plan& plan);

 private:
  FlavorHistory& history() { return editor_.status.flavors; }
  bool applies(const AdmissionCheckState& check, std::string_view flavor) const;
  void mark(const Names& flavors, FallbackTrigger trigger);
  // Of the flavors that fail, the one that is left; empty: none can be.
  std::string choose(Failing& failing) const;
  void leave(const Failing& failing, const std::string& left);
  void mark_left(const Failing& failing, const std::string& left);
  // "flavor spot: not all pods were ready within 15m0s"
  std::string why(const std::string& flavor, FallbackTrigger trigger) const;
  void exhaust(const Failing& failing);
  void begin_round();
  std::string all_that_failed();

  WorkloadEditor& editor_;
  const ClusterQueue& queue_;
  const FallbackStrategy& strategy_;
  const QueueSettings& settings_;
  const Options options_;
  const FlavorGroupOrder groups_;
};

// By any of the queue's entries for the check.
bool Fallback::applies(const AdmissionCheckState& check, std::string_view flavor) const {
  return std::any_of(
      queue_.admission_checks.begin(), queue_.admission_checks.end(),
      [&](const AdmissionCheckRule& rule) { return rule.name == check.name && rule.applies_to(flavor); });
}

void Fallback::mark(const Names& flavors, FallbackTrigger trigger) {
  const Timestamp stamp = whole_seconds(editor_.time());
  for (const std::string& flavor : flavors) {
    if (FlavorAttempt* attempt = history().find(flavor))
      attempt->failure = FlavorFailure{.reason = std::string(to_text(trigger)), .time = stamp};
    editor_.measure({.what = Measured::kFlavorFallback,
                     .cluster_queue = queue_.meta.name,
                     .reason = std::string(to_text(trigger)),
                     .flavor = flavor});
  }
}

std::string Fallback::choose(Failing& failing) const {
  std::stable_sort(failing.flavors.begin(), failing.flavors.end(),
                   [&](const std::string& one, const std::string& other) { return groups_.before(one, other); });
  return flavor_to_leave(failing.flavors, options_, failed_flavors(editor_.status.flavors));
}

std::string Fallback::why(const std::string& flavor, FallbackTrigger trigger) const {
  if (trigger == FallbackTrigger::kRejectedCheck)
    return "flavor " + flavor + ": " + describe_rejected_checks(editor_.status);
  return "flavor " + flavor + ": not all pods were ready within " +
         format_duration(strategy_.timeout_of(flavor).value_or(Duration::zero()));
}

void Fallback::leave(const Failing& failing, const std::string& left) {
  editor_.evict(kFlavorFallbackReason, to_text(failing.trigger), "Falls back from " + why(left, failing.trigger));
  mark_left(failing, left);
}

// With the next flavor of its group, the groups before it begin again, and so does a flavor that was to fail as well.
void Fallback::mark_left(const Failing& failing, const std::string& left) {
  mark({left}, failing.trigger);
  for (FlavorAttempt& attempt : history().attempts) {
    if (attempt.flavor == left) continue;
    const bool begins = groups_.before(attempt.flavor, left);
    if (begins) attempt.failure.reset();
    if (begins || contains(failing.flavors, attempt.flavor)) attempt.used_seconds = 0;
  }
}

std::string Fallback::all_that_failed() {
  std::string text;
  for (const FlavorAttempt& attempt : history().attempts) {
    if (attempt.failure) text += (text.empty() ? "" : ", ") + attempt.flavor + " (" + attempt.failure->reason + ")";
  }
  return text;
}

// The attempts of the round that ends are forgotten.
void Fallback::begin_round() {
  int32_t& round = history().fallback->round;
  round = round == std::numeric_limits<int32_t>::max() ? round : round + 1;
  history().attempts.clear();
}

void Fallback::exhaust(const Failing& failing) {
  mark(failing.flavors, failing.trigger);
  std::string failed = "the failure of all flavors: " + all_that_failed();
  if (strategy_.failure_policy == FallbackFailurePolicy::kDeactivateWorkload) {
    editor_.record_event(EventReason::kFlavorsExhausted, "The workload is deactivated due to " + failed);
    return editor_.target_deactivation(kFlavorsExhaustedReason, failed);
  }
  const int32_t ended = history().fallback->round;
  const Timestamp next = backoff_end(ended, requeuing_of(settings_), editor_.workload().meta.uid, editor_.time());
  const std::string message = "Round " + std::to_string(ended) + " has ended with " + failed + "; round " +
                              std::to_string(ended + int64_t{1}) + " begins at " + format_rfc3339(next);
  editor_.record_event(EventReason::kFlavorsExhausted, message);
  if (editor_.status.admission) editor_.evict(kFlavorFallbackReason, to_text(failing.trigger), message);
  begin_round();
  RequeueState state = editor_.status.requeue_state.value_or(RequeueState());
  set_requeue_at(state, next, false);
  editor_.status.requeue_state = state;
}

Step Fallback::enforce_rejected_checks() {
  Failing failing{.trigger = FallbackTrigger::kRejectedCheck};
  for (const AdmissionCheckState& check : editor_.status.admission_checks) {
    if (check.state != kCheckRejected) continue;
    for (const std::string& flavor : assigned_flavors(*editor_.status.admission)) {
      if (!applies(check, flavor) || !strategy_.applies(flavor, failing.trigger)) continue;
      if (!contains(failing.flavors, flavor)) failing.flavors.push_back(flavor);
    }
  }
  if (failing.flavors.empty()) return Step::kContinue;
  start_missing_flavor_clocks(editor_.status, queue_, whole_seconds(editor_.time()));
  const std::string left = choose(failing);
  if (left.empty())
    exhaust(failing);
  else
    leave(failing, left);
  return Step::kDone;
}

Step Fallback::enforce_timeouts(Plan& plan) {
  if (!flavor_clocks_run(editor_.status)) return Step::kContinue;
  start_missing_flavor_clocks(editor_.status, queue_, whole_seconds(editor_.time()));
  const Names failed = failed_flavors(history());
  Failing failing;
  std::optional<Duration> next, next_way_out;
  for (const std::string& flavor : assigned_flavors(*editor_.status.admission)) {
    const auto timeout = strategy_.timeout_of(flavor);
    const FlavorAttempt* attempt = history().find(flavor);
    if (!timeout || attempt == nullptr) continue;
    const Duration left = time_left(*attempt, *timeout, editor_.time());
    if (left > Duration::zero()) {
      next = std::min(next.value_or(left), left);
      if (can_be_left(flavor, options_, failed)) next_way_out = std::min(next_way_out.value_or(left), left);
      continue;
    }
    failing.flavors.push_back(flavor);
  }
  if (failing.flavors.empty()) {
    if (next) plan.wake_at(editor_.time() + *next);
    return Step::kContinue;
  }
  if (const std::string left = choose(failing); !left.empty()) {
    leave(failing, left);
  } else if (next_way_out) {
    // A flavor of another group can still be left, when its own timeout has passed.
    plan.wake_at(editor_.time() + *next_way_out);
    return Step::kContinue;
  } else {
    exhaust(failing);
  }
  editor_.blame_late_pods();
  return Step::kDone;
}

// A failure counts as long as the queue has the flavor and the rule by which it failed.
void Fallback::drop_void_failures() {
  keep_flavors_of(queue_, history());
  for (FlavorAttempt& attempt : history().attempts) {
    if (!attempt.failure) continue;
    const bool counts = std::any_of(std::begin(kTriggers), std::end(kTriggers), [&](FallbackTrigger trigger) {
      return attempt.failure->reason == to_text(trigger) && strategy_.applies(attempt.flavor, trigger);
    });
    if (counts) continue;
    attempt.failure.reset();
    attempt.used_seconds = 0;
  }
}

// A timeout can pass without an eviction by these rules: another eviction came at the same time, or the timeout
// was shortened. The flavors that were left can also have been removed.
void Fallback::note_spent_flavors() {
  Failing failing;
  for (const FlavorAttempt& attempt : history().attempts) {
    const auto timeout = strategy_.timeout_of(attempt.flavor);
    if (!attempt.failure && timeout && std::chrono::seconds(attempt.used_seconds) >= *timeout)
      failing.flavors.push_back(attempt.flavor);
  }
  if (const std::string left = choose(failing); !left.empty()) return mark_left(failing, left);
  if (!failing.flavors.empty() || nothing_left(options_, failed_flavors(history()))) exhaust(failing);
}

void Fallback::begin_round_when_waited(Plan& plan) {
  const auto next = next_round_at(editor_.status, &queue_, editor_.time());
  if (!next) return;
  if (editor_.time() < *next) return plan.wake_at(*next);
  editor_.record_event(EventReason::kFlavorsRetried, "No flavor that has not failed had room for " +
                                                         format_duration(*strategy_.longest_timeout()) +
                                                         ": all flavors are tried again");
  begin_round();
}

Options options_of(const Workload& workload, const state::SchedulerDriver& decisions) {
  const ObjectMeta& meta = workload.meta;
  return scheduler::flavor_options(decisions.scheduler().state(), meta.ns, meta.name);
}

// Then the ClusterQueue is inactive, also before its status says so, and nothing is decided about its Workloads.
bool lacks_a_flavor(const ClusterQueue& queue, const state::ClusterState& state) {
  const Names flavors = flavors_of(queue);
  return std::any_of(flavors.begin(), flavors.end(),
                     [&](const std::string& name) { return state.find(kResourceFlavors, "", name) == nullptr; });
}

}  // namespace

Step enforce_fallback_rules(WorkloadEditor& editor, const state::QueuesOf& queues, const ReconcileContext& context,
                            Plan& plan) {
  if (queues.cluster == nullptr || !queues.cluster->fallback || !editor.status.admission ||
      editor.is_true(kEvictedCondition))
    return Step::kContinue;
  Options options = options_of(editor.workload(), context.decisions);
  if (options.empty()) return Step::kContinue;
  Fallback fallback(editor, *queues.cluster, context.queues(), std::move(options));
  return fallback.enforce_rejected_checks() == Step::kDone ? Step::kDone : fallback.enforce_timeouts(plan);
}

bool falls_back_at(const Workload& workload, const state::ClusterState& state, const state::SchedulerDriver& decisions,
                   TimePoint at) {
  const state::QueuesOf queues = state::queues_of(workload, state);
  if (queues.cluster == nullptr || !queues.cluster->fallback) return false;
  const Options options = options_of(workload, decisions);
  const Names failed = failed_flavors(workload.status.flavors);
  Names failing;
  bool way_out_later = false;
  for (const FlavorEnd& each : flavor_ends(workload.status, *queues.cluster->fallback)) {
    if (each.end <= at)
      failing.push_back(each.flavor);
    else
      way_out_later = way_out_later || can_be_left(each.flavor, options, failed);
  }
  if (options.empty() || failing.empty()) return false;
  return !way_out_later || !flavor_to_leave(failing, options, failed).empty();
}

Step review_failed_flavors(WorkloadEditor& editor, const state::QueuesOf& queues, const ReconcileContext& context,
                           Plan& plan) {
  FlavorHistory& history = editor.status.flavors;
  if (history.empty() || queues.cluster == nullptr) return Step::kContinue;
  if (!queues.cluster->fallback || !history.is_about(queues.cluster->meta.name)) {
    history = {};
    return Step::kDone;
  }
  const auto changed = [&] { return editor.changed() ? Step::kDone : Step::kContinue; };
  Fallback fallback(editor, *queues.cluster, context.queues(), options_of(editor.workload(), context.decisions));
  fallback.drop_void_failures();
  if (editor.changed() || is_kept_out(editor.workload(), queues) || lacks_a_flavor(*queues.cluster, context.state))
    return changed();
  fallback.note_spent_flavors();
  if (!editor.changed()) fallback.begin_round_when_waited(plan);
  return changed();
}

std::optional<TimePoint> next_round_at(const WorkloadStatus& status, const ClusterQueue* queue, TimePoint now) {
  const Condition* reserved = find_condition(status.conditions, kQuotaReservedCondition);
  if (queue == nullptr || !queue->fallback || !status.flavors.is_about(queue->meta.name) || reserved == nullptr ||
      reserved->is_true() || (status.requeue_state && !status.requeue_state->requeue_at.is_zero()))
    return std::nullopt;
  const auto longest = queue->fallback->longest_timeout();
  if (queue->fallback->failure_policy != FallbackFailurePolicy::kRetryAllFlavors || !longest) return std::nullopt;
  // Quota for it exists and becomes free later.
  if (reserved->reason == kWaitingForPreemptedWorkloadsReason ||
      reserved->reason == kWaitingForProtectedWorkloadsReason || reserved->reason == kWaitingForPodsReadyReason)
    return std::nullopt;
  if (failed_flavors(status.flavors).empty()) return std::nullopt;
  Timestamp since = reserved->last_transition;
  if (const Condition* requeued = find_condition(status.conditions, kRequeuedCondition))
    since = std::max(since, requeued->last_transition);
  for (const FlavorAttempt& attempt : status.flavors.attempts) {
    if (attempt.failure) since = std::max(since, attempt.failure->time);
  }
  const TimePoint begun = std::clamp(to_time_point(since), now - 2 * kLongestFallbackTimeout, now);
  return begun + *longest;
}

void forget_flavors_when_reactivated(WorkloadEditor& editor) {
  if (editor.status.flavors.empty() || editor.is_true(kQuotaReservedCondition)) return;
  const auto was_deactivated = [&](std::string_view type) {
    const Condition* condition = editor.find(type);
    return condition != nullptr && !condition->is_true() && says_deactivated(condition->reason);
  };
  if (was_deactivated(kRequeuedCondition) || was_deactivated(kQuotaReservedCondition)) editor.status.flavors = {};
}

RequeuingStrategy requeuing_of(const QueueSettings& settings) {
  return settings.wait_for_pods_ready ? settings.wait_for_pods_ready->requeuing : RequeuingStrategy();
}

}  // namespace muster::reconcilers
