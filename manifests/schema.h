// The schemas of muster's CustomResourceDefinitions (manifests/crds), and what the API server does
// with an object by them before it asks a webhook. `muster review` uses this without a cluster. Pure.
//
// The texts of the errors are the API server's, so that both say the same of an object.
// What a schema preserves without naming it (pod templates) is not checked.
// Source: apiextensions-apiserver pkg/apiserver/schema (1.36): pruning, defaulting, listtype, validation;
// kube-openapi pkg/validation/validate.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"

namespace muster::manifests {

// A kind as one of muster's definitions describes it. The views and pointers live as long as the program.
struct DefinedKind {
  std::string_view plural;  // "clusterqueues"
  bool namespaced = false;
  std::vector<std::string> served;  // versions, as "v1beta1"

  struct Version {
    const nlohmann::json* schema = nullptr;  // openAPIV3Schema; nullptr when there is no such version
    bool has_status = false;                 // a subresource, so that writes of the rest leave it alone
  };
  Version version(std::string_view name) const;

  const nlohmann::json* definition = nullptr;
};

// The definition of "kueue.x-k8s.io" and "ClusterQueue"; nullptr when muster has none.
const DefinedKind* find_defined_kind(std::string_view group, std::string_view kind);
// Whether any of muster's definitions is of this group.
bool is_defined_group(std::string_view group);
// Every definition, ordered by name.
const std::vector<DefinedKind>& defined_kinds();

// One error for each field that the schema does not know, and so would be pruned; kubectl apply and
// kubectl create refuse such an object (fieldValidation: Strict).
FieldErrors find_unknown_fields(const nlohmann::json& schema, const nlohmann::json& object);

// Removes what is unknown, and nulls that mean nothing, and sets defaults, as the API server does.
void prune_and_default(const nlohmann::json& schema, nlohmann::json& object);

// Metadata, types, formats, bounds, patterns, enums, required fields, keys of lists, and the CEL rules
// (x-kubernetes-validations). With `old`, the stored object of the same version (null: there is none), what
// stays as it was is not complained of, and rules about changes hold.
FieldErrors check_schema(const nlohmann::json& schema, const nlohmann::json& object, const nlohmann::json& old);

}  // namespace muster::manifests
