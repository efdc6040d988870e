#include "scheduler/nodes/node_table.h"

#include <algorithm>
#include <charconv>

#include "base/fnv.h"
#include "base/overloaded.h"

namespace muster::scheduler {

NodeTable::NodeTable(const NodeLoads& loads) {
  for (const std::string& name : loads.resources) resource(name);
  for (const NodeLoads::Load& load : loads.nodes) {
    put(*load.node);
    rows_[row_by_name_.at(load.node->name)].taken = load.taken;
  }
  for (const NodePart part : {NodePart::kNodes, NodePart::kPods}) take(PartListed{part});
}

void NodeTable::take(const NodeNews& news) {
  std::visit(Overloaded{
                 [&](const PartListing& listing) { ++part(listing.part).listing; },
                 [&](const PartListed& listed) { sweep(listed.part); },
                 [&](const NodeSeen& seen) { put(seen.node); },
                 [&](const PodSeen& seen) { put(seen.pod); },
                 [&](const PartGone& gone) {
                   if (gone.part == NodePart::kNodes)
                     drop_node(gone.key);
                   else
                     drop_pod(uid_of(gone.key));
                 },
                 [&](const PartCaughtUp& caught_up) {
                   part(caught_up.part).caught_up = caught_up.term;
                   room_ = true;
                 },
             },
             news);
}

std::string_view NodeTable::unknown() const {
  for (const NodePart each : {NodePart::kNodes, NodePart::kPods}) {
    const Part& known = parts_[static_cast<size_t>(each)];
    if (!known.known || known.caught_up < term_) return to_text(each);
  }
  return {};
}

// The API server makes 128 random bits; whatever else a client says gets a hash.
NodeTable::Uid NodeTable::uid_of(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '-');
  Uid uid{};
  const auto read = [&](size_t from, uint64_t& into) {
    const char* const end = digits.data() + from + 16;
    return std::from_chars(digits.data() + from, end, into, 16).ptr == end;
  };
  if (digits.size() == 32 && read(0, uid.high) && read(16, uid.low)) return uid;
  return {fnv1a_64(text), fnv1a_64(text, fnv1a_64("pod"))};
}

std::string NodeTable::owner_of(std::string_view ns, std::string_view workload, std::string_view pod_set) {
  return std::string(ns).append("/").append(workload).append("/").append(pod_set);
}

uint32_t NodeTable::row_of(const std::string& name) {
  const auto [known, is_new] = row_by_name_.try_emplace(name, 0);
  if (!is_new) return known->second;
  if (free_rows_.empty()) {
    known->second = static_cast<uint32_t>(rows_.size());
    rows_.emplace_back();
  } else {
    known->second = free_rows_.back();
    free_rows_.pop_back();
  }
  rows_[known->second].node = std::make_shared<const Node>(Node{.name = name});
  ++gone_;  // until put()
  return known->second;
}

void NodeTable::put(const Node& node) {
  Row& row = rows_[row_of(node.name)];
  row.listing = part(NodePart::kNodes).listing;
  if (row.there && *row.node == node) return;
  if (!row.there || row.node->labels != node.labels || row.node->taints != node.taints ||
      row.node->takes_pods() != node.takes_pods())
    ++version_;
  if (!std::exchange(row.there, true)) --gone_;
  row.node = std::make_shared<const Node>(node);
  row.allocatable.clear();
  for (const auto& [name, amount] : node.allocatable) {
    const uint32_t number = resource(name);
    if (number == kUncountedResource) continue;
    if (row.allocatable.size() <= number) row.allocatable.resize(number + 1);
    row.allocatable[number] = std::clamp<int64_t>(amount, 0, kMostOnNode - 1);
  }
  room_ = true;
}

// The row keeps its number while pods or Workloads refer to it, and a node that comes back under the name gets it.
void NodeTable::drop_node(const std::string& name) {
  const auto known = row_by_name_.find(name);
  if (known == row_by_name_.end() || !rows_[known->second].there) return;
  Row& row = rows_[known->second];
  row.there = false;
  ++gone_;
  row.node = std::make_shared<const Node>(Node{.name = name});
  row.allocatable.clear();
  ++version_;
  // What its pods were to get must have another place.
  room_ = true;
}

void NodeTable::touch(std::string_view owner) {
  if (!owner.empty()) touched_.emplace(owner.substr(0, owner.rfind('/')));
}

void NodeTable::count(uint32_t at, const NodeNeeds& needs, int64_t factor) {
  Row& row = rows_[at];
  for (const NodeNeed& need : needs) {
    if (row.taken.size() <= need.resource) row.taken.resize(need.resource + 1);
    row.taken[need.resource] = saturating_add(row.taken[need.resource], factor * need.amount);
  }
}

void NodeTable::put(const BoundPod& pod) {
  const Uid uid = uid_of(pod.uid);
  drop_pod(uid);
  const uint32_t row = row_of(pod.node);
  const NeedsPlace needs = needs_.try_emplace(needs_of(pod.requests)).first;
  ++needs->second;
  ++rows_[row].pods;
  count(row, needs->first, 1);
  Pod& kept = pods_[uid];
  kept = {.row = row, .listing = static_cast<uint32_t>(part(NodePart::kPods).listing), .needs = needs, .owner = {}};
  // A pod that ends takes its node, and no place of its Workload any more.
  if (pod.workload.empty() || pod.deleting) return;
  const auto owner = members_.try_emplace(owner_of(pod.ns, pod.workload, pod.pod_set)).first;
  owner->second.push_back(uid);
  kept.owner = owner->first;
  touch(kept.owner);
}

void NodeTable::drop_pod(const Uid& uid) {
  const auto known = pods_.find(uid);
  if (known == pods_.end()) return;
  const Pod& pod = known->second;
  count(pod.row, pod.needs->first, -1);
  --rows_[pod.row].pods;
  if (--pod.needs->second == 0) needs_.erase(pod.needs);
  if (!pod.owner.empty()) {
    touch(pod.owner);
    const auto owner = members_.find(pod.owner);
    std::erase(owner->second, uid);
    if (owner->second.empty()) members_.erase(owner);
  }
  pods_.erase(known);
  room_ = true;
}

void NodeTable::sweep(NodePart which) {
  Part& listed = part(which);
  listed.known = true;
  room_ = true;
  if (which == NodePart::kNodes) {
    for (uint32_t at = 0; at < rows_.size(); ++at) {
      if (rows_[at].there && rows_[at].listing != listed.listing) drop_node(std::string(rows_[at].node->name));
    }
    return;
  }
  std::vector<Uid> gone;
  for (const auto& [uid, pod] : pods_) {
    if (pod.listing != static_cast<uint32_t>(listed.listing)) gone.push_back(uid);
  }
  for (const Uid& uid : gone) drop_pod(uid);
}

std::vector<NodeTable::Member> NodeTable::members(std::string_view ns, std::string_view workload,
                                                  std::string_view pod_set) const {
  std::vector<Member> found;
  const auto owner = members_.find(owner_of(ns, workload, pod_set));
  if (owner == members_.end()) return found;
  for (const Uid& uid : owner->second) {
    const Pod& pod = pods_.at(uid);
    found.push_back({pod.row, &pod.needs->first});
  }
  return found;
}

uint32_t NodeTable::resource(std::string_view name) {
  const auto known = resource_by_name_.find(name);
  if (known != resource_by_name_.end()) return known->second;
  if (resources_.size() == kUncountedResource) return kUncountedResource;
  resources_.emplace_back(name);
  return resource_by_name_.emplace(name, static_cast<uint32_t>(resources_.size() - 1)).first->second;
}

NodeNeeds NodeTable::needs_of(const Requests& requests) {
  NodeNeeds needs;
  for (const auto& [name, amount] : requests) {
    if (amount > 0) needs.push_back({resource(name), std::min(amount, kMostOnNode)});
  }
  std::sort(needs.begin(), needs.end());
  return needs;
}

void NodeTable::recycle(const std::function<bool(uint32_t)>& unused) {
  for (auto named = row_by_name_.begin(); named != row_by_name_.end();) {
    const uint32_t at = named->second;
    if (rows_[at].there || rows_[at].pods > 0 || !unused(at)) {
      ++named;
      continue;
    }
    rows_[at] = {};
    --gone_;
    free_rows_.push_back(at);
    named = row_by_name_.erase(named);
  }
}

}  // namespace muster::scheduler
