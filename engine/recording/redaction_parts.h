// The parts of a redaction: how one field of an object is kept or closed. Internal to engine/recording; redaction.h is
// what others use. Each function takes the value of a field and returns what the recording has in its place.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "engine/recording/redaction.h"

namespace muster::recording::parts {

using nlohmann::json;

// Nothing deeper is kept.
inline constexpr int kDeepest = 500;

struct Walk {
  const Close& close;
  int depth = 0;

  Walk deeper() const { return {close, depth + 1}; }
};
using Part = json (*)(const json& value, const Walk& walk);
struct Member {
  std::string_view key;
  Part part;
};

// Strings are replaced; numbers, booleans and keys are kept.
json closed(const json& value, const Walk& walk);
// Kept as it is.
json open(const json& value, const Walk& walk);
Part part_of(std::span<const Member> table, std::string_view key, Part others);
// A struct: the members of the table as it says, every other one by `others`.
json struct_of(const json& value, const Walk& walk, std::span<const Member> table, Part others = closed);

template <Part part>
json each(const json& value, const Walk& walk) {
  if (!value.is_array() || walk.depth > kDeepest) return closed(value, walk);
  json kept = json::array();
  for (const json& item : value) kept.push_back(part(item, walk.deeper()));
  return kept;
}

json labels(const json& value, const Walk& walk);
json annotations(const json& value, const Walk& walk);
json meta(const json& value, const Walk& walk);
// Of objects of administrators: selectors of queues use any label.
json admin_meta(const json& value, const Walk& walk);

json container(const json& value, const Walk& walk);
json pod_spec(const json& value, const Walk& walk);
json pod_template(const json& value, const Walk& walk);
json pod_status(const json& value, const Walk& walk);

// The spec of a job of a described kind (kinds/).
json described(const json& value, const Walk& walk);

}  // namespace muster::recording::parts
