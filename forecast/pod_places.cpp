#include "forecast/pod_places.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "api/requests.h"
#include "state/pod_requests.h"

namespace muster::forecast {
namespace {

constexpr size_t kNoSlot = SIZE_MAX;

bool tolerated(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations) {
  return std::all_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    return !taint.counts_for_scheduling() || any_tolerates(tolerations, taint, ComparisonOperators::kIgnored);
  });
}

// Whose flavor a resource is counted for.
std::string flavor_of(const PodSetAssignment* assignment, const std::string& resource) {
  if (assignment == nullptr || assignment->flavors.empty()) return "";
  const auto found = assignment->flavors.find(resource);
  return found != assignment->flavors.end() ? found->second : assignment->flavors.begin()->second;
}

}  // namespace

PodPlaces::PodPlaces(const Scenario& scenario, const state::ClusterState& state, UsageTracks& usage,
                     NodeReports* reports)
    : scenario_(scenario), state_(state), usage_(usage), reports_(reports) {
  for (const NodeGroup& nodes : scenario.nodes) {
    const NodeRange range = room_.add(nodes.count, amounts_of(nodes.allocatable));
    groups_.push_back({range, &nodes});
    nodes_ = range.end;
    for (const auto& [number, used] : nodes.used) {
      Needs needs;
      for (const auto& [name, amount] : used) needs.push_back({resource(name), amount});
      room_.take(range.first + number, needs);
    }
  }
}

size_t PodPlaces::resource(const std::string& name) {
  const auto [known, is_new] = resource_numbers_.try_emplace(name, resources_.size());
  if (is_new) resources_.push_back(name);
  return known->second;
}

Amounts PodPlaces::amounts_of(const Requests& requests) {
  Amounts amounts;
  for (const auto& [name, amount] : requests) {
    const size_t number = resource(name);
    if (amounts.size() <= number) amounts.resize(number + 1);
    amounts[number] = amount;
  }
  return amounts;
}

std::vector<ResourceFlavorPtr> PodPlaces::flavors_of(const PodSetAssignment* assignment) const {
  std::vector<ResourceFlavorPtr> flavors;
  std::set<std::string> seen;
  if (assignment == nullptr) return flavors;
  for (const auto& [resource, flavor] : assignment->flavors) {
    if (!seen.insert(flavor).second) continue;
    if (const TypedObject* object = state_.find(kResourceFlavors, "", flavor))
      flavors.push_back(std::get<ResourceFlavorPtr>(*object));
  }
  return flavors;
}

void PodPlaces::choose_nodes(Sort& sort, const std::vector<ResourceFlavorPtr>& flavors) const {
  std::set<std::string> counted;
  bool all_known = std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.nodes->flavor.empty(); });
  std::vector<Toleration> tolerations = sort.spec->tolerations;
  for (const ResourceFlavorPtr& flavor : flavors) {
    const auto traits = scenario_.flavors.find(flavor->meta.name);
    if (traits != scenario_.flavors.end()) {
      if (traits->second.any_number_of_nodes) return;
      if (traits->second.nodes) counted.insert(flavor->meta.name);
    }
    tolerations.insert(tolerations.end(), flavor->tolerations.begin(), flavor->tolerations.end());
    all_known = all_known && std::any_of(groups_.begin(), groups_.end(),
                                         [&](const Group& group) { return carries_labels_of(*group.nodes, *flavor); });
  }
  if (counted.empty() && !all_known) return;
  sort.limited = true;
  for (const Group& group : groups_) {
    const NodeGroup& nodes = *group.nodes;
    bool matches = counted.contains(nodes.flavor);
    if (counted.empty()) {
      const auto affinity = sort.spec->node_affinity.matches(nodes.name, nodes.labels);
      matches = nodes.flavor.empty() && affinity && *affinity &&
                std::all_of(flavors.begin(), flavors.end(),
                            [&](const ResourceFlavorPtr& flavor) { return carries_labels_of(nodes, *flavor); });
      if (matches && !tolerated(nodes.taints, tolerations)) {
        sort.untolerated += nodes.count;
        continue;
      }
    }
    if (!matches) {
      sort.unmatched += nodes.count;
    } else if (!sort.ranges.empty() && sort.ranges.back().end == group.range.first) {
      sort.ranges.back().end = group.range.end;
    } else {
      sort.ranges.push_back(group.range);
    }
  }
}

const PodPlaces::Sort& PodPlaces::sort_of(const Workload& workload, size_t pod_set,
                                          const PodSetAssignment* assignment) {
  const PodSpecPtr& spec = workload.pod_sets[pod_set].pod_template.spec;
  std::string flavors;
  if (assignment != nullptr) {
    for (const auto& [resource, flavor] : assignment->flavors) flavors += resource + "=" + flavor + ";";
  }
  std::unique_ptr<Sort>& sort = sorts_[{spec.get(), workload.meta.ns, std::move(flavors)}];
  if (sort != nullptr) return *sort;
  sort = std::make_unique<Sort>(Sort{.spec = spec});
  choose_nodes(*sort, flavors_of(assignment));
  if (!sort->limited) return *sort;
  sort->requests = to_requests(state::pod_requests_in(*spec, workload.meta.ns, state_));
  sort->requests[std::string(kPodsResource)] = 1;
  for (const auto& [name, amount] : sort->requests) {
    if (amount <= 0) continue;
    sort->needs.push_back({resource(name), amount});
    const std::string flavor = flavor_of(assignment, name);
    sort->slots.push_back(name == kPodsResource || flavor.empty() ? kNoSlot : usage_.slot({"", flavor, name}));
  }
  return *sort;
}

void PodPlaces::count(const Sort& sort, int64_t pods, int64_t now) {
  for (size_t i = 0; i < sort.needs.size(); ++i) {
    if (sort.slots[i] != kNoSlot) usage_.add(sort.slots[i], now, saturating_multiply(sort.needs[i].amount, pods));
  }
}

bool PodPlaces::place(Pods& pods, int64_t now) {
  const int64_t placed = room_.place(pods.sort->ranges, pods.sort->needs, pods.wanted - pods.placed, pods.seats);
  if (placed > 0) {
    count(*pods.sort, placed, now);
    if (reports_ != nullptr) reports_->placed(pods.owner, pods.placed, pods.seats, pods.sort->requests);
  }
  pods.placed += placed;
  return pods.placed == pods.wanted;
}

bool PodPlaces::enter(uint32_t job, const Workload& workload, int64_t now) {
  if (groups_.empty()) return true;
  Tenant tenant{.turn = ++turn_};
  for (size_t i = 0; i < workload.pod_sets.size(); ++i) {
    const PodSet& pod_set = workload.pod_sets[i];
    const PodSetAssignment* assignment = workload.status.admission->find(pod_set.name);
    const Sort& sort = sort_of(workload, i, assignment);
    if (!sort.limited) continue;
    const int32_t count = assignment == nullptr || !assignment->count ? pod_set.count : *assignment->count;
    Pods pods{.sort = &sort, .owner = {workload.meta.ns, workload.meta.name, pod_set.name}, .wanted = count};
    if (!place(pods, now)) {
      waiting_[&sort].emplace(Place{tenant.turn, tenant.pods.size()}, job);
      usage_.add_pending(now, pods.wanted - pods.placed);
      ++tenant.waits;
    }
    tenant.pods.push_back(std::move(pods));
  }
  if (tenant.pods.empty()) return true;
  const bool complete = tenant.waits == 0;
  tenants_.insert_or_assign(job, std::move(tenant));
  return complete;
}

int64_t PodPlaces::drop_waiting(uint32_t job, int64_t now) {
  const auto found = tenants_.find(job);
  if (found == tenants_.end()) return 0;
  int64_t dropped = 0;
  Tenant& tenant = found->second;
  for (size_t i = 0; i < tenant.pods.size(); ++i) {
    Pods& pods = tenant.pods[i];
    if (pods.placed == pods.wanted) continue;
    dropped += pods.wanted - pods.placed;
    pods.wanted = pods.placed;
    waiting_[pods.sort].erase({tenant.turn, i});
  }
  tenant.waits = 0;
  usage_.add_pending(now, -dropped);
  return dropped;
}

void PodPlaces::leave(uint32_t job, int64_t now) {
  const auto found = tenants_.find(job);
  if (found == tenants_.end()) return;
  Tenant& tenant = found->second;
  for (size_t i = 0; i < tenant.pods.size(); ++i) {
    const Pods& pods = tenant.pods[i];
    if (pods.placed < pods.wanted) {
      waiting_[pods.sort].erase({tenant.turn, i});
      usage_.add_pending(now, pods.placed - pods.wanted);
    }
    if (pods.placed == 0) continue;
    room_.give_back(pods.seats, pods.sort->needs);
    count(*pods.sort, -pods.placed, now);
    if (reports_ != nullptr) reports_->left(pods.owner, pods.placed);
    freed_ = true;
  }
  tenants_.erase(found);
}

std::vector<uint32_t> PodPlaces::fill(int64_t now) {
  std::vector<uint32_t> complete;
  if (!std::exchange(freed_, false)) return complete;
  // Of each sort the first that waits; the earliest of all is next.
  using Next = std::pair<Place, std::map<Place, uint32_t>*>;
  const auto later = [](const Next& a, const Next& b) { return a.first > b.first; };
  std::priority_queue<Next, std::vector<Next>, decltype(later)> next(later);
  for (auto& [sort, places] : waiting_) {
    if (!places.empty()) next.emplace(places.begin()->first, &places);
  }
  while (!next.empty()) {
    const auto [place_of, places] = next.top();
    next.pop();
    const uint32_t job = places->at(place_of);
    Tenant& tenant = tenants_.at(job);
    Pods& pods = tenant.pods[place_of.second];
    const int64_t before = pods.placed;
    const bool all = place(pods, now);
    usage_.add_pending(now, before - pods.placed);
    // Where one does not fit none of its sort does.
    if (!all) continue;
    places->erase(place_of);
    if (--tenant.waits == 0) complete.push_back(job);
    if (!places->empty()) next.emplace(places->begin()->first, places);
  }
  return complete;
}

// In the words of kube-scheduler.
std::string PodPlaces::why(const Sort& sort) const {
  const NodeRoom::Lack lack = room_.lack(sort.ranges, sort.needs);
  std::string reasons;
  const auto add = [&](uint64_t nodes, const std::string& reason) {
    if (nodes > 0) reasons += (reasons.empty() ? "" : ", ") + std::to_string(nodes) + " " + reason;
  };
  for (size_t i = 0; i < sort.needs.size(); ++i) {
    const std::string& name = resources_[sort.needs[i].resource];
    add(lack.nodes[i], name == kPodsResource ? "Too many pods" : "Insufficient " + name);
  }
  add(sort.unmatched, "node(s) didn't match Pod's node affinity/selector");
  add(sort.untolerated, "node(s) had untolerated taint(s)");
  return "0/" + std::to_string(nodes_) + " nodes are available" + (reasons.empty() ? "" : ": " + reasons) + ".";
}

std::vector<WithoutNode> PodPlaces::without_node() const {
  std::map<Place, WithoutNode> found;
  for (const auto& [sort, places] : waiting_) {
    if (places.empty()) continue;
    const std::string reason = why(*sort);
    for (const auto& [place_of, job] : places) {
      const Pods& pods = tenants_.at(job).pods[place_of.second];
      found[place_of] = {.job = job,
                         .pod_set = pods.owner.pod_set,
                         .pods = pods.wanted - pods.placed,
                         .of = pods.wanted,
                         .message = reason};
    }
  }
  std::vector<WithoutNode> list;
  for (auto& [place_of, one] : found) list.push_back(std::move(one));
  return list;
}

}  // namespace muster::forecast
