#include "kinds/kind_schema.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kEach = "*";

// The schema does not describe the levels below: every field is possible.
bool takes_anything(const json& schema) {
  if (bool_at(schema, {"x-kubernetes-preserve-unknown-fields"}) ||
      bool_at(schema, {"x-kubernetes-embedded-resource"}) || bool_at(schema, {"x-kubernetes-int-or-string"}))
    return true;
  return string_at(schema, {"type"}).empty() && object_at(schema, {"properties"}).empty();
}

const json* element_of(const json& schema) {
  if (const json* items = find_path(schema, {"items"})) return items;
  const json* values = find_path(schema, {"additionalProperties"});
  return values != nullptr && values->is_object() ? values : nullptr;
}

class Comparison {
 public:
  Comparison(const KindDescription& kind, const json& schema, std::string name)
      : kind_(kind), schema_(schema), name_(std::move(name)) {}

  FieldErrors run() {
    check(kind_.suspend, "suspend", "boolean");
    check(kind_.managed_by, "managedBy", "string");
    for (size_t i = 0; i < kind_.pod_sets.size(); ++i) check(kind_.pod_sets[i], FieldPath("podSets").index(i));
    for (size_t i = 0; i < kind_.priority_classes.size(); ++i)
      check(kind_.priority_classes[i], FieldPath("priorityClass").index(i).text(), "string");
    check(kind_.active, FieldPath("active"));
    check(kind_.ready, FieldPath("ready"));
    check(kind_.on_hold, FieldPath("onHold"));
    check(kind_.left_alone, FieldPath("leftAlone"));
    for (size_t i = 0; i < kind_.ends.size(); ++i) check(kind_.ends[i], FieldPath("ends").index(i));
    return std::move(errors_);
  }

 private:
  // nullptr: every field is possible, or an error was reported.
  const json* walk(const json& from, const ValuePath& path, const std::string& before, const std::string& field) {
    const json* place = &from;
    std::string way = before;
    for (const std::string& step : path.steps()) {
      if (takes_anything(*place)) return nullptr;
      const json* next = step == kEach ? element_of(*place) : find_path(*place, {"properties", step});
      if (next == nullptr && step == kEach && !object_at(*place, {"properties"}).empty()) return nullptr;
      if (next == nullptr && step != kEach && string_at(*place, {"type"}) == "object") next = element_of(*place);
      if (next == nullptr && bool_at(*place, {"additionalProperties"})) return nullptr;
      way += (way.empty() ? "" : ".") + step;
      if (next == nullptr) {
        errors_.push_back(invalid(field, path.text(), name_ + " has no " + way + " in its schema of " + kind_.version));
        return nullptr;
      }
      place = next;
    }
    return place;
  }

  void check(const ValuePath& path, const std::string& field, std::string_view type, const json* from = nullptr,
             const std::string& before = "") {
    // metadata is the API server's own.
    if (path.empty() || (from == nullptr && path.steps().front() == "metadata")) return;
    const json* place = walk(from == nullptr ? schema_ : *from, path, before, field);
    const std::string_view found = place == nullptr ? std::string_view() : string_at(*place, {"type"});
    if (place == nullptr || type.empty() || takes_anything(*place) || found == type) return;
    errors_.push_back(
        invalid(field, path.text(),
                "is of type " + std::string(found) + " in the schema of " + name_ + ", not " + std::string(type)));
  }

  void check(const PodSetSource& source, const FieldPath& field) {
    const json* place = walk(schema_, source.path, "", field.child(source.each ? "each" : "path"));
    if (source.when) check(*source.when, field.child("when"));
    if (place == nullptr || takes_anything(*place)) return;
    std::string before = source.path.text();
    if (source.each) {
      const json* element = find_path(*place, {"items"});
      if (element == nullptr) {
        errors_.push_back(invalid(field.child("each"), source.path.text(), "is no list in the schema of " + name_));
        return;
      }
      place = element;
      before += "[]";
    }
    check(source.name_path, field.child("namePath"), "string", place, before);
    check(source.pod_template, field.child("template"), "object", place, before);
    for (size_t i = 0; i < source.counts.size(); ++i)
      check(source.counts[i].path, field.child("count").index(i).text(), "integer", place, before);
  }

  void check(const Predicate& test, const FieldPath& field) {
    if (test.kind == Predicate::Kind::kCondition) {
      static const ValuePath conditions = *ValuePath::parse("status.conditions");
      check(conditions, field.child("condition"), "array");
    } else if (!test.path.empty()) {
      check(test.path, field.child("path"), "");
    }
    for (const Predicate& part : test.parts) check(part, field);
  }

  void check(const EndRule& rule, const FieldPath& field) {
    check(rule.when, field.child("when"));
    check(rule.succeeded, field.child("succeeded"));
    check(rule.message, field.child("message"), "string");
  }

  const KindDescription& kind_;
  const json& schema_;
  const std::string name_;
  FieldErrors errors_;
};

}  // namespace

FieldErrors contradictions(const KindDescription& kind, const json& definition) {
  const std::string name = "CustomResourceDefinition " + kind.plural + "." + kind.group;
  if (string_at(definition, {"spec", "names", "kind"}) != kind.kind)
    return {invalid("kindName", kind.kind,
                    name + " is of kind " + std::string(string_at(definition, {"spec", "names", "kind"})))};
  if (string_at(definition, {"spec", "scope"}) != "Namespaced")
    return {forbidden("resource", name + " is not namespaced, and only namespaces have queues")};
  for (const json& version : array_at(definition, {"spec", "versions"})) {
    if (string_at(version, {"name"}) != kind.version || !bool_at(version, {"served"})) continue;
    return Comparison(kind, object_at(version, {"schema", "openAPIV3Schema"}), name).run();
  }
  return {invalid("version", kind.version, name + " does not serve this version")};
}

}  // namespace muster
