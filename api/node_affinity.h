// Which nodes a pod can run on: spec.nodeSelector and the required terms of
// spec.affinity.nodeAffinity, evaluated as kube-scheduler does (component-helpers
// scheduling/corev1/nodeaffinity). Preferences are not considered.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/selectors.h"

namespace muster {

class RequiredNodeAffinity {
 public:
  // From a PodSpec. A term that is malformed is kept with its errors: it matches
  // nothing, and is only complained about if no other term matches.
  explicit RequiredNodeAffinity(const nlohmann::json& pod_spec);

  // Whether the pod can run on a node of this name with these labels. The terms are
  // ORed, what is in one term is ANDed; an empty term matches nothing. A node without
  // a name passes every condition on metadata.name.
  Result<bool> matches(std::string_view node_name, const Labels& node_labels) const;

  // The same for a flavor, which says only some of the labels that its nodes have:
  // conditions on other labels, and on names, are ignored. A term that this leaves empty
  // allows every flavor (then only the selector counts). Malformed conditions match nothing.
  bool matches_known(const Labels& flavor_labels) const;

 private:
  struct FieldRequirement {
    std::string key;
    bool equal;
    std::string value;
  };
  struct Term {
    std::vector<LabelRequirement> labels;
    std::vector<FieldRequirement> fields;
    FieldErrors errors;
  };
  static Term parse_term(const nlohmann::json& term, const FieldPath& path);
  static bool matches(const Term& term, std::string_view node_name, const Labels& node_labels);

  Labels node_selector_;
  std::optional<std::vector<Term>> terms_;  // nullopt: no required affinity
  bool has_empty_term_ = false;             // one of them, which is left out of terms_
};

}  // namespace muster
