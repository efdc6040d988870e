// The path of a value in an object of a described kind: "spec.runPolicy.suspend",
// "spec.pytorchReplicaSpecs[Worker].replicas", "status.replicaStatuses.*.active". A step in brackets is a key that can
// hold any character; "*" is each element of a list or a map.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "base/result.h"

namespace muster {

class ValuePath {
 public:
  static constexpr size_t kMostSteps = 12;
  // The maximum number of elements for a "*": later elements read as absent.
  static constexpr size_t kMostElements = 1000;

  // Leads nowhere.
  ValuePath() = default;
  // The error is a sentence about the text.
  static Result<ValuePath> parse(std::string_view text);

  bool empty() const { return steps_.empty(); }
  bool has_wildcard() const;
  const std::vector<std::string>& steps() const { return steps_; }
  const std::string& text() const { return text_; }
  FieldPath field() const { return FieldPath(text_); }

  // nullptr: a step is missing, or what stands there is no object. Not for paths with "*".
  const nlohmann::json* find(const nlohmann::json& object) const;
  nlohmann::json* find(nlohmann::json& object) const;
  // Sets the value; missing or null objects on the path are created. False, without a change, when another type is on
  // the path.
  bool set(nlohmann::json& object, nlohmann::json value) const;
  // The merge patch that sets the value.
  nlohmann::json patch(nlohmann::json value) const;
  // Every value that the path leads to, through each "*". Visiting ends when `visit` says false.
  void for_each(const nlohmann::json& object, const std::function<bool(const nlohmann::json& value)>& visit) const;

  bool operator==(const ValuePath& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::vector<std::string> steps_;
};

}  // namespace muster
