// What an API server with muster does with one manifest: schema, conversion, mutating and validating
// webhook. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "api/review/review.h"
#include "commands/review/review_finding.h"
#include "kinds/unqueued_kinds.h"

namespace muster::commands {

// One manifest and what is done with it.
struct JudgedRequest {
  nlohmann::json object;      // as it is written
  nlohmann::json old_object;  // as it is stored; null but for UPDATE
  Operation operation = Operation::kCreate;
  std::string user{};
  size_t position = 0;  // among all; makes the uid
};

// `allowed`, `findings` (without lines), `printed` and `patch` of the outcome. The object that is printed is
// the one that would be stored: v1beta1 is converted to v1beta2, unknown fields are gone, defaults are set.
ReviewedObject judge_manifest(const JudgedRequest& judged, const ClusterView& view, const RuleSettings& settings);

// A whole AdmissionReview: the answer of a webhook that mutates and validates. The request is taken as the
// API server has made it: no schema is checked.
ReviewedObject judge_review(nlohmann::json review, const AdmissionRequest& request, const ClusterView& view,
                            const RuleSettings& settings);

// What the admission policy of the manifests adds for objects of kinds that muster does not queue: a warning, or
// with kDeny a refusal. Of a manifest, and of an AdmissionReview (whose printed answer is then the refusal).
void judge_by_policy(UnqueuedKinds action, const nlohmann::json& object, const nlohmann::json& old_object,
                     Operation operation, ReviewedObject& reviewed);
void judge_by_policy(UnqueuedKinds action, const AdmissionRequest& request, ReviewedObject& reviewed);

// Converts kueue.x-k8s.io/v1beta1 to v1beta2, the version that the rules know; others stay as they are.
// Whether it was converted; fails on shapes that cannot be read.
Result<bool> to_stored_version(nlohmann::json& object);

}  // namespace muster::commands
