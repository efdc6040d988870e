#include "explain/lists/holder_list.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "api/jobset.h"
#include "api/meta/names.h"
#include "api/requests.h"
#include "api/workload.h"
#include "api/workload_conditions.h"
#include "base/did_you_mean.h"
#include "explain/lists/workload_list.h"
#include "explain/lists/workload_state.h"

namespace muster::explain {
namespace {

using nlohmann::json;

struct Holder {
  const ListedWorkload* listed;
  std::string flavor;
  int64_t amount;
  bool other_queue;
};

Result<uint32_t> queue_of(const QueueSnapshot& snapshot, const HolderQuestion& question) {
  std::string name = question.cluster_queue;
  if (!question.local_queue.empty()) {
    const ListedLocalQueue* local = snapshot.find_local_queue(question.ns, question.local_queue);
    if (local == nullptr && snapshot.hides(kLocalQueues)) return fail("you cannot list localqueues");
    if (local == nullptr)
      return fail("there is no LocalQueue " + question.local_queue + " in namespace " + question.ns);
    name = local->object->cluster_queue;
  }
  const auto queue = snapshot.find_cluster_queue(name);
  if (!queue && snapshot.hides(kClusterQueues))
    return fail("you cannot list clusterqueues, and so not see who holds the quota of ClusterQueue " + name);
  if (!queue) return fail("there is no ClusterQueue " + name);
  return *queue;
}

// The top Cohort above a Cohort; empty if it has no parent. In a cycle the search ends at its start.
std::string root_of(const QueueSnapshot& snapshot, std::string cohort) {
  for (size_t steps = 0; steps < snapshot.cohorts().size(); ++steps) {
    const auto& all = snapshot.cohorts();
    const auto found =
        std::lower_bound(all.begin(), all.end(), cohort,
                         [](const scheduler::ListedCohort& one, const std::string& name) { return one.name < name; });
    if (found == all.end() || found->name != cohort || found->parent.empty()) break;
    cohort = found->parent;
  }
  return cohort;
}

bool has_resource(const scheduler::ListedClusterQueue& queue, const std::string& resource, bool borrowed) {
  return std::any_of(queue.quotas.begin(), queue.quotas.end(), [&](const scheduler::ListedQuota& quota) {
    return quota.resource == resource && (!borrowed || quota.borrowed > 0);
  });
}

// "cpu and nvidia.com/gpu", and which of them the user means.
std::string resources_of(const scheduler::ListedClusterQueue& queue, const std::string& meant) {
  std::set<std::string> names;
  for (const scheduler::ListedQuota& quota : queue.quotas) names.insert(quota.resource);
  const std::vector<std::string> known(names.begin(), names.end());
  return known.empty() ? "no quota at all" : join(known, ", ") + did_you_mean(meant, known);
}

void add_holders(const QueueSnapshot& snapshot, uint32_t queue, const std::string& resource, bool other,
                 std::vector<Holder>& holders) {
  const QueueSnapshot::Range& range = snapshot.of_cluster_queue(queue);
  for (uint32_t row = range.first; row < range.first_pending; ++row) {
    const ListedWorkload& listed = snapshot.workloads()[row];
    if (!listed.object->status.admission) continue;
    std::map<std::string, int64_t> amounts;
    for (const PodSetAssignment& pod_set : listed.object->status.admission->pod_sets) {
      const auto flavor = pod_set.flavors.find(resource);
      if (flavor == pod_set.flavors.end()) continue;
      const Requests usage = to_requests(pod_set.resource_usage);
      const auto amount = usage.find(resource);
      if (amount == usage.end()) continue;
      int64_t& sum = amounts[flavor->second];
      sum = saturating_add(sum, amount->second);
    }
    for (const auto& [flavor, amount] : amounts) holders.push_back({&listed, flavor, amount, other});
  }
}

json to_json(const QueueSnapshot& snapshot, const Holder& holder, const std::string& resource) {
  const Workload& workload = *holder.listed->object;
  json item = {{"namespace", workload.meta.ns},
               {"name", workload.meta.name},
               {"clusterQueue", snapshot.cluster_queues()[holder.listed->queue].object->meta.name},
               {"flavor", holder.flavor},
               {"resource", resource},
               {"amount", to_quantity(resource, holder.amount).text()},
               {"state", state_of(*holder.listed)},
               {"since", time_to_json(in_state_since(*holder.listed))},
               {"untilAtMost", time_to_json(holds_until(workload))},
               {"priority", workload.priority}};
  if (const auto& owner = workload.meta.controller)
    item["job"] = {{"apiVersion", owner->api_version.text()}, {"kind", owner->kind.text()}, {"name", owner->name}};
  return item;
}

std::vector<Holder> find_holders(const QueueSnapshot& snapshot, uint32_t asked, const std::string& resource) {
  std::vector<Holder> holders;
  add_holders(snapshot, asked, resource, false, holders);
  const std::string& cohort = snapshot.cluster_queues()[asked].cohort;
  const std::string root = cohort.empty() ? "" : root_of(snapshot, cohort);
  for (uint32_t queue = 0; !root.empty() && queue < snapshot.cluster_queues().size(); ++queue) {
    const scheduler::ListedClusterQueue& other = snapshot.cluster_queues()[queue];
    if (queue == asked || other.cohort.empty() || !has_resource(other, resource, true)) continue;
    if (root_of(snapshot, other.cohort) == root) add_holders(snapshot, queue, resource, true, holders);
  }
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    const ObjectMeta &left = a.listed->object->meta, &right = b.listed->object->meta;
    return std::tie(a.other_queue, b.amount, left.ns, left.name, a.flavor) <
           std::tie(b.other_queue, a.amount, right.ns, right.name, b.flavor);
  });
  return holders;
}

}  // namespace

Result<json> holder_list(const QueueSnapshot& snapshot, const HolderQuestion& question,
                         const std::function<bool(const std::string& ns)>& may_know) {
  const auto asked = queue_of(snapshot, question);
  if (!asked) return fail(asked.error().message);
  const scheduler::ListedClusterQueue& queue = snapshot.cluster_queues()[*asked];
  if (!has_resource(queue, question.resource, false))
    return fail("ClusterQueue " + queue.object->meta.name + " has no quota for " + question.resource + "; it has " +
                resources_of(queue, question.resource));
  std::map<std::string, bool> known;
  json items = json::array();
  int64_t hidden = 0, hidden_amount = 0;
  for (const Holder& holder : find_holders(snapshot, *asked, question.resource)) {
    const std::string& ns = holder.listed->object->meta.ns;
    auto may = known.find(ns);
    if (may == known.end()) may = known.emplace(ns, known.size() < kMostNamespaces && may_know(ns)).first;
    if (may->second) {
      items.push_back(to_json(snapshot, holder, question.resource));
    } else {
      ++hidden;
      hidden_amount = saturating_add(hidden_amount, holder.amount);
    }
  }
  json list = list_of(snapshot, "HolderSummaryList", std::move(items));
  list["metadata"]["clusterQueue"] = queue.object->meta.name;
  list["metadata"]["resource"] = question.resource;
  list["metadata"]["hidden"] = {{"count", hidden}, {"amount", to_quantity(question.resource, hidden_amount).text()}};
  return list;
}

}  // namespace muster::explain
