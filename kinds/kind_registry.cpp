#include "kinds/kind_registry.h"

#include <algorithm>
#include <array>

#include "api/codec/yaml.h"
#include "base/invariant.h"
#include "kinds/embedded.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"

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

std::vector<KindDescriptionPtr> read_rows() {
  std::vector<KindDescriptionPtr> rows;
  for (const EmbeddedFile& file : kinds_files()) rows.push_back(read_row(file.text));
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a->framework < b->framework; });
  return rows;
}

constexpr std::array kTypesWithCode = {&kJobs,        &kJobSets,      &kQueuedPods,
                                       &kDeployments, &kStatefulSets, &kLeaderWorkerSets};

bool is(const ResourceType& type, std::string_view group, std::string_view resource) {
  return type.group == group && type.plural == resource;
}

KindRegistry::Ptr& registered() {
  static KindRegistry::Ptr kinds = KindRegistry::built_in();
  return kinds;
}

}  // namespace

KindRegistry::KindRegistry(std::vector<KindDescriptionPtr> described)
    : described_(std::move(described)), watched_(kinds_with_code().begin(), kinds_with_code().end()) {
  for (const ResourceType* type : {&kStatefulSets, &kLeaderWorkerSets}) {
    const KindDescription& kind = *find_serving_description(type->group, type->kind);
    watched_.push_back({.type = &kind.type(), .optional = type == &kLeaderWorkerSets, .framework = kind.framework});
  }
  for (const KindDescriptionPtr& kind : described_) {
    watched_.push_back({.type = &kind->type(), .optional = true, .framework = kind->framework});
    for (const ConsultedKind& consulted : kind->consulted)
      watched_.push_back({.type = &consulted.type(), .optional = true, .framework = kind->framework});
  }
}

const KindRegistry::Ptr& KindRegistry::built_in() {
  static const Ptr kinds(new KindRegistry(read_rows()));
  return kinds;
}

Result<KindRegistry::Ptr, FieldErrors> KindRegistry::with(std::span<const KindDescriptionPtr> own) {
  // Kinds are compared with the ones before them, too.
  std::shared_ptr<const KindRegistry> known = built_in();
  FieldErrors errors;
  for (size_t i = 0; i < own.size(); ++i) {
    const KindDescription& kind = *own[i];
    const KindDescription* same = known->find_described(kind.group, kind.kind);
    if (same != nullptr && same->text == kind.text) continue;
    const FieldPath place = FieldPath("kinds").index(i);
    const bool has_framework = std::any_of(known->described_.begin(), known->described_.end(),
                                           [&](const auto& other) { return other->framework == kind.framework; });
    if (has_framework || same != nullptr) {
      errors.push_back(duplicate(place.child("framework"), kind.framework));
    } else if (std::any_of(kind.consulted.begin(), kind.consulted.end(),
                           [&](const ConsultedKind& each) { return known->has_resource(each.group, each.plural); })) {
      errors.push_back(forbidden(place.child("consults"), "muster watches this resource already"));
    } else if (known->has_resource(kind.group, kind.plural)) {
      errors.push_back(duplicate(place.child("resource"), kind.plural));
    } else {
      std::vector<KindDescriptionPtr> longer = known->described_;
      longer.push_back(own[i]);
      known.reset(new KindRegistry(std::move(longer)));
    }
  }
  if (!errors.empty()) return fail_with(std::move(errors));
  return known;
}

bool KindRegistry::has_resource(std::string_view group, std::string_view resource) const {
  return is(kDeployments, group, resource) ||
         std::any_of(watched_.begin(), watched_.end(),
                     [&](const WatchedKind& kind) { return is(*kind.type, group, resource); });
}

const KindDescription* KindRegistry::find_described(std::string_view group, std::string_view kind) const {
  for (const KindDescriptionPtr& known : described_) {
    if (known->kind == kind && known->group == group) return known.get();
  }
  return nullptr;
}

const ResourceType* KindRegistry::find_consulted(std::string_view group, std::string_view kind) const {
  for (const KindDescriptionPtr& known : described_) {
    for (const ConsultedKind& consulted : known->consulted) {
      if (consulted.kind == kind && consulted.group == group) return &consulted.type();
    }
  }
  return nullptr;
}

std::vector<const ResourceType*> KindRegistry::queued_types() const {
  std::vector<const ResourceType*> types(kTypesWithCode.begin(), kTypesWithCode.end());
  for (const KindDescriptionPtr& kind : described_) types.push_back(&kind->type());
  return types;
}

bool KindRegistry::queues(std::string_view group, std::string_view resource) const {
  return std::any_of(kTypesWithCode.begin(), kTypesWithCode.end(),
                     [&](const ResourceType* type) { return is(*type, group, resource); }) ||
         std::any_of(described_.begin(), described_.end(),
                     [&](const auto& kind) { return is(kind->type(), group, resource); });
}

const KindRegistry& registered_kinds() {
  return *registered();
}

void set_registered_kinds(KindRegistry::Ptr kinds) {
  registered() = std::move(kinds);
}

std::span<const KindDescriptionPtr> described_kinds() {
  return registered_kinds().described();
}

const KindDescription* find_described_kind(std::string_view group, std::string_view kind) {
  return registered_kinds().find_described(group, kind);
}

const ResourceType* find_consulted_kind(std::string_view group, std::string_view kind) {
  return registered_kinds().find_consulted(group, kind);
}

std::vector<const ResourceType*> queued_types() {
  return registered_kinds().queued_types();
}

bool is_queued_type(std::string_view group, std::string_view resource) {
  return registered_kinds().queues(group, resource);
}

std::span<const WatchedKind> watched_kinds() {
  return registered_kinds().watched();
}

}  // namespace muster
