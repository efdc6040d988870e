// Recorded SparkApplications, as Kueue 0.20.0 answers: the recordings are of an earlier version, which counted
// `coreRequest` and `memory` alone, accepted sizes of Kubernetes' form, did not read the application's node selector,
// and took a submission that the operator repeats for an end. Beyond that, muster counts what pod templates add
// (docs/differences.md).
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "api/codec/json.h"
#include "api/meta/quantity.h"

namespace muster::test {

using nlohmann::json;

// Mebibytes of "512m" or "2g", in letters of any size; nothing for another form, which 0.20.0 refuses.
inline std::optional<int64_t> spark_mib(std::string_view text) {
  if (text.empty()) return 1024;
  int64_t number = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    number = number * 10 + (text[digits] - '0');
  std::string unit(text.substr(digits));
  for (char& c : unit) c = static_cast<char>(c | 0x20);
  if (unit.size() == 2 && unit.back() == 'b') unit.pop_back();
  if (digits == 0 || unit.size() > 1) return std::nullopt;
  if (unit == "m" || unit.empty()) return number;
  if (unit == "g") return number << 10;
  if (unit == "t") return number << 20;
  if (unit == "k") return number >> 10;
  return unit == "b" ? std::optional(number >> 20) : std::nullopt;
}

inline bool has_refused_size(const json& spec) {
  return !spark_mib(string_at(spec, {"driver", "memory"})) || !spark_mib(string_at(spec, {"executor", "memory"}));
}

// Where pods of the role run, with what the application and the role's template say.
inline void correct_spark_placement(const json& spec, const json& given, json& pod) {
  json selector = object_at(given, {"nodeSelector"});
  selector.update(object_at(spec, {"nodeSelector"}));
  selector.update(pod.value("nodeSelector", json::object()));
  if (!selector.empty()) pod["nodeSelector"] = selector;
  json tolerations = array_at(given, {"tolerations"});
  for (const json& toleration : pod.value("tolerations", json::array())) {
    if (std::find(tolerations.begin(), tolerations.end(), toleration) == tolerations.end())
      tolerations.push_back(toleration);
  }
  if (!tolerations.empty()) pod["tolerations"] = tolerations;
  for (const char* field : {"affinity", "priorityClassName"}) {
    if (given.contains(field) && !pod.contains(field)) pod[field] = given[field];
  }
}

// What pods of the role request by 0.20.0, where the recorded template is what the earlier version made of the role.
inline void correct_spark_pod(const json& spec, const std::string& role, json& pod) {
  const json& fields = object_at(spec, {role});
  json& containers = pod["containers"];
  if (!containers.is_array() || containers.empty()) return;
  json& requests = containers[0]["resources"]["requests"];
  if (!requests.is_object()) requests = json::object();
  const std::string core_request(string_at(fields, {"coreRequest"}));
  if (requests.value("cpu", "") != core_request) return;
  if (core_request.empty()) requests["cpu"] = std::to_string(int_at(fields, {"cores"}).value_or(1));
  const int64_t heap = *spark_mib(string_at(fields, {"memory"}));
  const std::string_view type = string_at(spec, {"type"});
  const double factor = type == "Python" || type == "R" ? 0.4 : 0.1;
  const int64_t overhead = std::max<int64_t>(384, static_cast<int64_t>(factor * static_cast<double>(heap)));
  requests["memory"] = Quantity::parse(std::to_string(heap + overhead) + "Mi")->text();
  const json& given = object_at(fields, {"template", "spec"});
  correct_spark_placement(spec, given, pod);
  json added = json::array();
  const json& written = array_at(given, {"containers"});
  size_t main = 0;
  for (size_t i = 0; i < written.size(); ++i) {
    if (string_at(written[i], {"name"}) == "spark-kubernetes-" + role) main = i;
  }
  for (size_t i = 0; i < written.size(); ++i) {
    if (i != main) added.push_back(written[i]);
  }
  containers.insert(containers.begin() + 1, added.begin(), added.end());
  if (main < written.size()) {
    for (const char* list : {"requests", "limits"}) {
      for (const auto& [name, amount] : object_at(written[main], {"resources", list}).items()) {
        if (name != "memory" && !object_at(containers[0], {"resources", list}).contains(name))
          containers[0]["resources"][list][name] = amount;
      }
    }
  }
  for (const json& container : array_at(given, {"initContainers"})) pod["initContainers"].push_back(container);
}

// Everywhere in the line where pod sets are.
inline void correct_spark_pods(const json& spec, json& value) {
  if (!value.is_structured()) return;
  if (value.is_object() && value.contains("podSets") && value["podSets"].is_array()) {
    for (json& pod_set : value["podSets"]) {
      const std::string role(string_at(pod_set, {"name"}));
      if (pod_set.is_object() && pod_set.contains("template") && (role == "driver" || role == "executor"))
        correct_spark_pod(spec, role, pod_set["template"]["spec"]);
      // Spark's own default.
      if (role == "executor" && !object_at(spec, {"executor"}).contains("instances")) pod_set["count"] = 2;
    }
  }
  for (json& part : value) correct_spark_pods(spec, part);
}

// A line of job_kinds with a SparkApplication.
inline json as_kueue_0_20(json line) {
  const json spec = object_at(line, {"input", "job", "spec"});
  if (has_refused_size(spec)) {
    // It cannot be queued.
    line["output"]["podSetsError"] = "invalid Spark memory string";
  } else {
    // The earlier version refused "2G" and "3b", which Spark reads.
    line["output"].erase("podSetsError");
    correct_spark_pods(spec, line["input"]["workloads"]);
    correct_spark_pods(spec, line["output"]);
  }
  if (!object_at(spec, {"executor"}).contains("instances") && line["output"].contains("podsReady"))
    line["output"]["podsReady"] = false;
  const std::string_view policy = string_at(spec, {"restartPolicy", "type"});
  if (string_at(line, {"input", "job", "status", "applicationState", "state"}) == "SUBMISSION_FAILED" &&
      (policy == "OnFailure" || policy == "Always") && line["output"].contains("finished"))
    line["output"]["finished"]["finished"] = false;
  return line;
}

}  // namespace muster::test
