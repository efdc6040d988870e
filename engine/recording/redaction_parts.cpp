#include "engine/recording/redaction_parts.h"

#include <algorithm>
#include <string>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/submitter.h"
#include "jobs/group_scheduling.h"
#include "kinds/kind_hook.h"

namespace muster::recording::parts {
namespace {

bool is_of(std::string_view key, std::string_view domain) {
  const std::string_view host = key.substr(0, std::min(key.find('/'), key.size()));
  return host.size() < key.size() && (host == domain || host.ends_with("." + std::string(domain)));
}

bool is_whole_number(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && text->size() <= 10 &&
         std::all_of(text->begin(), text->end(), [](char letter) { return letter >= '0' && letter <= '9'; });
}

constexpr Member kMeta[] = {
    {"name", open},
    {"generateName", open},
    {"namespace", open},
    {"uid", open},
    {"resourceVersion", open},
    {"creationTimestamp", open},
    {"deletionTimestamp", open},
    {"finalizers", open},
    {"ownerReferences", open},
    {"labels", labels},
    {"annotations", annotations},
};

json env(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open}};
  return struct_of(value, walk, kRows);
}

json named(const json& value, const Walk& walk) {
  return env(value, walk);
}

json volume(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open}, {"configMap", named}};
  return struct_of(value, walk, kRows);
}

constexpr Member kPodSpec[] = {
    {"containers", each<container>},
    {"initContainers", each<container>},
    {"ephemeralContainers", each<container>},
    {"volumes", each<volume>},
    {"nodeSelector", open},
    {"tolerations", open},
    {"affinity", open},
    {"priorityClassName", open},
    {"preemptionPolicy", open},
    {"runtimeClassName", open},
    {"schedulerName", open},
    {"restartPolicy", open},
    {"overhead", open},
    {"resources", open},
    {"resourceClaims", open},
    {"schedulingGates", open},
    {"topologySpreadConstraints", open},
    {"nodeName", open},
    {"subdomain", open},
};

// The text that a process has written into /dev/termination-log belongs to the user.
json ended_container(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"message", closed}};
  return struct_of(value, walk, kRows, open);
}

json container_state(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"terminated", ended_container}, {"waiting", open}, {"running", open}};
  return struct_of(value, walk, kRows);
}

json container_status(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {
      {"name", open}, {"restartCount", open}, {"state", container_state}, {"lastState", container_state}};
  return struct_of(value, walk, kRows);
}

}  // namespace

json closed(const json& value, const Walk& walk) {
  if (walk.depth > kDeepest) return nullptr;
  if (const auto* text = value.get_ptr<const std::string*>()) return text->empty() ? json("") : json(walk.close(*text));
  json kept = value.is_object() ? json::object() : json::array();
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) kept[key] = closed(member, walk.deeper());
  } else if (value.is_array()) {
    for (const json& item : value) kept.push_back(closed(item, walk.deeper()));
  } else {
    kept = value;
  }
  return kept;
}

json open(const json& value, const Walk& walk) {
  if (walk.depth > kDeepest) return nullptr;
  if (!value.is_structured()) return value;
  json kept = value.is_object() ? json::object() : json::array();
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) kept[key] = open(member, walk.deeper());
  } else {
    for (const json& item : value) kept.push_back(open(item, walk.deeper()));
  }
  return kept;
}

Part part_of(std::span<const Member> table, std::string_view key, Part others) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Member& row) { return row.key == key; });
  return found == table.end() ? others : found->part;
}

json struct_of(const json& value, const Walk& walk, std::span<const Member> table, Part others) {
  if (!value.is_object() || walk.depth > kDeepest) return closed(value, walk);
  json kept = json::object();
  for (const auto& [key, member] : value.items()) kept[key] = part_of(table, key, others)(member, walk.deeper());
  return kept;
}

// Of Kubernetes and its projects, of muster, and the index that an annotation of a pod group can name.
json labels(const json& value, const Walk& walk) {
  if (!value.is_object()) return closed(value, walk);
  json kept = json::object();
  for (const auto& [key, label] : value.items()) {
    const bool is_read = is_of(key, "k8s.io") || is_of(key, "x-k8s.io") || is_of(key, "kubernetes.io") ||
                         is_of(key, "muster.batch") || key == "controller-uid" || key == "job-name" ||
                         is_whole_number(label);
    kept[key] = is_read ? open(label, walk.deeper()) : closed(label, walk.deeper());
  }
  return kept;
}

// kubectl's own annotation is in the domain kubernetes.io and contains the whole manifest. So no such domain is
// kept as a whole.
json annotations(const json& value, const Walk& walk) {
  if (!value.is_object()) return closed(value, walk);
  json kept = json::object();
  for (const auto& [key, annotation] : value.items()) {
    const bool is_read = is_of(key, "kueue.x-k8s.io") || is_of(key, "jobset.sigs.k8s.io") ||
                         (is_of(key, "muster.batch") && key != kSubmitterAnnotation) ||
                         is_of(key, "leaderworkerset.sigs.k8s.io") || is_of(key, "batch.kubernetes.io") ||
                         is_read_by_kind_hook(key);
    kept[key] = is_read ? open(annotation, walk.deeper()) : closed(annotation, walk.deeper());
  }
  return kept;
}

json meta(const json& value, const Walk& walk) {
  return struct_of(value, walk, kMeta);
}

json admin_meta(const json& value, const Walk& walk) {
  static constexpr Member kOthers[] = {{"labels", open}, {"managedFields", open}};
  json kept = struct_of(value, walk, kMeta);
  for (const Member& row : kOthers) {
    if (value.is_object() && value.contains(row.key)) kept[std::string(row.key)] = open(value[row.key], walk.deeper());
  }
  return kept;
}

json container(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open},          {"resources", open}, {"ports", open},
                                     {"restartPolicy", open}, {"env", each<env>},  {"volumeMounts", each<named>}};
  json kept = struct_of(value, walk, kRows);
  // The start barrier's own argument.
  if (string_at(value, {"name"}) != kGroupInitContainer || !array_at(kept, {"args"}).size()) return kept;
  constexpr std::string_view kTimeout = "--timeout-seconds=";
  for (size_t i = 0; i < kept["args"].size(); ++i) {
    const auto* text = value["args"][i].get_ptr<const std::string*>();
    if (text != nullptr && text->starts_with(kTimeout) && is_whole_number(text->substr(kTimeout.size())))
      kept["args"][i] = *text;
  }
  return kept;
}

json pod_spec(const json& value, const Walk& walk) {
  return struct_of(value, walk, kPodSpec);
}

json pod_template(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"metadata", meta}, {"spec", pod_spec}};
  return struct_of(value, walk, kRows);
}

json pod_status(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"phase", open},
                                     {"reason", open},
                                     {"message", open},
                                     {"conditions", open},
                                     {"nominatedNodeName", open},
                                     {"startTime", open},
                                     {"qosClass", open},
                                     {"containerStatuses", each<container_status>},
                                     {"initContainerStatuses", each<container_status>}};
  return struct_of(value, walk, kRows);
}

}  // namespace muster::recording::parts
