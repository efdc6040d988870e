// The shape of the tree: values that are computed again after a change of a ClusterQueue or a Cohort.
#include <algorithm>
#include <set>

#include "api/requests.h"
#include "base/invariant.h"
#include "scheduler/quota/ledger.h"

namespace muster::scheduler {

// Ids of removed nodes are used again, so that arrays by id do not grow with the changes of a long life.
NodeId Ledger::new_node() {
  NodeId id = static_cast<NodeId>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
    nodes_[id] = {};
  }
  nodes_[id].live = true;
  return id;
}

NodeId Ledger::cohort_node(const std::string& name) {
  const auto [it, added] = cohorts_.try_emplace(name, kNoNode);
  if (added) {
    it->second = new_node();
    nodes_[it->second].name = name;
  }
  return it->second;
}

NodeId Ledger::add_queue() {
  const NodeId id = new_node();
  nodes_[id].queue = true;
  stale_ = true;
  return id;
}

// Changes come in bursts, when kinds are listed: nothing is computed before the next question.
void Ledger::set_queue(NodeId queue, std::string cohort, std::vector<QuotaLimits> limits, double weight) {
  Node& node = nodes_[queue];
  node.parent_name = std::move(cohort);
  node.limits = std::move(limits);
  node.weight = weight;
  stale_ = true;
}

// The usage of a queue without scheduling still counts: its Workloads run until they end.
void Ledger::set_scheduled(NodeId queue, bool scheduled) {
  if (nodes_[queue].scheduled == scheduled) return;
  nodes_[queue].scheduled = scheduled;
  stale_ = true;
}

// What its Workloads hold leaves the sums of its Cohorts, which are computed again.
void Ledger::remove_queue(NodeId queue) {
  nodes_[queue] = {};
  free_.push_back(queue);
  stale_ = true;
}

// The node can exist before the object: a ClusterQueue that was listed earlier has named it.
void Ledger::set_cohort(const std::string& name, std::string parent, std::vector<QuotaLimits> limits, double weight) {
  Node& node = nodes_[cohort_node(name)];
  node.has_object = true;
  node.parent_name = std::move(parent);
  node.limits = std::move(limits);
  node.weight = weight;
  stale_ = true;
}

void Ledger::remove_cohort(const std::string& name) {
  const NodeId id = cohort(name);
  if (id == kNoNode) return;
  // The node stays while a queue or another Cohort names it; settle() removes it otherwise.
  Node& node = nodes_[id];
  node.has_object = false;
  node.parent_name.clear();
  node.limits.clear();
  node.weight = 1;
  stale_ = true;
}

void Ledger::settle() {
  if (!stale_) return;
  check_invariant(simulations_ == 0, "the tree of quotas must not change in a simulation");
  stale_ = false;
  // Down the tree first, to know its nodes; then upwards, because a Cohort sums up what its children lend.
  link();
  find_roots();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    if (nodes_[id].live && nodes_[id].queue) fill_cells(id);
  }
  // Each tree once, from its root.
  for (const auto& [name, id] : cohorts_) {
    if (nodes_[id].root == id) accumulate(id, id);
  }
  for (const auto& [name, id] : cohorts_) {
    Node& node = nodes_[id];
    // The denominators of fair shares (KEP-1714), by resource over all flavors.
    node.lendable.clear();
    if (node.root == kNoNode) continue;
    for (const QuotaId quota : nodes_[node.root].quotas) {
      const ResourceId resource = names_.quota(quota).resource;
      auto it = std::find_if(node.lendable.begin(), node.lendable.end(),
                             [&](const auto& entry) { return entry.first == resource; });
      if (it == node.lendable.end()) it = node.lendable.insert(it, {resource, 0});
      it->second = saturating_add(it->second, potential(id, quota));
    }
  }
}

// A Cohort exists while it has an object, or while an existing object names it.
void Ledger::link() {
  // Copies: cohort_node() can add nodes, and then all nodes move.
  std::vector<std::string> named;
  for (const Node& node : nodes_) {
    if (node.live && (node.queue || node.has_object) && !node.parent_name.empty()) named.push_back(node.parent_name);
  }
  std::set<std::string_view> kept;
  for (const std::string& name : named) {
    cohort_node(name);
    kept.insert(name);
  }
  for (auto it = cohorts_.begin(); it != cohorts_.end();) {
    if (nodes_[it->second].has_object || kept.contains(it->first)) {
      ++it;
      continue;
    }
    nodes_[it->second] = {};
    free_.push_back(it->second);
    it = cohorts_.erase(it);
  }
  for (Node& node : nodes_) {
    node.cohorts.clear();
    node.queues.clear();
    node.tree_queues.clear();
    node.parent = node.live && !node.parent_name.empty() ? cohort(node.parent_name) : kNoNode;
  }
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    const Node& node = nodes_[id];
    if (node.parent != kNoNode) (node.queue ? nodes_[node.parent].queues : nodes_[node.parent].cohorts).push_back(id);
  }
}

void Ledger::find_roots() {
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    NodeId at = id;
    size_t steps = 0;
    // More steps than nodes: a cycle.
    while (nodes_[at].parent != kNoNode && steps++ <= nodes_.size()) at = nodes_[at].parent;
    nodes_[id].root = nodes_[at].parent == kNoNode ? at : kNoNode;
    if (nodes_[id].queue && nodes_[id].root != kNoNode) nodes_[nodes_[id].root].tree_queues.push_back(id);
  }
  // Without a root no usage can go upwards: in a cycle each node is alone.
  for (Node& node : nodes_) {
    if (node.root == kNoNode) node.parent = kNoNode;
  }
}

void Ledger::fill_cells(NodeId queue) {
  Node& node = nodes_[queue];
  std::vector<QuotaId> quotas;
  for (size_t i = 0; i < node.quotas.size(); ++i) {
    // A flavor that the ClusterQueue has lost is still used by admitted Workloads, whose release must find it.
    if (node.cells[i].usage != 0) quotas.push_back(node.quotas[i]);
  }
  for (const QuotaLimits& limits : node.limits) quotas.push_back(limits.quota);
  std::sort(quotas.begin(), quotas.end());
  quotas.erase(std::unique(quotas.begin(), quotas.end()), quotas.end());
  std::vector<Cell> cells(quotas.size());
  for (size_t i = 0; i < quotas.size(); ++i) cells[i].usage = cell(queue, quotas[i]).usage;
  node.quotas = std::move(quotas);
  node.cells = std::move(cells);
  for (const QuotaLimits& limits : node.limits) {
    Cell& own = *find_cell(queue, limits.quota);
    // A queue has no children: its nominal quota is all that its subtree has.
    own = {limits.nominal, limits.borrowing, limits.lending, limits.nominal, own.usage};
  }
}

// Depth first. Usage of a Cohort is computed again from its children, and not kept: they can have moved here.
void Ledger::accumulate(NodeId cohort, NodeId root) {
  Node& node = nodes_[cohort];
  node.quotas.clear();
  node.cells.clear();
  for (const QuotaLimits& limits : node.limits) {
    own_cell(cohort, limits.quota) = {limits.nominal, limits.borrowing, limits.lending, limits.nominal, 0};
  }
  const auto takes_part = [&](NodeId queue) { return nodes_[queue].scheduled; };
  // Queues without scheduling do not count, as in Kueue, whose trees do not have them.
  node.height = !node.cohorts.empty() || std::any_of(node.queues.begin(), node.queues.end(), takes_part) ? 1 : 0;
  for (const NodeId child : node.cohorts) {
    accumulate(child, root);
    take_from_child(nodes_[cohort], nodes_[child]);
    nodes_[cohort].height = std::max(nodes_[cohort].height, nodes_[child].height + 1);
  }
  for (const NodeId child : node.queues) take_from_child(nodes_[cohort], nodes_[child]);
}

// A parent has what its child lends, and its usage is what the child uses beyond the part that it keeps.
void Ledger::take_from_child(Node& parent, const Node& child) {
  const NodeId id = static_cast<NodeId>(&parent - nodes_.data());
  for (size_t i = 0; i < child.quotas.size(); ++i) {
    const Cell& from = child.cells[i];
    Cell& to = own_cell(id, child.quotas[i]);
    to.subtree += from.subtree - from.kept();
    to.usage += std::max<WideAmount>(0, from.usage - from.kept());
  }
}

}  // namespace muster::scheduler
