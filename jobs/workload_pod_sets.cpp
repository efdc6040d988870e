// The pod sets of a job, as its Workload has them.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/codec/member_texts.h"
#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "jobs/queued_job.h"
#include "jobs/template_info.h"
#include "jobs/topology.h"
#include "jobs/typed_text.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

constexpr const char* kContainerLists[] = {"containers", "initContainers"};

// If a variable is in the list several times, the last value counts. A list that is a map by its keys, such as
// a Workload's, cannot contain it twice.
bool drop_repeated_variables(json& container) {
  const auto env = container.find("env");
  if (env == container.end() || !env->is_array()) return false;
  // Copied only where it must be: a list can be as large as an object can be.
  std::unordered_set<std::string_view> names;
  for (const json& variable : *env) names.insert(string_at(variable, {"name"}));
  if (names.size() == env->size()) return false;
  json kept = json::array();
  std::map<std::string, size_t, std::less<>> places;
  for (const json& variable : *env) {
    const auto [place, is_new] = places.emplace(string_at(variable, {"name"}), kept.size());
    if (is_new) {
      kept.push_back(variable);
    } else {
      kept[place->second] = variable;
    }
  }
  *env = std::move(kept);
  return true;
}

bool sanitize(json& pod_spec) {
  bool changed = false;
  for (const char* list : kContainerLists) {
    const auto found = pod_spec.find(list);
    if (found == pod_spec.end() || !found->is_array()) continue;
    for (json& container : *found) {
      if (container.is_object() && drop_repeated_variables(container)) changed = true;
    }
  }
  return changed;
}

bool may_repeat_variables(const PodSpec& spec) {
  return spec.text.find("\"env\":") != std::string::npos;
}

PodSpecPtr sanitized(const PodSpecPtr& spec) {
  if (!may_repeat_variables(*spec)) return spec;
  json object = json::parse(spec->text);
  return sanitize(object) ? std::make_shared<const PodSpec>(object) : spec;
}

std::string metadata_for_workload(const std::string& metadata_text, const JobKind& kind) {
  json metadata = json::parse(metadata_text);
  metadata.erase("creationTimestamp");
  const auto labels = metadata.find("labels");
  if (kind.labels_of_one_job().empty() || labels == metadata.end() || !labels->is_object())
    return muster::to_text(metadata);
  for (std::string_view label : kind.labels_of_one_job()) labels->erase(std::string(label));
  if (labels->empty()) metadata.erase("labels");
  return muster::to_text(metadata);
}

// The topology requests in the annotations of a pod template. Values that are not numbers or booleans were
// refused when the job was created.
void put_wishes(const Labels& annotations, bool with_layers, json& request) {
  const auto value = [&](std::string_view key) -> const std::string* {
    const auto found = annotations.find(key);
    return found == annotations.end() ? nullptr : &found->second;
  };
  if (const auto* required = value(kRequiredTopology)) {
    request["required"] = *required;
  } else if (const auto* preferred = value(kPreferredTopology)) {
    request["preferred"] = *preferred;
  } else if (const auto* unconstrained = value(kUnconstrainedTopology)) {
    if (const auto truth = go_parse_bool(*unconstrained)) request["unconstrained"] = *truth;
  }
  if (const auto* group = value(kPodSetGroupName)) request["podSetGroupName"] = *group;
  if (const auto* level = value(kSliceRequiredTopology)) request["podSetSliceRequiredTopology"] = *level;
  if (const auto* size = value(kSliceSize)) {
    if (const auto number = go_parse_int(*size, 32)) request["podSetSliceSize"] = *number;
  }
  const auto* layers = value(kSliceLayers);
  if (layers == nullptr || !with_layers) return;
  const auto parsed = parse_slice_layers(*layers);
  if (!parsed.ok()) return;
  for (const SliceLayer& layer : *parsed)
    request["podsetSliceRequiredTopologyConstraints"].push_back({{"topology", layer.topology}, {"size", layer.size}});
}

// `request` already contains the values of the kind's own labels.
json topology_request(json request, const PodTemplate& pod_template, bool with_layers) {
  const json metadata = json::parse(pod_template.metadata_text);
  put_wishes(read_string_map(object_at(metadata, {"annotations"})), with_layers, request);
  return request;
}

// The fields of a PodSpec that say what quota counts.
json charged_of(const json& pod_spec) {
  json charged = json::object();
  for (const char* key : kChargedFields) {
    const auto found = pod_spec.find(key);
    if (found != pod_spec.end()) charged[key] = *found;
  }
  return charged;
}

using ChargedTexts = std::array<std::string_view, kChargedFields.size()>;

// The same fields as texts; empty: there is none.
ChargedTexts charged_texts(std::string_view spec) {
  ChargedTexts charged;
  for_each_member(spec, [&](std::string_view name, std::string_view value) {
    const auto field = std::find(kChargedFields.begin(), kChargedFields.end(), name);
    if (field != kChargedFields.end()) charged[static_cast<size_t>(field - kChargedFields.begin())] = value;
  });
  return charged;
}

}  // namespace

std::vector<PodSet> QueuedJob::pod_sets(const RuleSettings& settings) const {
  std::vector<PodSet> pod_sets = pod_set_shapes(settings);
  for (size_t i = 0; i < pod_sets.size(); ++i) {
    PodSet& pod_set = pod_sets[i];
    if (settings.enabled(Gate::kTopologyAwareScheduling)) {
      const json request = topology_request(kind_->topology_labels(*job_, i), pod_set.pod_template,
                                            settings.enabled(Gate::kTASMultiLayerTopology));
      if (!request.empty()) pod_set.topology_request_text = muster::to_text(request);
      pod_set.asks_for_topology = asks_for_topology(request);
    }
    pod_set.pod_template = {.metadata_text = metadata_for_workload(pod_set.pod_template.metadata_text, *kind_),
                            .spec = sanitized(pod_set.pod_template.spec)};
  }
  return pod_sets;
}

PodSetInfo info_of_template(const PodTemplate& pod_template) {
  json read = {{"metadata", json::parse(pod_template.metadata_text)}};
  for_each_member(pod_template.spec->text, [&](std::string_view name, std::string_view value) {
    if (name == "nodeSelector" || name == "tolerations" || name == "schedulingGates")
      read["spec"][std::string(name)] = json::parse(value);
  });
  return muster::info_of_template(read);
}

PodSetInfo info_of_pod_set(const PodSet& pod_set) {
  PodSetInfo info = info_of_template(pod_set.pod_template);
  info.name = pod_set.name;
  info.count = pod_set.count;
  return info;
}

bool same_charged_fields(const PodSpecPtr& job, const PodSpecPtr& workload) {
  // Equal specs are the same object (state/template_pool.h), unless a start has changed one of them.
  if (job == workload || charged_texts(job->text) == charged_texts(workload->text)) return true;
  json wanted = json::parse(job->text);
  sanitize(wanted);
  return same_in_typed_api(charged_of(wanted), charged_of(json::parse(workload->text)));
}

}  // namespace muster::jobs
