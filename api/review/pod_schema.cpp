#include "api/review/pod_schema.h"

#include <cassert>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/json.h"
#include "api/embedded.h"

namespace muster {
namespace {

using nlohmann::json;

enum class Kind { kString, kBoolean, kInt32, kInt64, kQuantity, kIntOrString, kAny, kObject };

struct Type;
struct Field {
  Kind kind = Kind::kAny;
  enum class Container { kOne, kList, kMap } container = Container::kOne;
  const Type* object = nullptr;  // for kObject
};
struct Type {
  std::map<std::string, Field, std::less<>> fields;
};

struct Schema {
  std::map<std::string, Type, std::less<>> types;
};

Field read_field(std::string_view text, const std::map<std::string, Type, std::less<>>& types) {
  static const std::map<std::string_view, Kind> kKinds = {
      {"string", Kind::kString}, {"boolean", Kind::kBoolean},   {"int32", Kind::kInt32},
      {"int64", Kind::kInt64},   {"quantity", Kind::kQuantity}, {"intOrString", Kind::kIntOrString},
      {"any", Kind::kAny}};
  Field field;
  if (text.starts_with("[]")) field.container = Field::Container::kList;
  if (text.starts_with("{}")) field.container = Field::Container::kMap;
  if (field.container != Field::Container::kOne) text.remove_prefix(2);
  if (const auto known = kKinds.find(text); known != kKinds.end()) {
    field.kind = known->second;
    return field;
  }
  const auto type = types.find(text);
  assert(type != types.end());
  field.kind = Kind::kObject;
  field.object = &type->second;
  return field;
}

// The file is part of the program: if it cannot be read, the build is broken.
const Schema& schema() {
  static const Schema kSchema = [] {
    const auto file = parse_json(api_files().front().text);
    assert(file.ok());
    Schema read;
    const json& types = object_at(*file, {"types"});
    for (auto it = types.begin(); it != types.end(); ++it) read.types[it.key()];
    for (auto it = types.begin(); it != types.end(); ++it) {
      for (auto field = it->begin(); field != it->end(); ++field)
        read.types[it.key()].fields[field.key()] = read_field(field->get_ref<const std::string&>(), read.types);
    }
    return read;
  }();
  return kSchema;
}

bool is(Kind kind, const json& value) {
  const bool whole = value.is_number() && int_at(value, {}).has_value();
  switch (kind) {
    case Kind::kString:
      return value.is_string();
    case Kind::kBoolean:
      return value.is_boolean();
    case Kind::kInt64:
      return whole;
    case Kind::kInt32:
      return whole && *int_at(value, {}) >= std::numeric_limits<int32_t>::min() &&
             *int_at(value, {}) <= std::numeric_limits<int32_t>::max();
    case Kind::kQuantity:
      return value.is_string() || value.is_number();
    case Kind::kIntOrString:
      return value.is_string() || is(Kind::kInt32, value);
    case Kind::kObject:
      return value.is_object();
    case Kind::kAny:
      return true;
  }
  return false;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kString:
      return "a string";
    case Kind::kBoolean:
      return "true or false";
    case Kind::kInt64:
      return "a whole number";
    case Kind::kInt32:
      return "a whole number of 32 bits";
    case Kind::kQuantity:
      return "a quantity, as \"500m\" or 2";
    case Kind::kIntOrString:
      return "a whole number or a string";
    case Kind::kObject:
    case Kind::kAny:
      break;
  }
  return "an object";
}

// The place of a value, as a list of steps up to the root: a path is written only for a value with an error.
struct Place {
  const Place* above = nullptr;
  std::string_view key{};  // of an object's field, or of a map's entry
  size_t index = 0;        // of a list's element
  enum class Step { kRoot, kField, kEntry, kElement } step = Step::kRoot;
};

FieldPath path_of(const Place& place, const FieldPath& root) {
  if (place.step == Place::Step::kRoot) return root;
  const FieldPath above = path_of(*place.above, root);
  if (place.step == Place::Step::kElement) return above.index(place.index);
  return place.step == Place::Step::kEntry ? above.key(place.key) : above.child(place.key);
}

class Walk {
 public:
  Walk(const FieldPath& root, SchemaFindings& found) : root_(root), found_(found) {}

  void object(const Type& type, const json& value, const Place& place) {
    for (auto it = value.begin(); it != value.end(); ++it) {
      const Place here{.above = &place, .key = it.key(), .step = Place::Step::kField};
      if (const auto known = type.fields.find(it.key()); known != type.fields.end())
        field(known->second, *it, here);
      else
        unknown(here);
    }
  }
  void one(const Field& of, const json& value, const Place& place) {
    if (value.is_null()) return;
    if (!is(of.kind, value)) return wrong(value, name_of(of.kind), place);
    if (of.object != nullptr) object(*of.object, value, place);
  }

 private:
  void field(const Field& of, const json& value, const Place& place) {
    if (value.is_null()) return;
    if (of.container == Field::Container::kOne) return one(of, value, place);
    if (of.container == Field::Container::kList) {
      if (!value.is_array()) return wrong(value, "a list", place);
      for (size_t i = 0; i < value.size(); ++i)
        one(of, value[i], {.above = &place, .index = i, .step = Place::Step::kElement});
      return;
    }
    if (!value.is_object()) return wrong(value, "an object", place);
    for (auto it = value.begin(); it != value.end(); ++it)
      one(of, *it, {.above = &place, .key = it.key(), .step = Place::Step::kEntry});
  }
  void wrong(const json& value, std::string_view what, const Place& place) {
    if (found_.errors.size() == kMostFindings) return void(++found_.more_errors);
    found_.errors.push_back(type_invalid(path_of(place, root_), value, "must be " + std::string(what)));
  }
  void unknown(const Place& place) {
    if (found_.unknown.size() == kMostFindings) return void(++found_.more_unknown);
    found_.unknown.push_back(path_of(place, root_).text());
  }

  const FieldPath& root_;
  SchemaFindings& found_;
};

}  // namespace

void check_template(std::string_view type, const json& value, const FieldPath& path, SchemaFindings& findings) {
  const auto known = schema().types.find(type);
  assert(known != schema().types.end());
  Walk(path, findings).one({.kind = Kind::kObject, .object = &known->second}, value, {});
}

}  // namespace muster
