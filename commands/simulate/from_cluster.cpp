#include "commands/simulate/from_cluster.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "commands/kubectl/reader.h"
#include "forecast/partial_view.h"
#include "kinds/watched_kinds.h"
#include "kube/list_objects.h"

namespace muster::commands {
namespace {

using nlohmann::json;

struct Wanted {
  const ResourceType* type;
  bool needed;
};
const Wanted kWanted[] = {{&kClusterQueues, true},    {&kResourceFlavors, true},
                          {&kLocalQueues, true},      {&kWorkloads, true},
                          {&kCohorts, false},         {&kAdmissionChecks, false},
                          {&kNamespaces, false},      {&kWorkloadPriorityClasses, false},
                          {&kPriorityClasses, false}, {&kLimitRanges, false},
                          {&kRuntimeClasses, false}};

Outcome<kube::StatusError> add_objects(kube::KubeApi& api, const ResourceType& type, const std::string& ns,
                                       std::vector<forecast::SourceObject>& objects) {
  auto listed = kube::list_objects(api, kube::resource_of(type), {.ns = ns});
  if (!listed) return fail_with(listed.error());
  for (json& object : *listed)
    objects.push_back({.place = "the cluster", .value = std::move(object), .is_of_others = true});
  return Done{};
}

// Only what the simulation reads: images and environments of a large cluster would fill the memory.
json trimmed_node(const json& node) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", string_at(node, {"metadata", "name"})}, {"labels", object_at(node, {"metadata", "labels"})}}},
          {"spec",
           {{"taints", array_at(node, {"spec", "taints"})},
            {"unschedulable", object_at(node, {"spec"}).value("unschedulable", json(false))}}},
          {"status", {{"allocatable", object_at(node, {"status", "allocatable"})}}}};
}

json trimmed_pod(const json& pod) {
  json spec = {{"nodeName", string_at(pod, {"spec", "nodeName"})}};
  const json& whole = object_at(pod, {"spec"});
  for (const char* field : {"overhead", "resources"}) {
    if (whole.contains(field)) spec[field] = whole[field];
  }
  for (const char* list : {"initContainers", "containers"}) {
    for (const json& container : array_at(pod, {"spec", list})) {
      json kept = json::object();
      for (const char* field : {"name", "resources", "restartPolicy"}) {
        if (container.contains(field)) kept[field] = container[field];
      }
      spec[list].push_back(std::move(kept));
    }
  }
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", string_at(pod, {"metadata", "name"})},
            {"namespace", string_at(pod, {"metadata", "namespace"})},
            {"labels", object_at(pod, {"metadata", "labels"})}}},
          {"spec", std::move(spec)}};
}

// Nodes and pods are not needed: without them only quota limits jobs.
Outcome<kube::StatusError> add_trimmed(kube::KubeApi& api, const kube::Resource& resource,
                                       const kube::Selection& selection, json (*trim)(const json&),
                                       std::vector<forecast::SourceObject>& objects) {
  const size_t before = objects.size();
  const kube::ListHandler handler{
      .started = [&] { objects.resize(before); },
      .item =
          [&](json& item) { objects.push_back({.place = "the cluster", .value = trim(item), .is_of_others = true}); }};
  auto version = api.list(resource, selection, handler);
  if (!version) return fail_with(version.error());
  return Done{};
}

Outcome<> add_nodes(kube::KubeApi& api, ClusterObjects& cluster) {
  const kube::Resource nodes{"", "v1", "nodes", false, "Node"};
  if (auto listed = add_trimmed(api, nodes, {}, trimmed_node, cluster.objects); !listed) {
    if (!listed.error().forbidden()) return fail("nodes cannot be listed: " + listed.error().message);
    cluster.notes.push_back("You cannot list nodes: only quota limits jobs.");
    return Done{};
  }
  // Those that a queue has started are counted by their Workloads.
  const kube::Selection outside{.label_selector = "!" + std::string(kPodSetLabel),
                                .field_selector = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"};
  if (auto listed = add_trimmed(api, kube::resource_of(kPods), outside, trimmed_pod, cluster.objects); !listed) {
    if (!listed.error().forbidden()) return fail("pods cannot be listed: " + listed.error().message);
    cluster.notes.push_back(
        "You cannot list the pods of all namespaces: what pods outside of the queues hold on nodes "
        "is not known, and counts as free.");
  }
  return Done{};
}

}  // namespace

Result<ClusterObjects> read_cluster(const ClusterFlags& flags, bool with_nodes) {
  auto reader = MusterReader::connect(flags);
  if (!reader) return fail(reader.error().message);
  ClusterObjects cluster{.objects = {}, .notes = {}, .ns = (*reader)->ns()};
  bool is_partial = false;
  for (const Wanted& wanted : kWanted) {
    const ResourceType& type = *wanted.type;
    auto listed = add_objects((*reader)->api(), type, "", cluster.objects);
    if (!listed && listed.error().forbidden() && type.namespaced) {
      listed = add_objects((*reader)->api(), type, cluster.ns, cluster.objects);
      is_partial = is_partial || listed.ok();
      if (listed)
        cluster.notes.push_back("You can list " + std::string(type.plural) + " in namespace " + cluster.ns + " only.");
    }
    if (listed) continue;
    const kube::StatusError& error = listed.error();
    const bool passes = !wanted.needed && (error.code == 404 || error.forbidden());
    if (!passes) return fail(std::string(type.plural) + " cannot be listed: " + error.message);
    if (error.forbidden()) cluster.notes.push_back("You cannot list " + std::string(type.plural) + ".");
  }
  if (with_nodes) {
    if (auto added = add_nodes((*reader)->api(), cluster); !added) return fail(added.error().message);
  }
  if (is_partial) {
    for (std::string& note : forecast::complete_partial_view(cluster.objects)) cluster.notes.push_back(std::move(note));
  }
  return cluster;
}

}  // namespace muster::commands
