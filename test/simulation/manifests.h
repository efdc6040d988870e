// Manifests for the simulation's tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kinds/typed_object.h"

namespace muster::test {

inline nlohmann::json pod_template() {
  return {{"spec",
           {{"restartPolicy", "Never"},
            {"containers", nlohmann::json::array({{{"name", "main"}, {"image", "registry.example/train"}}})}}}};
}

// An indexed Job of this many pods, all at once.
inline nlohmann::json job_of(int pods, const std::string& name = "train") {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec",
           {{"completionMode", "Indexed"},
            {"parallelism", pods},
            {"completions", pods},
            {"backoffLimit", 3},
            {"template", pod_template()}}}};
}

// The same, whose pods start together or not at all.
inline nlohmann::json gang_of(int pods, int timeout_seconds = 300, const std::string& name = "train") {
  nlohmann::json job = job_of(pods, name);
  job["metadata"]["annotations"] = {{"muster.batch/group-scheduling-timeout-seconds", std::to_string(timeout_seconds)}};
  return job;
}

inline ObjectKey job_key(const std::string& name = "train") {
  return {&kJobs, "default", name};
}

inline nlohmann::json with_spec(nlohmann::json job, const nlohmann::json& spec) {
  job["spec"].merge_patch(spec);
  return job;
}

}  // namespace muster::test
