#include "commands/review/kubernetes_rules.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/meta/owner_reference.h"
#include "api/meta/quantity.h"
#include "jobs/job_kind.h"
#include "manifests/schema_meta.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr const char* kNotNegative = "must be greater than or equal to 0";

// Their names are DNS-1123 subdomains, or of a form that is one too.
bool has_subdomain_name(std::string_view group, std::string_view kind) {
  constexpr std::string_view kGroups[] = {"", "apps", "batch", "node.k8s.io", "scheduling.k8s.io"};
  return std::find(std::begin(kGroups), std::end(kGroups), group) != std::end(kGroups) ||
         jobs::find_job_kind(group, kind) != nullptr;
}

void check_count(const json& spec, const FieldPath& path, const char* field, FieldErrors& errors) {
  const json* count = find_path(spec, {field});
  if (count == nullptr || count->is_null()) return;
  if (!count->is_number_integer())
    errors.push_back(type_invalid(path.child(field), *count, "must be an integer"));
  else if (*count < 0)
    errors.push_back(invalid(path.child(field), *count, kNotNegative));
}

// The quantities of one list that can be read.
std::map<std::string, Quantity> check_quantities(const json& resources, const FieldPath& path, const char* list,
                                                 FieldErrors& errors) {
  std::map<std::string, Quantity> read;
  for (const auto& [name, value] : object_at(resources, {list}).items()) {
    const FieldPath field = path.child(list).key(name);
    const auto quantity = Quantity::from_json(value);
    if (!quantity) {
      errors.push_back(invalid(field, value, quantity.error().message));
    } else {
      if (*quantity < Quantity()) errors.push_back(invalid(field, value, kNotNegative));
      read.emplace(name, *quantity);
    }
  }
  return read;
}

void check_resources(const json& owner, const FieldPath& path, FieldErrors& errors) {
  const json& resources = object_at(owner, {"resources"});
  const FieldPath field = path.child("resources");
  const auto limits = check_quantities(resources, field, "limits", errors);
  for (const auto& [name, request] : check_quantities(resources, field, "requests", errors)) {
    const auto limit = limits.find(name);
    if (limit == limits.end() || request <= limit->second) continue;
    errors.push_back(invalid(field.child("requests"), request.text(),
                             "must be less than or equal to " + name + " limit of " + limit->second.text()));
  }
}

void check_pod(const json& pod_spec, const FieldPath& path, FieldErrors& errors) {
  check_resources(pod_spec, path, errors);
  (void)check_quantities(pod_spec, path, "overhead", errors);
  check_count(pod_spec, path, "terminationGracePeriodSeconds", errors);
  for (const char* list : {"initContainers", "containers"}) {
    const json& containers = array_at(pod_spec, {list});
    for (size_t i = 0; i < containers.size(); ++i) check_resources(containers[i], path.child(list).index(i), errors);
  }
}

struct Counts {
  std::string_view group, kind;
  std::initializer_list<const char*> fields;
};
constexpr Counts kCounts[] = {
    // of Jobs first
    {"batch",
     "Job",
     {"parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished",
      "backoffLimitPerIndex", "maxFailedIndexes"}},
    {"apps", "Deployment", {"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}},
    {"apps", "StatefulSet", {"replicas", "minReadySeconds", "revisionHistoryLimit"}},
};

void check_counted(const json& spec, const FieldPath& path, const Counts& counts, FieldErrors& errors) {
  for (const char* field : counts.fields) check_count(spec, path, field, errors);
  check_pod(object_at(spec, {"template", "spec"}), path.child("template").child("spec"), errors);
}

}  // namespace

FieldErrors check_by_kubernetes_rules(const json& object, const json& old) {
  const std::string_view group = group_of(string_at(object, {"apiVersion"})), kind = string_at(object, {"kind"});
  if (!has_subdomain_name(group, kind)) return {};
  FieldErrors errors = manifests::check_metadata(object, old);
  const std::string_view ns = string_at(object, {"metadata", "namespace"});
  for (const std::string& complaint : ns.empty() ? std::vector<std::string>() : is_dns1123_label(ns))
    errors.push_back(invalid("metadata.namespace", ns, complaint));
  const FieldPath spec_path("spec");
  const json& spec = object_at(object, {"spec"});
  if (group.empty() && kind == "Pod") check_pod(spec, spec_path, errors);
  for (const Counts& counts : kCounts) {
    if (counts.group != group || counts.kind != kind) continue;
    check_counted(spec, spec_path, counts, errors);
  }
  if (group == "batch" && kind == "CronJob") {
    for (const char* field : {"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"})
      check_count(spec, spec_path, field, errors);
    check_counted(object_at(spec, {"jobTemplate", "spec"}), spec_path.child("jobTemplate").child("spec"), kCounts[0],
                  errors);
  }
  return errors;
}

}  // namespace muster::commands
