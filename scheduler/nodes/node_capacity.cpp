#include "scheduler/nodes/node_capacity.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/workload.h"

namespace muster::scheduler {
namespace {

using nlohmann::json;

// Of no node: what a Workload waits for that no single node decides. It is tried again whenever nodes have changed.
constexpr uint32_t kAnyNode = UINT32_MAX;
// Answers about nodes are kept for as many pairs of a selection and a flavor: each has a number for every node.
constexpr size_t kMostSuited = 256;
constexpr size_t kMostSelections = 1024;

uint32_t unit_of(uint32_t row, uint32_t resource) {
  return row * kMostNodeResources + resource;
}
uint32_t row_in(uint32_t unit) {
  return unit / kMostNodeResources;
}
uint32_t resource_in(uint32_t unit) {
  return unit % kMostNodeResources;
}

int64_t at(const std::vector<std::vector<int64_t>>& amounts, uint32_t row, uint32_t resource) {
  return row < amounts.size() && resource < amounts[row].size() ? amounts[row][resource] : 0;
}
int64_t at(const std::vector<int64_t>& amounts, uint32_t resource) {
  return resource < amounts.size() ? amounts[resource] : 0;
}

void change(std::vector<std::vector<int64_t>>& amounts, uint32_t unit, int64_t by) {
  const uint32_t row = row_in(unit), resource = resource_in(unit);
  if (amounts.size() <= row) amounts.resize(row + 1);
  if (amounts[row].size() <= resource) amounts[row].resize(resource + 1);
  amounts[row][resource] += by;
}

bool carries(const Labels& labels, const Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

bool is_tolerated(const std::vector<Taint>& taints, const PodSpec& spec, const ResourceFlavor& flavor) {
  return std::all_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    return !taint.counts_for_scheduling() || any_tolerates(spec.tolerations, taint, ComparisonOperators::kIgnored) ||
           any_tolerates(flavor.tolerations, taint, ComparisonOperators::kIgnored);
  });
}

std::string plural(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// Pods of a pod set that must have room: those that have ended and are not made again need none.
int64_t pods_of(const Workload& workload, const PodSetAssignment& assignment, const PodSet& pod_set) {
  int64_t count = assignment.count.value_or(pod_set.count);
  for (const ReclaimablePod& ended : workload.status.reclaimable_pods) {
    if (ended.name == pod_set.name) count -= ended.count;
  }
  return std::max<int64_t>(count, 0);
}

}  // namespace

bool NodeCapacity::put(const ResourceFlavorPtr& flavor) {
  if (!flavor->fits_on_nodes) return remove_flavor(flavor->meta.name);
  ResourceFlavorPtr& known = flavors_[flavor->meta.name];
  const bool same =
      known != nullptr && known->node_labels == flavor->node_labels && known->tolerations == flavor->tolerations;
  known = flavor;
  if (!same) suited_.clear();
  return !same;
}

bool NodeCapacity::remove_flavor(const std::string& name) {
  if (flavors_.erase(name) == 0) return false;
  suited_.clear();
  return true;
}

// The first flavor that counts nodes; assign() lets a pod set have no other one.
const ResourceFlavor* NodeCapacity::flavor_of(const PodSetAssignment& assignment) const {
  if (flavors_.empty()) return nullptr;
  for (const auto& [resource, name] : assignment.flavors) {
    if (const auto found = flavors_.find(name); found != flavors_.end()) return found->second.get();
  }
  return nullptr;
}

NodeNeeds NodeCapacity::needs_of(const Workload& workload, const PodSet& pod_set) const {
  Requests requests = pod_requests_of_(workload, pod_set);
  requests["pods"] = 1;
  return table_.needs_of(requests);
}

// Of pods that name the Workload as many are its own as it has quota for; whatever else names it is only counted on its
// node, as the pods of other Workloads are.
void NodeCapacity::put(const Workload& workload) {
  const std::string path = path_of(workload.meta);
  if (!workload.has_quota_reserved() || !workload.status.admission || workload.finished()) return remove_workload(path);
  CapacityUses uses;
  bool counts = false;
  for (const PodSetAssignment& assignment : workload.status.admission->pod_sets) {
    if (flavor_of(assignment) == nullptr) continue;
    counts = true;
    for (const PodSet& pod_set : workload.pod_sets) {
      if (pod_set.name != assignment.name) continue;
      int64_t left = pods_of(workload, assignment, pod_set);
      for (const NodeTable::Member& pod : table_.members(workload.meta.ns, workload.meta.name, pod_set.name)) {
        if (left-- > 0) add_pods(pod.row, *pod.needs, 1, uses);
      }
    }
  }
  if (!counts) return remove_workload(path);
  change_bound(path, std::move(uses));
}

void NodeCapacity::remove_workload(const std::string& path) {
  places_.erase(path);
  const auto known = bound_.find(path);
  if (known == bound_.end()) return;
  for (const CapacityUse& use : known->second) change(inside_, use.key.unit, -use.amount);
  bound_.erase(known);
}

void NodeCapacity::change_bound(const std::string& path, CapacityUses uses) {
  remove_workload(path);
  for (const CapacityUse& use : uses) change(inside_, use.key.unit, use.amount);
  bound_.emplace(path, std::move(uses));
}

const std::string& NodeCapacity::selection_of(const PodSpec& spec) const {
  if (selections_.size() >= kMostSelections) selections_.clear();
  const auto [kept, is_new] = selections_.try_emplace(spec.text);
  if (!is_new) return kept->second;
  const json read = json::parse(spec.text, nullptr, false);
  kept->second =
      muster::to_text(object_at(read, {"nodeSelector"})) +
      muster::to_text(object_at(read, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"})) +
      muster::to_text(array_at(read, {"tolerations"}));
  return kept->second;
}

const NodeCapacity::Suited& NodeCapacity::suited(const PodSpecPtr& spec, const ResourceFlavor& flavor) const {
  if (suited_.size() >= kMostSuited) suited_.clear();
  SuitedAt& kept = suited_[{selection_of(*spec), flavor.meta.name}];
  if (kept.version == table_.version()) return kept.suited;
  kept = {.version = table_.version(), .suited = {}};
  Suited& suited = kept.suited;
  for (uint32_t row = 0; row < table_.rows().size(); ++row) {
    const NodeTable::Row& each = table_.rows()[row];
    if (!each.there || !carries(each.node->labels, flavor.node_labels)) continue;
    ++suited.labelled;
    const auto affinity = spec->node_affinity.matches(each.node->name, each.node->labels);
    if (!affinity.ok() || !*affinity)
      ++suited.excluded;
    else if (!each.node->takes_pods())
      ++suited.closed;
    else if (!is_tolerated(each.node->taints, *spec, flavor))
      ++suited.tainted;
    else
      suited.rows.push_back(row);
  }
  return suited;
}

int64_t NodeCapacity::free(uint32_t row, uint32_t resource) const {
  const NodeTable::Row& node = table_.rows()[row];
  if (!node.there) return 0;
  const int64_t taken = saturating_subtract(saturating_add(at(node.taken, resource), at(used_, row, resource)),
                                            at(inside_, row, resource));
  return saturating_subtract(at(node.allocatable, resource), taken);
}

int64_t NodeCapacity::seats(uint32_t row, const NodeNeeds& needs, const CapacityUses& earlier, int64_t most) const {
  for (const NodeNeed& need : needs) {
    int64_t amount = free(row, need.resource);
    if (!earlier.empty()) {
      const CapacityKey key{id(), unit_of(row, need.resource)};
      const auto use = std::lower_bound(earlier.begin(), earlier.end(), key,
                                        [](const CapacityUse& a, const CapacityKey& b) { return a.key < b; });
      if (use != earlier.end() && use->key == key) amount -= use->amount;
    }
    if (amount < need.amount) return 0;
    most = std::min(most, amount / need.amount);
  }
  return most;
}

void NodeCapacity::add_pods(uint32_t row, const NodeNeeds& needs, int64_t count, CapacityUses& uses) const {
  for (const NodeNeed& need : needs)
    add_use(uses, {{id(), unit_of(row, need.resource)}, saturating_multiply(need.amount, count)});
}

int64_t NodeCapacity::place(const Suited& suited, const NodeNeeds& needs, int64_t count, const CapacityUses& earlier,
                            CapacityUses& uses) const {
  struct Room {
    int64_t seats;
    uint32_t row;
  };
  std::vector<Room> rooms;
  for (const uint32_t row : suited.rows) {
    if (const int64_t fitting = seats(row, needs, earlier, count); fitting > 0) rooms.push_back({fitting, row});
  }
  std::sort(rooms.begin(), rooms.end(),
            [](const Room& a, const Room& b) { return a.seats != b.seats ? a.seats > b.seats : a.row < b.row; });
  // Sorted at once: uses are in the order of their units.
  std::vector<Room> taken;
  for (const Room& room : rooms) {
    if (count <= 0) break;
    taken.push_back({std::min(room.seats, count), room.row});
    count -= taken.back().seats;
  }
  std::sort(taken.begin(), taken.end(), [](const Room& a, const Room& b) { return a.row < b.row; });
  CapacityUses placed;
  for (const Room& room : taken) {
    for (const NodeNeed& need : needs)
      placed.push_back({{id(), unit_of(room.row, need.resource)}, saturating_multiply(need.amount, room.seats)});
  }
  add_uses(uses, placed);
  return count;
}

Shortage NodeCapacity::shortage(std::string why, std::string change) const {
  return {
      .key = {id(), kAnyNode}, .needed = 0, .permanent = false, .message = std::move(why), .change = std::move(change)};
}

// In numbers: "8 pods of 8 nvidia.com/gpu: 3 nodes have 8 free, 5 more have 4".
Shortage NodeCapacity::shortage_of(const PodSetAsk& ask, const Suited& suited, const NodeNeeds& needs,
                                   int64_t left) const {
  const std::string flavor(ask.flavor);
  if (suited.rows.empty()) {
    if (suited.labelled == 0)
      return shortage("no node has the labels of flavor " + flavor,
                      "Starts when a node of flavor " + flavor + " joins.");
    std::string why = "of " + plural(suited.labelled, "node") + " of flavor " + flavor + " none takes the pods:";
    const char* before = " ";
    for (const auto& [count, what] : {std::pair{suited.excluded, "do not match their node selector or affinity"},
                                      std::pair{suited.tainted, "have a taint that they do not tolerate"},
                                      std::pair{suited.closed, "are not ready or cordoned"}}) {
      if (count > 0) why += std::exchange(before, ", ") + std::to_string(count) + " " + what;
    }
    return shortage(std::move(why), "Starts when a node of flavor " + flavor + " takes its pods.");
  }
  // The resource of which the most nodes have too little.
  std::map<int64_t, size_t, std::greater<>> free_by_amount;
  const NodeNeed* scarce = nullptr;
  size_t most = 0;
  for (const NodeNeed& need : needs) {
    const auto lacks = static_cast<size_t>(std::count_if(
        suited.rows.begin(), suited.rows.end(), [&](uint32_t row) { return free(row, need.resource) < need.amount; }));
    if (scarce == nullptr || lacks > most) {
      scarce = &need;
      most = lacks;
    }
  }
  for (const uint32_t row : suited.rows)
    ++free_by_amount[std::clamp<int64_t>(free(row, scarce->resource), 0, scarce->amount)];
  const std::string resource(table_.resource_name(scarce->resource));
  const auto text = [&](int64_t amount) { return to_quantity(resource, amount).text(); };
  std::string why = "insufficient room on the nodes of flavor " + flavor + " for " + std::to_string(left) + " of " +
                    plural(static_cast<size_t>(ask.count), "pod") + " of " + text(scarce->amount) + " " + resource +
                    ":";
  size_t named = 0;
  for (const auto& [amount, nodes] : free_by_amount) {
    if (named == 3) break;
    why += std::string(named++ == 0 ? " " : ", ") + plural(nodes, "node") + (nodes == 1 ? " has " : " have ") +
           (amount == scarce->amount ? "enough for one or more" : text(amount) + " free");
  }
  return shortage(std::move(why), "Starts when pods leave the nodes of flavor " + flavor + ", or a node joins.");
}

CapacityAnswer NodeCapacity::assign(const PodSetAsk& ask) const {
  const auto flavor = flavors_.find(ask.flavor);
  if (flavor == flavors_.end() || ask.count <= 0) return {};
  const bool has_nodes = std::any_of(ask.of_pod_set.begin(), ask.of_pod_set.end(),
                                     [&](const CapacityUse& use) { return use.key.capacity == id(); });
  if (has_nodes) {
    Shortage twice = shortage("the pods have a flavor already that counts nodes, and flavor " +
                                  std::string(ask.flavor) + " counts other ones",
                              "Waiting does not help: of the flavors of one pod set only one can have the annotation "
                              "muster.batch/fit-on-nodes.");
    twice.permanent = true;
    return {.shortage = std::move(twice)};
  }
  if (const std::string_view unknown = table_.unknown(); !unknown.empty())
    return {.shortage = shortage("the " + std::string(unknown) + " of the cluster are not known yet",
                                 "Is evaluated again when muster has read the nodes and their pods.")};
  const NodeNeeds needs = needs_of(ask.workload, ask.pod_set);
  const Suited& on = suited(ask.pod_set.pod_template.spec, *flavor->second);
  CapacityAnswer answer;
  const int64_t left = place(on, needs, ask.count, ask.earlier, answer.uses);
  if (left > 0) answer.shortage = shortage_of(ask, on, needs, left);
  return answer;
}

// What has no room any more is not held until there is some: its pods wait, and quota is theirs all the same.
CapacityUses NodeCapacity::held(const Workload& workload, const Admission& admission) const {
  const std::string path = path_of(workload.meta);
  places_.erase(path);
  CapacityUses uses;
  const auto bound = bound_.find(path);
  if (bound != bound_.end()) uses = bound->second;
  if (flavors_.empty()) return uses;
  Places places{.uses = {}, .version = table_.version()};
  const bool known = table_.unknown().empty();
  bool any = false;
  for (const PodSetAssignment& assignment : admission.pod_sets) {
    const ResourceFlavor* flavor = flavor_of(assignment);
    if (flavor == nullptr) continue;
    for (const PodSet& pod_set : workload.pod_sets) {
      if (pod_set.name != assignment.name) continue;
      const auto have = static_cast<int64_t>(table_.members(workload.meta.ns, workload.meta.name, pod_set.name).size());
      const int64_t missing = pods_of(workload, assignment, pod_set) - have;
      if (missing <= 0) continue;
      any = true;
      // Its pods and the places before are counted only once it holds them.
      CapacityUses earlier = uses;
      add_uses(earlier, places.uses);
      const bool placed = known && place(suited(pod_set.pod_template.spec, *flavor), needs_of(workload, pod_set),
                                         missing, earlier, places.uses) == 0;
      places.complete = places.complete && placed;
    }
  }
  add_uses(uses, places.uses);
  if (any) places_.emplace(path, std::move(places));
  return uses;
}

std::vector<std::string> NodeCapacity::misplaced() const {
  std::vector<std::string> found;
  if (!table_.unknown().empty()) return found;
  for (const auto& [path, places] : places_) {
    const bool lost = std::any_of(places.uses.begin(), places.uses.end(), [&](const CapacityUse& use) {
      return free(row_in(use.key.unit), resource_in(use.key.unit)) < 0;
    });
    if (lost || !places.complete || places.version != table_.version()) found.push_back(path);
  }
  return found;
}

std::string NodeCapacity::text_of(const Workload& workload, const PodSet& pod_set) const {
  if (flavors_.empty()) return "";
  std::string text;
  for (const NodeNeed& need : needs_of(workload, pod_set))
    text += std::to_string(need.resource) + "=" + std::to_string(need.amount) + ",";
  return text;
}

int64_t NodeCapacity::available(uint32_t unit) const {
  return unit == kAnyNode ? 0 : free(row_in(unit), resource_in(unit));
}

void NodeCapacity::add(uint32_t unit, int64_t amount) {
  if (unit != kAnyNode) change(used_, unit, amount);
}

std::optional<NodeLoads> NodeCapacity::loads() const {
  if (flavors_.empty() || !table_.unknown().empty()) return std::nullopt;
  NodeLoads loads{.resources = table_.resources(), .nodes = {}};
  for (uint32_t row = 0; row < table_.rows().size(); ++row) {
    const NodeTable::Row& each = table_.rows()[row];
    if (!each.there) continue;
    std::vector<int64_t> taken = each.taken;
    for (uint32_t resource = 0; resource < taken.size(); ++resource) taken[resource] -= at(inside_, row, resource);
    loads.nodes.push_back({each.node, std::move(taken)});
  }
  return loads;
}

bool NodeCapacity::is_unused(uint32_t row) const {
  const auto none = [&](const Taken& amounts) {
    return row >= amounts.size() ||
           std::all_of(amounts[row].begin(), amounts[row].end(), [](int64_t amount) { return amount == 0; });
  };
  return none(used_) && none(inside_);
}

}  // namespace muster::scheduler
