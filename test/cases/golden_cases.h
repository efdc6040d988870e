// Golden cases: each YAML file below test/cases is one request and what becomes of
// it. Keys:
//
//   description  a sentence, what the case shows
//   operation    CREATE or UPDATE
//   object       the object as sent; oldObject on UPDATE
//   subresource  status (optional)
//   user, uid    who sends it, and the request's uid (both optional)
//   laterWebhook  a merge patch: what another mutating webhook does to the object after muster's (optional)
//   settings     manageJobsWithoutQueueName, managedJobsNamespaceSelector, frameworks,
//                featureGates, suspendGuard, admitters, waiterImage, nativeJobSets,
//                jobSetFeatureGates, groupScheduling, denyUnqueued, recordSubmitter (all optional)
//   view         objects that are in the cluster
//   namespaceLabels  of the request's namespace as the API server knows it, where muster
//                does not know the namespace yet (optional)
//   expect       object (the whole of it after mutation), or patch (operations), or
//                errors ("field: message", any order), or refused (the message);
//                beside these, warnings
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/config/rule_settings.h"
#include "api/review/admission_review.h"
#include "api/review/cluster_view.h"
#include "api/review/review.h"

namespace muster::test {

struct GoldenCase {
  std::string file;
  nlohmann::json content;
  AdmissionRequest request;
  RuleSettings settings;
  ClusterView view;

  const nlohmann::json& expect() const { return content.at("expect"); }
  Review review() const { return {request, view, settings}; }
  // As the validating webhook gets it, with the answer of the mutating one.
  AdmissionRequest mutated_by(const AdmissionResponse& answer) const;
};

// Every file, ordered by name. What a file says wrongly fails the test that reads it.
std::vector<GoldenCase> read_golden_cases();

}  // namespace muster::test
