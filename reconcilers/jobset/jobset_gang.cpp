#include "reconcilers/jobset/jobset_gang.h"

#include <algorithm>
#include <map>

#include "api/meta/constants.h"
#include "reconcilers/gang/group_scheduling_ledger.h"

namespace muster::reconcilers {
namespace {

// The Jobs of one JobSet that belong to a run whose deadline has passed.
class Expiry {
 public:
  Expiry(const JobSet& owner, const state::ClusterState& state) : owner_(owner), state_(state) {}

  bool operator()(const Job* job) {
    if (!job->barrier) return false;
    const GangDecisions& ledger = ledger_of(job->barrier->config_map);
    return !ledger.expired.empty() && ledger.verdict(state::GangIndex::token_of(*job)) == GroupVerdict::kExpired;
  }

 private:
  // The ConfigMap of another owner has no effect.
  const GangDecisions& ledger_of(const std::string& config_map) {
    const auto [entry, is_new] = ledgers_.try_emplace(config_map);
    const ConfigMap* map = is_new ? state_.find<ConfigMap>(owner_.meta.ns, config_map) : nullptr;
    const bool ours = map != nullptr && map->meta.controller && map->meta.controller->uid == owner_.meta.uid;
    if (ours) entry->second = read_ledger(*map);
    return entry->second;
  }

  const JobSet& owner_;
  const state::ClusterState& state_;
  std::map<std::string, GangDecisions, std::less<>> ledgers_;
};

// As the gang reconciler sees it: in a queue a gang is always tried again.
bool suspends_on_timeout(const Job& job, const JobSet& owner) {
  return job.barrier->suspend_on_timeout || !owner.meta.label(kQueueNameLabel).empty();
}

// A new Job would belong to another run, or wait suspended.
bool may_be_remade(const Job& job, const JobSet& owner) {
  if (owner.suspended) return true;
  const ReplicatedJob* replicated = owner.find(job.meta.label(kReplicatedJobNameKey));
  return replicated != nullptr && replicated->barrier && replicated->barrier->epoch != job.barrier->epoch;
}

}  // namespace

GangFailures sort_failures(const JobSet& owner, const JobSetAttempt& run, const state::ClusterState& state) {
  Expiry expired(owner, state);
  const auto ends_owner = [&](const Job* job) { return expired(job) && !suspends_on_timeout(*job, owner); };
  GangFailures failures;
  failures.being_failed = std::any_of(run.failed.begin(), run.failed.end(), ends_owner) ||
                          std::any_of(run.active.begin(), run.active.end(), ends_owner);
  for (const Job* job : run.failed) {
    if (!expired(job)) {
      failures.genuine.push_back(job);
    } else if (may_be_remade(*job, owner)) {
      failures.to_be_remade.push_back(job);
    }
  }
  return failures;
}

}  // namespace muster::reconcilers
