// The hash is stored in names of pod sets, and a group can have pods of both controllers during a move from one
// to the other. So the hash must use the same bytes. These are JSON as Go prints its structs: members in the
// order of their declaration, quantities in canonical form, without the empty values that a struct omits.
#include <nlohmann/json.hpp>
#include <span>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/quantity.h"
#include "api/pods/pod_shape.h"
#include "api/pods/queued_pod.h"
#include "base/encoding.h"

namespace muster {
namespace {

using nlohmann::json;
using Ordered = nlohmann::ordered_json;

// The order of members where it is not alphabetic, by a member that only this struct has.
// Source: k8s.io/api/core/v1 types.
constexpr std::string_view kToleration[] = {"key", "operator", "value", "effect", "tolerationSeconds"};
constexpr std::string_view kExpression[] = {"key", "operator", "values"};
constexpr std::string_view kPort[] = {"name", "hostPort", "containerPort", "protocol", "hostIP"};
constexpr std::string_view kSpread[] = {"maxSkew",    "topologyKey",        "whenUnsatisfiable", "labelSelector",
                                        "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy",  "matchLabelKeys"};
constexpr std::string_view kClaim[] = {"name", "resourceClaimName", "resourceClaimTemplateName"};
constexpr std::string_view kSelector[] = {"matchLabels", "matchExpressions"};
constexpr std::string_view kRequirements[] = {"requiredDuringSchedulingIgnoredDuringExecution",
                                              "preferredDuringSchedulingIgnoredDuringExecution"};
constexpr std::string_view kTerm[] = {"matchExpressions", "matchFields"};
constexpr std::string_view kWeighted[] = {"weight", "preference", "podAffinityTerm"};
constexpr std::string_view kPodTerm[] = {"labelSelector",     "namespaces",     "topologyKey",
                                         "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys"};
constexpr std::string_view kAffinity[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
constexpr std::string_view kNodeTerms[] = {"nodeSelectorTerms"};

// Maps have their keys in alphabetic order, as nlohmann's objects have.
Ordered as_map(const json& map) {
  return Ordered(map);
}

// The empty values that a struct with "omit empty" does not print.
bool is_left_out(const json& value) {
  return value.is_null() || (value.is_structured() && value.empty()) || value == "" || value == false;
}

using Print = Ordered (*)(const json& value);

Ordered list_of(const json& list, Print print) {
  if (!list.is_array()) return nullptr;
  Ordered printed = Ordered::array();
  for (const json& item : list) printed.push_back(print(item));
  return printed;
}

Ordered plain(const json& value) {
  return Ordered(value);
}

// Of a struct: members in order, each printed by `member`.
Ordered in_order(const json& object, std::span<const std::string_view> order,
                 Ordered (*member)(std::string_view key, const json& value)) {
  if (!object.is_object()) return nullptr;
  Ordered printed = Ordered::object();
  for (std::string_view key : order) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) continue;
    if (is_left_out(*found) && key != "key" && key != "operator") continue;
    printed[std::string(key)] = member(key, *found);
  }
  return printed;
}

Ordered plain_member(std::string_view, const json& value) {
  return plain(value);
}
Ordered print_toleration(const json& value) {
  return in_order(value, kToleration, plain_member);
}
Ordered print_expression(const json& value) {
  return in_order(value, kExpression, plain_member);
}
Ordered print_claim(const json& value) {
  return in_order(value, kClaim, plain_member);
}
Ordered print_port(const json& value) {
  return in_order(value, kPort, plain_member);
}

Ordered selector_member(std::string_view key, const json& value) {
  return key == "matchLabels" ? as_map(value) : list_of(value, print_expression);
}
Ordered print_selector(const json& value) {
  // An empty selector is different from a missing selector.
  return value.is_object() && value.empty() ? Ordered::object() : in_order(value, kSelector, selector_member);
}

Ordered spread_member(std::string_view key, const json& value) {
  return key == "labelSelector" ? print_selector(value) : plain(value);
}
Ordered print_spread(const json& value) {
  return in_order(value, kSpread, spread_member);
}

Ordered term_member(std::string_view, const json& value) {
  return list_of(value, print_expression);
}
Ordered print_term(const json& value) {
  return in_order(value, kTerm, term_member);
}

Ordered pod_term_member(std::string_view key, const json& value) {
  return key == "labelSelector" || key == "namespaceSelector" ? print_selector(value) : plain(value);
}
Ordered print_pod_term(const json& value) {
  return in_order(value, kPodTerm, pod_term_member);
}

Ordered weighted_member(std::string_view key, const json& value) {
  if (key == "preference") return print_term(value);
  return key == "podAffinityTerm" ? print_pod_term(value) : plain(value);
}
Ordered print_weighted(const json& value) {
  return in_order(value, kWeighted, weighted_member);
}

Ordered node_terms_member(std::string_view, const json& value) {
  return list_of(value, print_term);
}

Ordered requirements_member(std::string_view key, const json& value) {
  if (key == kRequirements[1]) return list_of(value, print_weighted);
  return value.is_array() ? list_of(value, print_pod_term) : in_order(value, kNodeTerms, node_terms_member);
}

Ordered affinity_member(std::string_view, const json& value) {
  return in_order(value, kRequirements, requirements_member);
}

Ordered quantities(const json& list) {
  if (!list.is_object()) return nullptr;
  Ordered printed = Ordered::object();
  for (const auto& [name, value] : list.items()) {
    const auto quantity = Quantity::from_json(value);
    printed[name] = quantity ? Ordered(quantity->to_json()) : plain(value);
  }
  return printed;
}

const json& member_of(const json& object, std::string_view key) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNull : *found;
}

Ordered container_shape(const json& container) {
  return {{"ports", list_of(member_of(container, "ports"), print_port)},
          {"resources", {{"requests", quantities(member_of(member_of(container, "resources"), "requests"))}}}};
}

Ordered containers_shape(const json& list) {
  return list.is_array() && list.empty() ? Ordered() : list_of(list, container_shape);
}

// encoding/json writes these three as escapes.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "\\u003c";
    else if (c == '>')
      result += "\\u003e";
    else if (c == '&')
      result += "\\u0026";
    else
      result += c;
  }
  return result;
}

}  // namespace

Ordered pod_shape(const json& spec) {
  const auto of = [&](std::string_view key) -> const json& { return member_of(spec, key); };
  Ordered shape = {{"affinity", in_order(of("affinity"), kAffinity, affinity_member)},
                   {"containers", containers_shape(of("containers"))},
                   {"initContainers", containers_shape(of("initContainers"))},
                   {"nodeSelector", as_map(of("nodeSelector"))},
                   {"overhead", quantities(of("overhead"))},
                   {"priority", plain(of("priority"))},
                   {"resourceClaims", list_of(of("resourceClaims"), print_claim)}};
  if (of("resources").is_object()) shape["resources"] = quantities(member_of(of("resources"), "requests"));
  shape["runtimeClassName"] = plain(of("runtimeClassName"));
  shape["tolerations"] = list_of(of("tolerations"), print_toleration);
  shape["topologySpreadConstraints"] = list_of(of("topologySpreadConstraints"), print_spread);
  return shape;
}

std::string shape_hash(const json& spec) {
  const Ordered whole = {{"spec", pod_shape(spec)}};
  return sha256_hex(escaped(whole.dump(-1, ' ', false, json::error_handler_t::replace))).substr(0, 8);
}

std::string role_of(const json& pod) {
  if (const auto given = annotation(pod, kRoleHashAnnotation)) return std::string(*given);
  return shape_hash(object_at(pod, {"spec"}));
}

}  // namespace muster
