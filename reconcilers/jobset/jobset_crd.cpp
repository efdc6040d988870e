#include "reconcilers/jobset/jobset_crd.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "base/invariant.h"
#include "jobs/edit.h"
#include "manifests/embedded.h"
#include "manifests/names.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

constexpr std::string_view kField = "groupSchedulingConfig";
constexpr std::string_view kRules = "x-kubernetes-validations";

bool is_about_field(const json& rule) {
  return string_at(rule, {"rule"}).find(kField) != std::string_view::npos;
}

json::iterator find_version(json& versions) {
  return std::find_if(versions.begin(), versions.end(),
                      [](const json& version) { return string_at(version, {"name"}) == kJobSets.version; });
}

// spec's schema in a version of the CRD; nullptr when it has another shape.
json* spec_schema(json& version) {
  json* at = &version;
  for (const char* step : {"schema", "openAPIV3Schema", "properties", "spec"}) {
    if (!at->is_object()) return nullptr;
    const auto next = at->find(step);
    if (next == at->end()) return nullptr;
    at = &*next;
  }
  return at->is_object() ? at : nullptr;
}

// The field and the rules about it, as muster's own CRD has them.
struct FieldDefinition {
  json schema;
  json rules = json::array();
};

FieldDefinition read_own_definition() {
  const auto files = manifests::manifests_files();
  const auto file =
      std::find_if(files.begin(), files.end(), [](const EmbeddedFile& f) { return f.path == "crds/jobset.yaml"; });
  check_invariant(file != files.end(), "muster knows its own definition of JobSets");
  auto documents = read_yaml(file->text);
  check_invariant(documents.ok(), "muster's own definition of JobSets is YAML");
  json& versions = documents->front().value["spec"]["versions"];
  json& spec = *spec_schema(*find_version(versions));
  FieldDefinition definition{spec["properties"][std::string(kField)]};
  for (const json& rule : spec[std::string(kRules)]) {
    if (is_about_field(rule)) definition.rules.push_back(rule);
  }
  return definition;
}

const FieldDefinition& own_definition() {
  static const FieldDefinition definition = read_own_definition();
  return definition;
}

// Whether anything had to be changed.
bool add_field(json& spec) {
  const FieldDefinition& wanted = own_definition();
  json rules = json::array(), present = json::array();
  for (const json& rule : array_at(spec, {kRules})) (is_about_field(rule) ? present : rules).push_back(rule);
  // Another shape is not a schema that the API server would have accepted.
  json* properties = jobs::make_object(spec, {"properties"});
  if (properties == nullptr) return false;
  json& field = (*properties)[std::string(kField)];
  if (field == wanted.schema && present == wanted.rules) return false;
  field = wanted.schema;
  rules.insert(rules.end(), wanted.rules.begin(), wanted.rules.end());
  spec[std::string(kRules)] = std::move(rules);
  return true;
}

// metadata.managedFields without muster's ownership of fields of spec; nullopt: muster owns none.
std::optional<json> without_own_spec(const json& crd) {
  json entries = array_at(crd, {"metadata", "managedFields"});
  bool changed = false;
  for (json& entry : entries) {
    if (string_at(entry, {"manager"}) != manifests::kAppName) continue;
    if (!object_at(entry, {"fieldsV1"}).contains("f:spec")) continue;
    entry["fieldsV1"].erase("f:spec");
    changed = true;
  }
  if (!changed) return std::nullopt;
  // No entry is without fields. A list without entries would mean to the API server: as before.
  std::erase_if(entries.get_ref<json::array_t&>(), [](const json& entry) {
    return string_at(entry, {"manager"}) == manifests::kAppName && object_at(entry, {"fieldsV1"}).empty();
  });
  if (entries.empty()) return std::nullopt;
  return entries;
}

ObjectEvent event_of_field(const PlainObject& crd, bool lost) {
  if (!lost)
    return event_about(kCustomResourceDefinitions, crd.meta, EventReason::kGroupSchedulingFieldAdded,
                       "muster has added spec.groupSchedulingConfig, so that JobSets can start as a group");
  return event_about(kCustomResourceDefinitions, crd.meta, EventReason::kGroupSchedulingFieldLost,
                     "another version of this definition removed spec.groupSchedulingConfig, and muster restored the "
                     "field. JobSets created in between do not start as a group; earlier JobSets are not affected");
}

ObjectEvent event_of_stop(const PlainObject& crd) {
  return event_about(
      kCustomResourceDefinitions, crd.meta, EventReason::kForeignJobSetDefinition,
      "this definition is not muster's any more, so muster, which was the JobSet controller here, leaves JobSets "
      "alone; restart muster to let it stand beside the other controller, or apply muster's definition again (muster "
      "manifests --only crds)");
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const ReconcilerSettings& settings = context.settings;
  if (!definition_is_foreign(context.state)) return plan;
  const PlainObject* crd = context.state.find<PlainObject>(kCustomResourceDefinitions, key.ns, key.name);
  if (settings.queues.rules.runs_jobsets()) plan.events.push_back(event_of_stop(*crd));
  if (crd->meta.deleting || settings.queues.rules.runs_jobsets() || !settings.patch_jobset_crd) return plan;
  json versions = array_at(*crd->object, {"spec", "versions"});
  const auto version = find_version(versions);
  json* spec = version == versions.end() ? nullptr : spec_schema(*version);
  if (spec == nullptr) return plan;
  if (!add_field(*spec)) {
    if (auto entries = without_own_spec(*crd->object)) {
      plan.writes.push_back(
          {.verb = Verb::kPatch,
           .target = key,
           .body = with_version(crd->meta, {{"metadata", {{"managedFields", std::move(*entries)}}}})});
    }
    return plan;
  }

  const bool lost = !crd->meta.annotation(kGroupFieldAnnotation).empty();
  plan.writes.push_back(
      {.verb = Verb::kPatch,
       .target = key,
       .body = with_version(crd->meta, {{"metadata", {{"annotations", {{kGroupFieldAnnotation, "v1"}}}}},
                                        {"spec", {{"versions", std::move(versions)}}}}),
       .events = {event_of_field(*crd, lost)}});
  return plan;
}

void requests_for(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (type_of(object) == kCustomResourceDefinitions && meta_of(object).name == manifests::kJobSetDefinitionName)
    keys.push_back(key_of(object));
}

constexpr const ResourceType* kKinds[] = {&kCustomResourceDefinitions};

}  // namespace

bool definition_is_foreign(const state::ClusterState& state) {
  const PlainObject* crd = state.find<PlainObject>(kCustomResourceDefinitions, "", manifests::kJobSetDefinitionName);
  return crd != nullptr && crd->meta.label(manifests::kAppNameLabel) != manifests::kAppName;
}

const Reconciler jobset_crd_reconciler = {
    .name = "jobset_crd", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
