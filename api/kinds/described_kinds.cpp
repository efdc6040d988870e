// The registry of described kinds.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/yaml.h"
#include "api/embedded.h"
#include "api/kinds/kind_description.h"
#include "api/kinds/serving_types.h"
#include "base/invariant.h"

namespace muster {
namespace {

// A row that is built in is right, which a test shows.
KindDescriptionPtr read_row(std::string_view text) {
  const auto documents = read_yaml(text);
  check_invariant(documents.ok() && documents->size() == 1, "a kind's row is one YAML document");
  auto kind = read_kind_description(documents->front().value);
  check_invariant(kind.ok(), "a kind's row is right");
  return *kind;
}

std::vector<KindDescriptionPtr>& kinds() {
  static std::vector<KindDescriptionPtr> all = [] {
    std::vector<KindDescriptionPtr> built_in;
    for (const EmbeddedFile& file : api_files()) {
      if (file.path.starts_with("kinds/rows/")) built_in.push_back(read_row(file.text));
    }
    std::sort(built_in.begin(), built_in.end(),
              [](const auto& a, const auto& b) { return a->framework < b->framework; });
    return built_in;
  }();
  return all;
}

// Objects are found by the names of their resources (ObjectKey), which know no group.
bool is_taken(std::string_view resource) {
  static constexpr std::array kTaken = {kNamespaces.plural,
                                        kLimitRanges.plural,
                                        kPods.plural,
                                        kQueuedPods.plural,
                                        kPodGroups.plural,
                                        kConfigMaps.plural,
                                        kServices.plural,
                                        kJobs.plural,
                                        kJobSets.plural,
                                        kLocalQueues.plural,
                                        kClusterQueues.plural,
                                        kCohorts.plural,
                                        kResourceFlavors.plural,
                                        kAdmissionChecks.plural,
                                        kWorkloads.plural,
                                        kPriorityClasses.plural,
                                        kWorkloadPriorityClasses.plural,
                                        kRuntimeClasses.plural,
                                        kDeployments.plural,
                                        kStatefulSets.plural,
                                        kLeaderWorkerSets.plural,
                                        kCustomResourceDefinitions.plural};
  return std::find(kTaken.begin(), kTaken.end(), resource) != kTaken.end() ||
         std::any_of(kinds().begin(), kinds().end(), [&](const auto& kind) {
           return kind->plural == resource || std::any_of(kind->consulted.begin(), kind->consulted.end(),
                                                          [&](const auto& each) { return each.plural == resource; });
         });
}

}  // namespace

std::span<const KindDescriptionPtr> described_kinds() {
  return kinds();
}

const KindDescription* find_described_kind(std::string_view group, std::string_view kind) {
  for (const KindDescriptionPtr& known : kinds()) {
    if (known->kind == kind && known->group == group) return known.get();
  }
  return nullptr;
}

const ResourceType* find_consulted_kind(std::string_view group, std::string_view kind) {
  for (const KindDescriptionPtr& known : kinds()) {
    for (const ConsultedKind& consulted : known->consulted) {
      if (consulted.kind == kind && consulted.group == group) return &consulted.type();
    }
  }
  return nullptr;
}

std::vector<const ResourceType*> queued_types() {
  std::vector<const ResourceType*> types = {&kJobs,        &kJobSets,      &kQueuedPods,
                                            &kDeployments, &kStatefulSets, &kLeaderWorkerSets};
  for (const KindDescriptionPtr& kind : kinds()) types.push_back(&kind->type());
  return types;
}

bool is_queued_type(std::string_view group, std::string_view resource) {
  const auto is = [&](const ResourceType& type) { return type.group == group && type.resource() == resource; };
  return is(kJobs) || is(kJobSets) || is(kQueuedPods) || is(kDeployments) || is(kStatefulSets) ||
         is(kLeaderWorkerSets) ||
         std::any_of(kinds().begin(), kinds().end(), [&](const auto& kind) { return is(kind->type()); });
}

FieldErrors install_described_kinds(std::vector<KindDescriptionPtr> added) {
  FieldErrors errors;
  for (size_t i = 0; i < added.size(); ++i) {
    const KindDescription& kind = *added[i];
    const KindDescription* known = find_described_kind(kind.group, kind.kind);
    if (known != nullptr && known->text == kind.text) continue;
    const FieldPath place = FieldPath("kinds").index(i);
    const bool framework_known = std::any_of(kinds().begin(), kinds().end(),
                                             [&](const auto& other) { return other->framework == kind.framework; });
    if (framework_known || known != nullptr)
      errors.push_back(duplicate(place.child("framework"), kind.framework));
    else if (std::any_of(kind.consulted.begin(), kind.consulted.end(),
                         [](const ConsultedKind& each) { return is_taken(each.plural); }))
      errors.push_back(forbidden(place.child("consults"), "muster watches a resource of this name for itself"));
    else if (is_taken(kind.plural))
      errors.push_back(invalid(place.child("resource"), kind.plural,
                               "muster knows a resource of this name in another group, and cannot tell them apart"));
    else
      kinds().push_back(added[i]);
  }
  return errors;
}

}  // namespace muster
