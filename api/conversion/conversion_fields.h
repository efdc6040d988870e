// Shared code of the conversions: edits of fields of a JSON object in place, with the rules of Go's encoding
// (omitempty, zero values). No function fails: a field of an unexpected type is not changed, since schemas refuse
// those.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "api/conversion/conversion.h"

namespace muster::conversion {

using Fields = nlohmann::json::object_t;

// nullptr when the field is missing or no object.
Fields* object_at(Fields& fields, std::string_view key);
// The same, but a missing or null field becomes an empty object first.
Fields* made_object(Fields& fields, std::string_view key);
// Gives a missing field this value.
void fill(Fields& fields, std::string_view key, nlohmann::json zero);
void drop(Fields& fields, std::initializer_list<std::string_view> keys);
// Drops those that are null, "", [] or {}.
void drop_empty(Fields& fields, std::initializer_list<std::string_view> keys);
// Moves a value; what `to` held before is lost, also when there is nothing to move.
void rename(Fields& fields, std::string_view from, std::string_view to);
// Takes a value out; null when there is none.
nlohmann::json take(Fields& fields, std::string_view key);
// A quantity as Kubernetes prints it: 0.5 becomes "500m". What is no quantity stays.
void canonical_quantity(nlohmann::json& value);
void canonical_quantity(Fields& fields, std::string_view key);
// metav1.Condition leaves an observedGeneration of 0 out.
void convert_conditions(Fields& status);

// Edits the objects of a list; null counts as an empty one.
template <class Edit>
void for_each_object(Fields& fields, std::string_view key, Edit&& edit) {
  const auto found = fields.find(key);
  if (found == fields.end() || !found->second.is_array()) return;
  for (nlohmann::json& item : found->second) {
    if (item.is_null()) item = nlohmann::json::object();
    if (auto* object = item.get_ptr<Fields*>()) edit(*object);
  }
}

// One per kind. `spec` and `status` are there.
Outcome<> convert_local_queue(Fields& spec, Fields& status, QueueVersion to);
Outcome<> convert_cluster_queue(Fields& spec, Fields& status, QueueVersion to);
Outcome<> convert_cohort(Fields& spec, Fields& status, QueueVersion to);
Outcome<> convert_workload(Fields& spec, Fields& status, QueueVersion to, ConversionBudget& budget);

// A topologyAssignment's list of domains (v1beta1) and its compact form, slices (v1beta2).
Outcome<> convert_topology(Fields& assignment, QueueVersion to, ConversionBudget& budget);

}  // namespace muster::conversion
