// Reviews for the tests of the group_scheduling rules.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/support/admission_requests.h"
#include "validators/validator.h"

namespace muster::test {

inline const validators::Validator& rule(std::string_view name) {
  const auto all = validators::all_validators();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const validators::Validator* rule) { return rule->name == name; });
  REQUIRE(it != all.end());
  return **it;
}

// The fields that one rule complains about; an UPDATE when there is an old object.
inline std::vector<std::string> complaints(std::string_view name, const nlohmann::json& object,
                                           const nlohmann::json& old_object = nullptr) {
  const ClusterView view;
  const RuleSettings settings;
  const AdmissionRequest request = request_for(object, old_object);
  std::vector<std::string> fields;
  for (const FieldError& error : rule(name).check({request, view, settings})) fields.push_back(error.field);
  return fields;
}

inline std::vector<std::string> warnings(std::string_view name, const nlohmann::json& object,
                                         const nlohmann::json& old_object = nullptr) {
  const ClusterView view;
  const RuleSettings settings;
  const AdmissionRequest request = request_for(object, old_object);
  return rule(name).warn({request, view, settings});
}

// A JobSet with the replicated jobs a, b and c; `parts` are merged over it.
inline nlohmann::json abc(const char* parts) {
  nlohmann::json object = nlohmann::json::parse(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
      "metadata": {"name": "train"}, "spec": {"replicatedJobs": []}})");
  for (const char* name : {"a", "b", "c"}) {
    object["spec"]["replicatedJobs"].push_back(
        {{"name", name},
         {"template", {{"spec", {{"template", {{"spec", {{"containers", nlohmann::json::array()}}}}}}}}}});
  }
  object.merge_patch(nlohmann::json::parse(parts));
  return object;
}

// A Job that is a gang, with this pod spec.
inline nlohmann::json gang_job(const char* pod_spec) {
  nlohmann::json object = nlohmann::json::parse(R"({"apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "train", "annotations": {"muster.batch/group-scheduling-timeout-seconds": "300"}}})");
  object["spec"]["template"]["spec"] = nlohmann::json::parse(pod_spec);
  return object;
}

// Our waiter as one element of initContainers.
inline constexpr const char* kWaiterJson =
    R"({"name": "group-scheduling-init", "command": ["/muster-wait"],
        "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling"}]})";

}  // namespace muster::test
