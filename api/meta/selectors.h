// Label selectors as Kubernetes evaluates them (apimachinery pkg/labels).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "base/result.h"

namespace muster {

using Labels = std::map<std::string, std::string, std::less<>>;

// metadata.labels of an object; values that are not strings are left out.
Labels labels_of(const nlohmann::json& object);

// One condition on one label. Gt and Lt compare 64-bit integers and do not match
// what is none; they exist in node affinity only.
struct LabelRequirement {
  enum class Operator { kEquals, kIn, kNotIn, kExists, kDoesNotExist, kGreaterThan, kLessThan };

  std::string key;
  Operator op;
  std::vector<std::string> values;  // sorted

  bool matches(const Labels& labels) const;
  // "a=b", "a in (b,c)", "a notin (b)", "a", "!a", "a>1", "a<1".
  std::string text() const;
};

// Checks key and values as labels.NewRequirement does. `values` is the JSON array
// as given (its type decides how an error shows it: null, [] or a list); `field` is
// the path of the requirement, "" when there is none.
Result<LabelRequirement, FieldErrors> make_requirement(std::string key, LabelRequirement::Operator op,
                                                       const nlohmann::json& values, const std::string& field);

// Several errors as Kubernetes prints an aggregate: "a", or "[a, b]" without repetitions.
std::string aggregate_text(const FieldErrors& errors);

// A metav1.LabelSelector. No selector (null) matches nothing, an empty one
// matches everything; NotIn matches a missing key.
class LabelSelector {
 public:
  using Operator = LabelRequirement::Operator;
  using Requirement = LabelRequirement;

  // Matches nothing.
  LabelSelector() = default;
  static LabelSelector everything();

  // From its JSON form; null gives the one that matches nothing. The error is
  // worded as Kubernetes words it; of several wrong requirements it names the first
  // (labels before expressions, labels in alphabetic order).
  static Result<LabelSelector> parse(const nlohmann::json& selector);

  bool matches(const Labels& labels) const;
  bool matches_nothing() const { return nothing_; }
  bool empty() const { return !nothing_ && requirements_.empty(); }
  // Text form, by key: "a=b,c in (d,e),!f"; empty for both nothing and everything.
  std::string text() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  bool nothing_ = true;
  std::vector<Requirement> requirements_;
};

}  // namespace muster
