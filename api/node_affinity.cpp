#include "api/node_affinity.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {
namespace {

using nlohmann::json;
using Operator = LabelRequirement::Operator;

std::optional<Operator> node_selector_operator(std::string_view name) {
  if (name == "In") return Operator::kIn;
  if (name == "NotIn") return Operator::kNotIn;
  if (name == "Exists") return Operator::kExists;
  if (name == "DoesNotExist") return Operator::kDoesNotExist;
  if (name == "Gt") return Operator::kGreaterThan;
  if (name == "Lt") return Operator::kLessThan;
  return std::nullopt;
}

// The list as received: a missing list is shown as null, an empty list as [].
json values_of(const json& requirement) {
  const json* values = find_path(requirement, {"values"});
  return values != nullptr && values->is_array() ? *values : json();
}

}  // namespace

RequiredNodeAffinity::RequiredNodeAffinity(const json& pod_spec) {
  for (const auto& [key, value] : object_at(pod_spec, {"nodeSelector"}).items()) {
    if (const auto* text = value.get_ptr<const std::string*>()) node_selector_.emplace(key, *text);
  }
  const json* required =
      find_path(pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (required == nullptr || required->is_null()) return;
  terms_.emplace();
  const FieldPath path("nodeSelectorTerms");
  const json& terms = array_at(*required, {"nodeSelectorTerms"});
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool empty = array_at(terms[i], {"matchExpressions"}).empty() && array_at(terms[i], {"matchFields"}).empty();
    has_empty_term_ |= empty;
    if (!empty) terms_->push_back(parse_term(terms[i], path.index(i)));
  }
}

RequiredNodeAffinity::Term RequiredNodeAffinity::parse_term(const json& source, const FieldPath& path) {
  Term term;
  const json& expressions = array_at(source, {"matchExpressions"});
  for (size_t i = 0; i < expressions.size(); ++i) {
    const FieldPath at = path.child("matchExpressions").index(i);
    const std::string name(string_at(expressions[i], {"operator"}));
    const std::optional<Operator> op = node_selector_operator(name);
    if (!op) {
      term.errors.push_back(
          not_supported(at.child("operator"), name, {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}));
      continue;
    }
    auto requirement =
        make_requirement(std::string(string_at(expressions[i], {"key"})), *op, values_of(expressions[i]), at);
    if (requirement) {
      term.labels.push_back(std::move(requirement).value());
    } else {
      append(term.errors, requirement.error());
    }
  }
  const json& fields = array_at(source, {"matchFields"});
  for (size_t i = 0; i < fields.size(); ++i) {
    const FieldPath at = path.child("matchFields").index(i);
    const std::string name(string_at(fields[i], {"operator"}));
    const json values = values_of(fields[i]);
    if (name != "In" && name != "NotIn") {
      term.errors.push_back(not_supported(at.child("operator"), name, {"In", "NotIn"}));
    } else if (values.size() != 1 || !values[0].is_string()) {
      term.errors.push_back(invalid(at.child("values"), values, "must have one element"));
    } else {
      term.fields.push_back({std::string(string_at(fields[i], {"key"})), name == "In", values[0].get<std::string>()});
    }
  }
  return term;
}

bool RequiredNodeAffinity::matches(const Term& term, std::string_view node_name, const Labels& node_labels) {
  const bool labels_match = std::all_of(term.labels.begin(), term.labels.end(),
                                        [&](const LabelRequirement& r) { return r.matches(node_labels); });
  if (!labels_match || node_name.empty()) return labels_match;
  // The name is the only field that nodes have here; every other field is empty.
  return std::all_of(term.fields.begin(), term.fields.end(), [&](const FieldRequirement& r) {
    return ((r.key == "metadata.name" ? node_name : std::string_view()) == r.value) == r.equal;
  });
}

Result<bool> RequiredNodeAffinity::matches(std::string_view node_name, const Labels& node_labels) const {
  for (const auto& [key, value] : node_selector_) {
    const auto it = node_labels.find(key);
    if (it == node_labels.end() || it->second != value) return false;
  }
  if (!terms_) return true;
  FieldErrors errors;
  for (const Term& term : *terms_) {
    if (!term.errors.empty()) {
      append(errors, term.errors);
    } else if (matches(term, node_name, node_labels)) {
      return true;
    }
  }
  if (!errors.empty()) return fail(aggregate_text(errors));
  return false;
}

bool RequiredNodeAffinity::matches_known(const Labels& flavor_labels) const {
  for (const auto& [key, value] : node_selector_) {
    const auto it = flavor_labels.find(key);
    if (it != flavor_labels.end() && it->second != value) return false;
  }
  if (!terms_ || terms_->empty() || has_empty_term_) return true;
  bool any = false;
  for (const Term& term : *terms_) {
    bool empty = term.errors.empty(), matched = term.errors.empty();
    for (const LabelRequirement& requirement : term.labels) {
      if (!flavor_labels.contains(requirement.key)) continue;
      empty = false;
      matched &= requirement.matches(flavor_labels);
    }
    if (empty) return true;
    any |= matched;
  }
  return any;
}

}  // namespace muster
