// The nodes of a scenario: those that annotations of flavors count, and those of the input with what pods outside of
// the queues hold on them.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/meta/constants.h"
#include "api/pods/pod_phase.h"
#include "api/pods/pod_requests.h"
#include "api/workload.h"
#include "forecast/scenario_build.h"

namespace muster::forecast {
namespace {

using nlohmann::json;

constexpr std::string_view kHostname = "kubernetes.io/hostname";
// On the simulated nodes only: the flavor whose annotation counts them, or nothing.
constexpr std::string_view kNodesOfFlavor = "simulate.muster.batch/nodes-of-flavor";
constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

bool is_node(const json& object) {
  return string_at(object, {"kind"}) == "Node" && group_in(object).empty();
}

// Started by a queue: its Workload counts its pods.
bool is_queued(const json& pod) {
  const json& labels = object_at(pod, {"metadata", "labels"});
  return labels.contains(kPodSetLabel) || labels.contains(kManagedLabel) || labels.contains(kQueueNameLabel);
}

Requests requests_of(const json& pod) {
  const PodSpec spec(object_at(pod, {"spec"}));
  Requests requests = to_requests(pod_requests(adjusted_resources(spec, {})));
  requests[std::string(kPodsResource)] = 1;
  return requests;
}

NodeGroup read_node(const json& object) {
  NodeGroup node{.name = name_in(object), .labels = read_meta(object).labels};
  const json& spec = object_at(object, {"spec"});
  node.taints = read_taints(array_at(spec, {"taints"}));
  const bool cordoned = spec.value("unschedulable", json()) == true;
  if (cordoned && std::none_of(node.taints.begin(), node.taints.end(),
                               [](const Taint& taint) { return taint.key == kUnschedulableTaint; }))
    node.taints.push_back({.key = std::string(kUnschedulableTaint), .value = "", .effect = "NoSchedule"});
  node.allocatable = to_requests(read_resource_list(object_at(object, {"status", "allocatable"})));
  node.allocatable.try_emplace(std::string(kPodsResource), std::numeric_limits<int64_t>::max());
  return node;
}

// The labels of nodes that pods and flavors ask for; and whether a pod asks for nodes by name.
class Asked {
 public:
  void take(const Labels& labels) {
    for (const auto& [key, value] : labels) keys_.insert(key);
  }
  void take(const PodSpec& spec) {
    if (!specs_.insert(&spec).second) return;
    if (spec.text.find("nodeSelector") == std::string::npos && spec.text.find("nodeAffinity") == std::string::npos)
      return;
    const json read = json::parse(spec.text, nullptr, false);
    take(read_string_map(object_at(read, {"nodeSelector"})));
    for (const json& term : array_at(read, {"affinity", "nodeAffinity",
                                            "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"})) {
      for (const json& expression : array_at(term, {"matchExpressions"})) keys_.emplace(string_at(expression, {"key"}));
      names_ = names_ || !array_at(term, {"matchFields"}).empty();
    }
  }
  bool single_nodes() const { return names_ || keys_.contains(kHostname); }
  // Of equal nodes, equal texts.
  std::string key_of(const NodeGroup& node) const {
    json key = {{"labels", json::object()}, {"taints", json::array()}, {"allocatable", node.allocatable}};
    for (const auto& [label, value] : node.labels) {
      if (keys_.contains(label)) key["labels"][label] = value;
    }
    for (const Taint& taint : node.taints) key["taints"].push_back({taint.key, taint.value, taint.effect});
    if (single_nodes()) key["name"] = node.name;
    return key.dump();
  }

 private:
  std::set<std::string, std::less<>> keys_;
  std::set<const PodSpec*> specs_;
  bool names_ = false;
};

}  // namespace

bool ScenarioBuild::is_bound_outside(const json& pod) {
  return !string_at(pod, {"spec", "nodeName"}).empty() && !pod_has_ended(pod) && !is_queued(pod);
}

Outcome<> ScenarioBuild::take_nodes() {
  if (options_.ignore_nodes) return Done{};
  std::vector<NodeGroup>& groups = read_.scenario.nodes;
  Asked asked;
  for (const JobShape& shape : read_.scenario.shapes) {
    for (const PodSet& pod_set : shape.workload->pod_sets) asked.take(*pod_set.pod_template.spec);
  }
  for (const Stored& stored : stored_) {
    for (const PodSet& pod_set : stored.workload->pod_sets) asked.take(*pod_set.pod_template.spec);
  }
  for (const TypedObject& object : read_.scenario.objects) {
    if (const auto* flavor = std::get_if<ResourceFlavorPtr>(&object)) asked.take((*flavor)->node_labels);
  }
  std::vector<NodeGroup> nodes;
  for (const SourceObject& source : objects_) {
    if (!is_node(source.value)) continue;
    if (auto none = no_traits(read_meta(source.value).annotations); !none) {
      if (auto noted = wrong_annotation(source, none.error().message); !noted) return noted;
    }
    nodes.push_back(read_node(source.value));
  }
  std::sort(nodes.begin(), nodes.end(), [](const NodeGroup& a, const NodeGroup& b) { return a.name < b.name; });
  std::map<std::string, size_t> known;
  std::map<std::string, std::pair<size_t, uint64_t>, std::less<>> places;
  for (NodeGroup& node : nodes) {
    const auto [group, is_new] = known.try_emplace(asked.key_of(node), groups.size());
    if (!is_new) ++groups[group->second].count;
    places[node.name] = {group->second, is_new ? 0 : groups[group->second].count - 1};
    if (is_new) groups.push_back(std::move(node));
  }
  for (const SourceObject* source : bound_) {
    const auto place = places.find(string_at(source->value, {"spec", "nodeName"}));
    if (place != places.end())
      muster::add(groups[place->second.first].used[place->second.second], requests_of(source->value));
    else
      ++(nodes.empty() ? queueless_ : nodeless_);
  }
  for (const auto& [name, traits] : read_.scenario.flavors) {
    if (traits.nodes)
      groups.push_back({.flavor = name, .name = name, .count = *traits.nodes, .allocatable = traits.node_resources});
  }
  return Done{};
}

// Nodes that an annotation counts are of their flavor only, and have its labels; a label says which nodes those are.
// Where nothing is known of nodes, quota alone decides.
void ScenarioBuild::mark_counted_nodes() {
  Scenario& scenario = read_.scenario;
  if (!scenario.settings.queues.watch_nodes) return;
  bool any = false;
  std::map<std::string, Labels, std::less<>> labels;
  for (TypedObject& object : scenario.objects) {
    const auto* flavor = std::get_if<ResourceFlavorPtr>(&object);
    if (flavor == nullptr || !(*flavor)->fits_on_nodes) continue;
    const std::string& name = (*flavor)->meta.name;
    const FlavorTraits& traits = scenario.flavors[name];
    ResourceFlavor marked = **flavor;
    marked.fits_on_nodes = !scenario.nodes.empty() && !traits.any_number_of_nodes;
    if (scenario.nodes.empty())
      read_.notes.push_back("ResourceFlavor " + name + " admits what fits on its nodes (" +
                            std::string(kFitOnNodesAnnotation) + "), and the input has no nodes: only quota limits it");
    labels[name] = marked.node_labels;
    if (marked.fits_on_nodes) marked.node_labels[std::string(kNodesOfFlavor)] = traits.nodes ? name : "";
    any = any || marked.fits_on_nodes;
    object = std::make_shared<const ResourceFlavor>(std::move(marked));
  }
  if (!any) return;
  for (NodeGroup& group : scenario.nodes) {
    if (const auto own = labels.find(group.flavor); own != labels.end()) group.labels = own->second;
    group.labels[std::string(kNodesOfFlavor)] = group.flavor;
  }
}

// With nodes of some flavors, the others are a surprise.
void ScenarioBuild::say_which_flavors_have_no_nodes() {
  const Scenario& scenario = read_.scenario;
  if (scenario.nodes.empty()) return;
  for (const TypedObject& object : scenario.objects) {
    const auto* flavor = std::get_if<ResourceFlavorPtr>(&object);
    if (flavor == nullptr) continue;
    const auto traits = scenario.flavors.find((*flavor)->meta.name);
    if (traits != scenario.flavors.end() && (traits->second.nodes || traits->second.any_number_of_nodes)) continue;
    if ((*flavor)->fits_on_nodes) continue;
    if (std::none_of(scenario.nodes.begin(), scenario.nodes.end(),
                     [&](const NodeGroup& nodes) { return carries_labels_of(nodes, **flavor); }))
      read_.notes.push_back("no node of the input carries the labels of ResourceFlavor " + (*flavor)->meta.name +
                            ": nodes do not limit its pods (if it has none, annotate it with "
                            "simulate.muster.batch/nodes: \"0\")");
  }
}

}  // namespace muster::forecast
