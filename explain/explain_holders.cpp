// Other Workloads: who has the quota that a Workload waits for (its own ClusterQueue, and those that have borrowed from
// the cohort), who makes room for it, and who blocks it.
#include "api/requests.h"
#include "base/ascii.h"
#include "explain/explain_context.h"
#include "explain/workload_indexes.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/quota_holders.h"

namespace muster::explain {

void add_holders(const ExplainContext& context, const scheduler::FlavorRow& row, const std::string& cluster_queue,
                 ExplainReply& reply) {
  constexpr size_t kMostHolders = 5;
  const scheduler::SchedulerState& state = context.decisions.scheduler().state();
  for (const scheduler::QuotaHolders& holders :
       scheduler::quota_holders(state, cluster_queue, row.flavor, row.resource, kMostHolders)) {
    ExplainedOthers others{.role = std::string(kHolderRole),
                           .count = static_cast<int64_t>(holders.count),
                           .names = {},
                           .cluster_queue = holders.cluster_queue,
                           .resource = row.resource,
                           .flavor = row.flavor,
                           .amount = to_quantity(row.resource, holders.amount).text(),
                           .borrowed = holders.borrowed};
    for (const auto& holder : holders.named) {
      const ObjectMeta& meta = holder.object->meta;
      others.names.push_back({.ns = meta.ns,
                              .name = meta.name,
                              .job = meta.controller ? (meta.ns == reply.ns ? "" : meta.ns + "/") +
                                                           in_small_letters(meta.controller->kind.text()) + "/" +
                                                           meta.controller->name
                                                     : "",
                              .amount = to_quantity(row.resource, holder.amount).text()});
    }
    reply.others.push_back(std::move(others));
  }
}

ExplainedOthers victims_of(const ExplainContext& context, const Workload& workload) {
  constexpr size_t kMostVictims = 10;
  ExplainedOthers victims{.role = std::string(kVictimRole), .count = 0, .names = {}};
  for (const Workload* victim : context.state.by(kVictimsByPreemptor, {"", workload.meta.uid})) {
    ++victims.count;
    if (victims.names.size() < kMostVictims) victims.names.push_back({victim->meta.ns, victim->meta.name});
  }
  return victims;
}

ExplainedOthers blocker_in(const ExplainContext& context) {
  ExplainedOthers blocker{.role = std::string(kBlockerRole), .count = 0, .names = {}};
  if (const auto key = context.decisions.blocked_by(context.now)) {
    blocker.count = 1;
    blocker.names.push_back({key->ns, key->name});
  }
  return blocker;
}

}  // namespace muster::explain
