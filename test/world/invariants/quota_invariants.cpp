#include "test/world/invariants/quota_invariants.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/job.h"
#include "api/meta/constants.h"
#include "api/meta/time.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "kinds/typed_object.h"

namespace muster::world {
namespace {

using std::chrono::seconds;

constexpr Duration kQuotaGrace = seconds(30);
constexpr Duration kDeadNode = std::chrono::minutes(5);

const ResourceQuota* find_quota(const std::vector<ResourceGroup>& groups, const std::string& flavor,
                                const std::string& resource) {
  for (const ResourceGroup& group : groups) {
    for (const FlavorQuotas& quotas : group.flavors) {
      if (quotas.name != flavor) continue;
      for (const ResourceQuota& quota : quotas.resources) {
        if (quota.name == resource) return &quota;
      }
    }
  }
  return nullptr;
}

// The number of a pod set's pods that have ended and release their part.
int64_t without_ended(int64_t amount, const Workload& workload, const PodSetAssignment& pod_set) {
  const int64_t count = pod_set.count.value_or(1);
  for (const ReclaimablePod& ended : workload.status.reclaimable_pods) {
    if (ended.name == pod_set.name && count > 0) return amount / count * std::max<int64_t>(count - ended.count, 0);
  }
  return amount;
}

std::string cpus(int64_t thousandths) {
  return std::to_string(thousandths) + "m";
}

}  // namespace

QuotaInvariants::QuotaInvariants(const ApiServer& server, const Timeline& timeline,
                                 std::function<void(std::string)> violated)
    : server_(server), timeline_(timeline), violated_(std::move(violated)) {}

void QuotaInvariants::see(const Change& change) {
  if (*change.type == kWorkloads) see_workload(change);
  if (*change.type == kClusterQueues || *change.type == kCohorts) see_node(change);
}

void QuotaInvariants::see_node(const Change& change) {
  const bool is_queue = *change.type == kClusterQueues;
  Node now;
  std::string name;
  if (is_queue) {
    const ClusterQueuePtr queue = read_cluster_queue(*change.after);
    name = "ClusterQueue " + queue->meta.name;
    now = {queue->cohort, queue->resource_groups, {}, std::nullopt};
  } else {
    const CohortPtr cohort = read_cohort(*change.after);
    name = "Cohort " + cohort->meta.name;
    now = {cohort->parent, cohort->resource_groups, {}, std::nullopt};
  }
  if (change.removed) now.groups.clear();
  const bool same_spec = change.before != nullptr && !change.removed &&
                         read_meta(*change.before).generation == read_meta(*change.after).generation;
  if (same_spec) return;
  Node& node = nodes_[name];
  now.earlier = std::move(node.groups);
  now.changed = timeline_.elapsed();
  node = std::move(now);
}

void QuotaInvariants::see_workload(const Change& change) {
  const WorkloadPtr workload = read_workload(*change.after);
  const auto found = held_.find(workload->meta.uid);
  const std::optional<Holding> before =
      found == held_.end() ? std::nullopt : std::make_optional(std::move(found->second));
  if (found != held_.end()) held_.erase(found);
  if (before && (change.removed || !workload->has_quota_reserved() || workload->finished())) check_pods_gone(*workload);
  if (change.removed || workload->finished()) return;
  if (!workload->has_quota_reserved() || !workload->status.admission) {
    if (before) check_release(*workload, *before);
    return;
  }
  Holding now{workload->status.admission->cluster_queue, {}};
  for (const PodSetAssignment& pod_set : workload->status.admission->pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      const auto usage = pod_set.resource_usage.find(resource);
      if (usage == pod_set.resource_usage.end()) continue;
      now.used[{flavor, resource}] += without_ended(usage->second.saturating_milli_value(), *workload, pod_set);
    }
  }
  held_[workload->meta.uid] = now;
  if (!before) return check_fits(*workload, now);
  if (before->queue != now.queue)
    violated_("Workload " + workload->meta.name + " moved from ClusterQueue " + before->queue + " to " + now.queue);
}

// A job that does not run can be given to another queue, which needs no eviction.
bool QuotaInvariants::names_another_queue(const Workload& workload) const {
  if (!workload.meta.controller) return false;
  const ResourceType* type = jobs::job_type_of(*workload.meta.controller);
  const ObjectPtr job =
      type == nullptr ? nullptr : server_.get({type, workload.meta.ns, workload.meta.controller->name});
  return job != nullptr && read_meta(*job).label(kQueueNameLabel) != workload.queue_name;
}

void QuotaInvariants::check_release(const Workload& workload, const Holding& held) {
  if (workload.of_pod_group()) return check_group_release(workload, held);
  if (!workload.evicted() && !names_another_queue(workload))
    violated_("Workload " + workload.meta.name + " gave back the quota of ClusterQueue " + held.queue +
              " without an eviction");
  if (!workload.meta.controller) return;
  const OwnerReference& owner = *workload.meta.controller;
  const jobs::JobKind* kind = jobs::find_job_kind(owner);
  if (kind == nullptr || kind == &jobs::plain_pod || kind->is_serving()) return;
  const ObjectPtr object = server_.get({&kind->type, workload.meta.ns, owner.name});
  if (object == nullptr) return;
  if (kind != &jobs::batch_job) {
    const ObjectMeta meta = read_meta(*object);
    if (meta.uid == owner.uid && !meta.deleting && kind->active(read_object(kind->type, *object)))
      violated_("Workload " + workload.meta.name + " gave back its quota while its " + owner.kind + " was active");
    return;
  }
  const JobPtr job = read_job(*object);
  if (job->meta.uid == workload.meta.controller->uid && !job->meta.deleting && job->status.active > 0)
    violated_("Workload " + workload.meta.name + " gave back its quota while " + std::to_string(job->status.active) +
              " pods of its Job were active");
}

// Of a Job or JobSet, by the labels that their pods cannot lose: whatever became of it, its pods are gone, or their
// nodes have not answered for minutes.
void QuotaInvariants::check_pods_gone(const Workload& workload) {
  const std::string_view uid = workload.meta.label(kJobUidLabel);
  if (uid.empty()) return;
  // What muster received before the clock was set back still counts; stamps are whole seconds.
  const TimePoint latest = timeline_.latest_wall() + std::chrono::seconds(1);
  const std::string dead_since = format_rfc3339(to_timestamp(latest - kDeadNode));
  for (const std::string_view label : {kControllerUidLabel, kJobSetUidLabel}) {
    for (const ObjectPtr& pod : server_.list(kPods, {.labels = std::string(label).append("=").append(uid)})) {
      const ObjectMeta meta = read_meta(*pod);
      const std::string_view phase = string_at(*pod, {"status", "phase"});
      const bool has_ended = phase == "Succeeded" || phase == "Failed";
      const std::string_view deleted = string_at(*pod, {"metadata", "deletionTimestamp"});
      if (has_ended || string_at(*pod, {"spec", "nodeName"}).empty() || (!deleted.empty() && deleted <= dead_since))
        continue;
      violated_("Workload " + workload.meta.name + " gave back its quota while pod " + meta.name + " had a node");
    }
  }
}

// The quota of a set that has no replicas, or others than before, goes without an eviction, but only without its pods.
// A pod that is being deleted can run until it is gone from its node.
void QuotaInvariants::check_group_release(const Workload& workload, const Holding& held) {
  if (!workload.evicted() && workload.meta.annotation(kIsGroupWorkload).empty())
    violated_("Workload " + workload.meta.name + " gave back the quota of ClusterQueue " + held.queue +
              " without an eviction");
  for (const ObjectPtr& pod : server_.list(kPods)) {
    const QueuedPodPtr read = read_queued_pod(*pod);
    if (read->meta.ns != workload.meta.ns || read->group() != workload.meta.name) continue;
    const bool can_run = !read->meta.deleting || !read->node.empty();
    if (can_run && !read->gated() && !read->terminated())
      violated_("Workload " + workload.meta.name + " gave back its quota while pod " + read->meta.name + " could run");
  }
}

std::string QuotaInvariants::root(std::string node) const {
  for (size_t steps = 0; steps <= nodes_.size(); ++steps) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end() || found->second.parent.empty()) return node;
    node = "Cohort " + found->second.parent;
  }
  return node;
}

const ResourceQuota* QuotaInvariants::quota(const Node& node, const Flavored& flavored) const {
  const ResourceQuota* now = find_quota(node.groups, flavored.first, flavored.second);
  if (!node.changed || timeline_.elapsed() - *node.changed > kQuotaGrace) return now;
  const ResourceQuota* earlier = find_quota(node.earlier, flavored.first, flavored.second);
  if (earlier == nullptr || (now != nullptr && now->nominal.compare(earlier->nominal) > 0)) return now;
  return earlier;
}

void QuotaInvariants::check_fits(const Workload& workload, const Holding& holding) {
  const std::string queue = "ClusterQueue " + holding.queue;
  const std::string tree = root(queue);
  for (const auto& [flavored, amount] : holding.used) {
    int64_t own = 0, all = 0, most = 0;
    for (const auto& [uid, other] : held_) {
      const auto used = other.used.find(flavored);
      if (used == other.used.end()) continue;
      if (other.queue == holding.queue) own += used->second;
      if (root("ClusterQueue " + other.queue) == tree) all += used->second;
    }
    for (const auto& [name, node] : nodes_) {
      const ResourceQuota* has = quota(node, flavored);
      if (has != nullptr && root(name) == tree) most += has->nominal.saturating_milli_value();
    }
    const auto node = nodes_.find(queue);
    const ResourceQuota* has = node == nodes_.end() ? nullptr : quota(node->second, flavored);
    const std::string what = "Workload " + workload.meta.name + " makes ";
    if (has != nullptr && has->borrowing_limit) {
      const int64_t limit = has->nominal.saturating_milli_value() + has->borrowing_limit->saturating_milli_value();
      if (own > limit) violated_(what + queue + " use " + cpus(own) + " and it may use " + cpus(limit));
    }
    if (all > most)
      violated_(what + "the tree of " + tree + " use " + cpus(all) + " of " + flavored.second + " in " +
                flavored.first + " and it has " + cpus(most));
  }
}

}  // namespace muster::world
