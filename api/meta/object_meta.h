// What muster keeps of an object's metadata and conditions, typed.
// Source: apimachinery pkg/apis/meta/v1.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/owner_reference.h"
#include "api/meta/selectors.h"
#include "api/meta/time.h"
#include "base/shared_text.h"

namespace muster {

struct ObjectMeta {
  std::string ns;  // empty for cluster-scoped kinds
  std::string name;
  std::string uid;
  // Orders the versions of objects of one kind (KEP-5504); 0 when it is not a number.
  uint64_t resource_version = 0;
  int64_t generation = 0;
  Labels labels;
  Labels annotations;
  std::optional<OwnerReference> controller;
  Timestamp created;
  bool deleting = false;  // has a deletionTimestamp
  std::vector<SharedText> finalizers;

  // The value, or empty.
  std::string_view label(std::string_view key) const;
  std::string_view annotation(std::string_view key) const;
};

// "team-a/train", as people and maps know an object of one kind; "/train" without a namespace.
std::string path_of(std::string_view ns, std::string_view name);
std::string path_of(const ObjectMeta& meta);

// A metav1.Time; the zero time when it is missing or unreadable.
Timestamp time_at(const nlohmann::json& object, std::initializer_list<std::string_view> path);

// A resourceVersion as a number; 0 when it is none.
uint64_t read_version(std::string_view text);
ObjectMeta read_meta(const nlohmann::json& object);
// Of any map from string to string; values that are not strings are left out.
Labels read_string_map(const nlohmann::json& map);
// Nothing for an empty map, as Kubernetes prints it.
void put_map(nlohmann::json& object, std::string_view key, const Labels& map);

struct Condition {
  SharedText type;
  SharedText status;  // "True", "False" or "Unknown"
  SharedText reason;
  SharedText message;
  Timestamp last_transition;
  int64_t observed_generation = 0;  // 0: not said

  bool is_true() const { return status == "True"; }
  bool operator==(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;

Conditions read_conditions(const nlohmann::json& conditions);
// Only the fields that metav1.Condition has, in the list's order.
nlohmann::json to_json(const Conditions& conditions);
const Condition* find_condition(const Conditions& conditions, std::string_view type);
bool condition_is_true(const Conditions& conditions, std::string_view type);
// Sets status, reason and message; the transition time moves only when the status
// changes. Whether anything changed.
bool set_condition(Conditions& conditions, Condition condition);

}  // namespace muster
