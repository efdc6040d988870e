#include "scheduler/views/order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/requests.h"
#include "scheduler/flavor_assignment.h"
#include "scheduler/state.h"
#include "scheduler/workload_reading.h"

namespace muster::scheduler {
namespace {

constexpr size_t kMostFirst = 3;
constexpr size_t kMostAround = 4;  // before it, and after it
constexpr size_t kMostHeads = 12;

using WorkloadList = std::vector<const WorkloadState*>;

QueueTerms terms_of(const WorkloadState& workload) {
  return queue_terms(workload, workload.queue->pending.preferred() == &workload);
}

bool is_before(const WorkloadState* a, const WorkloadState* b) {
  return compare(terms_of(*a), terms_of(*b)).first;
}

OrderedWorkload ordered_workload(const SchedulerState& state, const WorkloadState& workload, size_t position) {
  OrderedWorkload made;
  made.object = workload.object;
  made.cluster_queue = workload.queue->name;
  made.position = position;
  made.sticky = workload.queue->pending.preferred() == &workload;
  made.priority = workload.rank;
  made.since = workload.queued_since;
  made.since_of = queued_since_of(*workload.object, state.settings);
  return made;
}

// --- The queue ---

// Thousands can be pending: only those that are shown are sorted.
void sort_first(WorkloadList& workloads, size_t most) {
  const auto end = workloads.begin() + static_cast<std::ptrdiff_t>(std::min(most, workloads.size()));
  std::partial_sort(workloads.begin(), end, workloads.end(), is_before);
}

void add_queue(const SchedulerState& state, const WorkloadState& asked, WorkloadOrder& order) {
  WorkloadList before, after;
  for (const auto& [key, other] : state.workloads) {
    if (other.get() == &asked || other->queue != asked.queue || !other->in_queue()) continue;
    const Comparison compared = compare(terms_of(*other), terms_of(asked));
    (compared.first ? before : after).push_back(other.get());
    if (compared.first) ++order.ahead_by[compared.term];
  }
  order.position = before.size();
  order.pending = before.size() + after.size() + 1;
  const auto add = [&](const WorkloadState& workload, size_t position) {
    OrderedWorkload made = ordered_workload(state, workload, position);
    made.itself = &workload == &asked;
    if (!made.itself) made.decided_by = compare(terms_of(workload), terms_of(asked)).term;
    order.queue.push_back(std::move(made));
  };
  sort_first(before, kMostFirst);
  const size_t first = std::min(kMostFirst, before.size());
  for (size_t i = 0; i < first; ++i) add(*before[i], i);
  // The last ones before it, of what is left.
  const size_t near = std::min(kMostAround, before.size() - first);
  const auto rest = before.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = rest + static_cast<std::ptrdiff_t>(near);
  std::partial_sort(rest, end, before.end(),
                    [](const WorkloadState* a, const WorkloadState* b) { return is_before(b, a); });
  for (size_t i = near; i > 0; --i) add(**(rest + static_cast<std::ptrdiff_t>(i) - 1), before.size() - i);
  add(asked, order.position);
  sort_first(after, kMostAround);
  for (size_t i = 0; i < std::min(kMostAround, after.size()); ++i) add(*after[i], order.position + 1 + i);
}

// --- The heads of the tree ---

// The nearest quota for one resource of a pod set; nullopt: no suitable flavor can ever have so much.
struct Nearest {
  QuotaId quota;
  int level;
};
std::optional<Nearest> nearest_quota(const SchedulerState& state, const WorkloadState& workload, const PodSet& pod_set,
                                     ResourceId resource, int64_t amount) {
  const QueueState& queue = *workload.queue;
  const QueueGroup* group = queue.group_of(resource);
  std::optional<Nearest> nearest;
  if (group == nullptr) return nearest;
  for (const QuotaId quota : state.ledger.quotas(queue.node)) {
    const auto [flavor, its_resource] = state.names.quota(quota);
    const auto& flavors = group->flavors;
    if (its_resource != resource || std::find(flavors.begin(), flavors.end(), flavor) == flavors.end()) continue;
    if (workload.has_failed(flavor) || why_ineligible(state, flavor, pod_set)) continue;
    if (amount > state.ledger.potential(queue.node, quota)) continue;
    const int level = state.ledger.reach(queue.node, quota, amount).level;
    if (!nearest || level < nearest->level) nearest = Nearest{quota, level};
  }
  return nearest;
}

// Of all its pod sets. nullopt: see OrderedHead::level.
struct Need {
  int level = 0;
  Amounts usage;
};
std::optional<Need> need_of(const SchedulerState& state, const WorkloadState& workload) {
  Need need;
  const auto add = [&](uint32_t pod_set, ResourceId resource, int64_t amount) {
    if (amount <= 0) return true;
    if (workload.queue->group_of(resource) == nullptr && state.settings.ignore_undeclared_resources) return true;
    const auto nearest = nearest_quota(state, workload, workload.object->pod_sets[pod_set], resource, amount);
    if (!nearest) return false;
    add_amount(need.usage, nearest->quota, amount);
    need.level = std::max(need.level, nearest->level);
    return true;
  };
  for (uint32_t i = 0; i < workload.pod_sets.size(); ++i) {
    const PodSetState& pod_set = workload.pod_sets[i];
    const bool counts_pods = workload.queue->covers_pods;
    for (const ResourceAmount& per_pod : pod_set.per_pod) {
      if (counts_pods && per_pod.resource == state.pods) continue;
      if (!add(i, per_pod.resource, saturating_multiply(per_pod.amount, pod_set.count))) return std::nullopt;
    }
    if (counts_pods && !add(i, state.pods, pod_set.count)) return std::nullopt;
  }
  return need;
}

// After an admission, which `ledger` is free to try.
void measure_share(const SchedulerState& state, NodeId node, const Amounts& usage, Ledger& ledger, OrderedHead& head) {
  const Ledger::Simulation simulation(ledger);
  ledger.add(node, usage);
  head.share = dominant_share(state.names, ledger, node);
  head.borrows = std::any_of(usage.begin(), usage.end(), [&](const QuotaAmount& entry) {
    return entry.amount > 0 && ledger.borrowing(node, entry.quota);
  });
}

HeadTerms head_terms_of(const WorkloadState& workload, const OrderedHead& head) {
  // A cycle compares what no flavor can ever hold as if it were near.
  return head_terms(workload, head.level.value_or(0));
}

// A block is compared before all that fair sharing compares.
Comparison compare_heads(const WorkloadState& a, const OrderedHead& left, const WorkloadState& b,
                         const OrderedHead& right, bool fair) {
  if (!fair) return compare(head_terms_of(a, left), head_terms_of(b, right));
  if (blocked_in(a) != blocked_in(b)) return {OrderTerm::kBlocked, blocked_in(a) < blocked_in(b)};
  const auto terms = [](const WorkloadState& workload, const OrderedHead& head) {
    return FairTerms{workload.has_claim, head.borrows, head.share, workload.rank, workload.queued_since};
  };
  return compare(terms(a, left), terms(b, right));
}

void add_heads(const SchedulerState& state, const WorkloadState& asked, WorkloadOrder& order) {
  const NodeId root = state.ledger.root(asked.queue->node);
  if (root == kNoNode || state.ledger.parent(asked.queue->node) == kNoNode) return;
  // A copy: nothing is admitted by looking.
  std::optional<Ledger> ledger;
  if (order.fair) ledger.emplace(state.ledger);
  std::vector<std::pair<const WorkloadState*, OrderedHead>> heads;
  for (const NodeId node : state.ledger.queues_of_tree(root)) {
    const QueueState* queue = state.node_queue[node];
    const WorkloadState* first = queue == nullptr || !queue->active ? nullptr : queue->pending.front();
    if (first == nullptr) continue;
    OrderedHead head{.workload = ordered_workload(state, *first, 0)};
    head.workload.itself = first == &asked;
    head.claim = first->has_claim;
    head.blocked = blocked_in(*first) != std::numeric_limits<uint64_t>::max();
    if (const auto need = need_of(state, *first)) {
      head.level = need->level;
      if (ledger) measure_share(state, node, need->usage, *ledger, head);
    }
    heads.emplace_back(first, std::move(head));
  }
  std::sort(heads.begin(), heads.end(), [&](const auto& a, const auto& b) {
    const Comparison order_of_two = compare_heads(*a.first, a.second, *b.first, b.second, order.fair);
    return order_of_two.term == OrderTerm::kNone ? a.first->queue->name < b.first->queue->name : order_of_two.first;
  });
  const auto own =
      std::find_if(heads.begin(), heads.end(), [&](const auto& head) { return head.first->queue == asked.queue; });
  for (auto& [workload, head] : heads) {
    if (own != heads.end() && workload != own->first)
      head.workload.decided_by = compare_heads(*workload, head, *own->first, own->second, order.fair).term;
    const bool is_own = own != heads.end() && workload == own->first;
    if (order.heads.size() < kMostHeads || is_own)
      order.heads.push_back(head);
    else
      ++order.heads_left_out;
  }
}

}  // namespace

std::optional<WorkloadOrder> order_of(const SchedulerState& state, const std::string& ns, const std::string& name) {
  const WorkloadState* workload = state.find_workload(ns, name);
  if (workload == nullptr || !workload->in_queue()) return std::nullopt;
  WorkloadOrder order{.cluster_queue = workload->queue->name};
  order.fair = state.fair();
  add_queue(state, *workload, order);
  add_heads(state, *workload, order);
  return order;
}

}  // namespace muster::scheduler
