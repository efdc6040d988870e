#include "commands/simulate/from_cluster.h"

#include <nlohmann/json.hpp>

#include "api/watched_kinds.h"
#include "commands/kubectl/reader.h"
#include "kube/list_objects.h"
#include "simulation/what_if/partial_view.h"

namespace muster {
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
                                       std::vector<what_if::SourceObject>& objects) {
  auto listed = kube::list_objects(api, kube::resource_of(type), {.ns = ns});
  if (!listed) return fail_with(listed.error());
  for (json& object : *listed)
    objects.push_back({.place = "the cluster", .value = std::move(object), .is_of_others = true});
  return Done{};
}

}  // namespace

Result<ClusterObjects> read_cluster(const ClusterFlags& flags) {
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
  if (is_partial) {
    for (std::string& note : what_if::complete_partial_view(cluster.objects)) cluster.notes.push_back(std::move(note));
  }
  return cluster;
}

}  // namespace muster
