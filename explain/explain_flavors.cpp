// The flavors that a Workload has tried (KEP-2560), for how long, why each failed, and the next flavor.
#include <algorithm>

#include "explain/explain_context.h"
#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/flavor_fallback.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/flavor_options.h"

namespace muster::explain {
namespace {

std::string used_of(const FlavorAttempt& attempt, Duration running, const std::optional<Duration>& timeout) {
  const Duration used = std::chrono::seconds(attempt.used_seconds) + running;
  const std::string text = format_duration(std::chrono::floor<std::chrono::seconds>(used));
  return timeout ? text + " of " + format_duration(*timeout) : text;
}

// The flavors that its pod sets could have instead.
std::string alternatives(const std::vector<scheduler::FlavorOptions>& options, const FlavorHistory& history,
                         std::string_view flavor) {
  std::vector<std::string> others;
  for (const scheduler::FlavorOptions& group : options) {
    if (group.assigned != flavor) continue;
    for (const std::string& other : group.eligible) {
      const FlavorAttempt* attempt = history.find(other);
      const bool failed = attempt != nullptr && attempt->failure;
      if (other != flavor && !failed && std::find(others.begin(), others.end(), other) == others.end())
        others.push_back(other);
    }
  }
  std::string text;
  for (const std::string& other : others) text += (text.empty() ? "" : ", ") + other;
  return text;
}

std::string what_follows(const FallbackStrategy& strategy, const std::string& others) {
  if (!others.empty()) return "It is then requeued, and can get these flavors: " + others + ".";
  if (strategy.failure_policy == FallbackFailurePolicy::kDeactivateWorkload)
    return "No other flavor is left: it is then deactivated.";
  return "No other flavor is left: a new round with all flavors then begins after a backoff.";
}

class Flavors {
 public:
  Flavors(const ExplainContext& context, const Workload& workload, ExplainReply& reply)
      : context_(context),
        workload_(workload),
        queues_(state::queues_of(workload, context.state)),
        options_(
            scheduler::flavor_options(context.decisions.scheduler().state(), workload.meta.ns, workload.meta.name)),
        reply_(reply) {}

  void tell() {
    for (const FlavorAttempt& attempt : workload_.status.flavors.attempts) tell(attempt);
    if (const auto& fallback = workload_.status.flavors.fallback; fallback && fallback->round > 1)
      reply_.add_fact("Round of flavors", std::to_string(fallback->round));
    if (const auto next = reconcilers::next_round_at(workload_.status, queues_.cluster, context_.now.wall))
      reply_.starts_when("If no flavor that has not failed has room, all flavors are tried again at " +
                         when(*next, context_.now) + ".");
  }

 private:
  const FallbackStrategy* strategy() const {
    return queues_.cluster != nullptr && queues_.cluster->fallback ? &*queues_.cluster->fallback : nullptr;
  }

  void tell(const FlavorAttempt& attempt) {
    const auto timeout = strategy() == nullptr ? std::nullopt : strategy()->timeout_of(attempt.flavor);
    const bool runs = reconcilers::flavor_clocks_run(workload_.status) && is_assigned(attempt.flavor);
    const Duration running =
        runs ? -reconcilers::time_left({.flavor = {}, .assigned_at = attempt.assigned_at}, {}, context_.now.wall)
             : Duration::zero();
    std::string text = "tried for " + used_of(attempt, running, timeout);
    if (attempt.failure)
      text = "failed at " + when(to_time_point(attempt.failure->time), context_.now) + " (" + attempt.failure->reason +
             "), " + text;
    reply_.add_fact("Flavor " + attempt.flavor, text);
    // What comes next, the other flavors of the ClusterQueue tell.
    if (attempt.failure || !runs || !timeout || context_.hides(kResourceFlavors)) return;
    const Duration left = std::max(reconcilers::time_left(attempt, *timeout, context_.now.wall), Duration::zero());
    reply_.starts_when("Flavor " + attempt.flavor + " fails at " + when(context_.now.wall + left, context_.now) +
                       ", unless all pods are ready before. " +
                       what_follows(*strategy(), alternatives(options_, workload_.status.flavors, attempt.flavor)));
  }

  bool is_assigned(const std::string& flavor) const {
    const std::vector<std::string> assigned = assigned_flavors(*workload_.status.admission);
    return std::find(assigned.begin(), assigned.end(), flavor) != assigned.end();
  }

  const ExplainContext& context_;
  const Workload& workload_;
  const state::QueuesOf queues_;
  const std::vector<scheduler::FlavorOptions> options_;
  ExplainReply& reply_;
};

}  // namespace

void explain_flavors(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  if (workload.finished() || workload.status.flavors.empty()) return;
  Flavors(context, workload, reply).tell();
}

}  // namespace muster::explain
