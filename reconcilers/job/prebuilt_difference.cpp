#include "reconcilers/job/prebuilt_difference.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "kinds/container_defaults.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

constexpr size_t kLongestValue = 200;

json filled(const PodSpec& spec) {
  json filled = json::parse(spec.text, nullptr, false);
  for (const char* list : {"containers", "initContainers"}) {
    if (!filled.is_object() || !filled.contains(list) || !filled[list].is_array()) continue;
    for (json& container : filled[list]) fill_container_defaults(container);
  }
  return filled;
}

// An empty value is the same as a missing value.
void drop_empty(json& value) {
  if (!value.is_structured()) return;
  for (json& part : value) drop_empty(part);
  if (!value.is_object()) return;
  for (auto it = value.begin(); it != value.end();) {
    const bool empty = it->is_null() || (it->is_structured() && it->empty());
    it = empty ? value.erase(it) : std::next(it);
  }
}

std::string shown(const json& value) {
  std::string text = value.is_null() ? "not set" : value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongestValue) text = text.substr(0, kLongestValue) + "...";
  return text;
}

std::string told(const std::string& field, const json& here, const json& of_job) {
  return field + " is " + shown(here) + ", and the job's is " + shown(of_job);
}

// "/containers/0/image" as a field path.
std::string path_of_pointer(const std::string& pointer) {
  std::string path;
  for (size_t at = 0; at < pointer.size();) {
    const size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    const std::string part = pointer.substr(at + 1, end - at - 1);
    const bool index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    path += index ? "[" + part + "]" : "." + part;
    at = end;
  }
  return path;
}

std::string difference_of_specs(const std::string& field, const PodSpec& here, const PodSpec& of_job) {
  json mine = filled(here), wanted = filled(of_job);
  drop_empty(mine);
  drop_empty(wanted);
  const auto difference = [&](const char* key) -> std::string {
    const auto part = [&](const json& spec) { return spec.contains(key) ? json{{key, spec[key]}} : json::object(); };
    const json left = part(mine), right = part(wanted);
    const json steps = json::diff(left, right);
    if (steps.empty()) return "";
    const std::string pointer = steps[0]["path"];
    const json::json_pointer at(pointer);
    const auto value_at = [&](const json& object) { return object.contains(at) ? object.at(at) : json(); };
    return told(field + path_of_pointer(pointer), value_at(left), value_at(right));
  };
  for (const char* key : jobs::kChargedFields) {
    if (std::string found = difference(key); !found.empty()) return found;
  }
  return difference("tolerations");
}

std::string difference_of_pod_sets(const std::string& field, const PodSet& here, const PodSet& of_job) {
  if (here.count != of_job.count) return told(field + ".count", here.count, of_job.count);
  const auto number = [](const std::optional<int32_t>& count) { return count ? json(*count) : json(); };
  if (here.min_count != of_job.min_count)
    return told(field + ".minCount", number(here.min_count), number(of_job.min_count));
  return difference_of_specs(field + ".template.spec", *here.pod_template.spec, *of_job.pod_template.spec);
}

}  // namespace

Workload with_container_defaults(const Workload& workload) {
  Workload made = workload;
  for (PodSet& pod_set : made.pod_sets)
    pod_set.pod_template.spec = std::make_shared<const PodSpec>(filled(*pod_set.pod_template.spec));
  return made;
}

std::string difference_of_prebuilt(const JobContext& context, const Workload& workload) {
  const auto seconds = [](const std::optional<int32_t>& limit) { return limit ? json(*limit) : json(); };
  if (workload.maximum_execution_seconds != context.job.maximum_execution_seconds()) {
    return told("spec.maximumExecutionTimeSeconds", seconds(workload.maximum_execution_seconds),
                seconds(context.job.maximum_execution_seconds()));
  }
  const std::vector<PodSet> wanted = context.job.pod_sets(context.queues().rules);
  if (wanted.size() != workload.pod_sets.size())
    return told("the number of spec.podSets", workload.pod_sets.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::string found =
        difference_of_pod_sets("spec.podSets[" + std::to_string(i) + "]", workload.pod_sets[i], wanted[i]);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace muster::reconcilers
