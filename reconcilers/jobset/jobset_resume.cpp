#include "reconcilers/jobset/jobset_resume.h"

#include <algorithm>
#include <string_view>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "base/encoding.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

constexpr size_t kLargestRecord = 4 << 10;

// A map of the pod template, below `parent`.
struct Map {
  std::string_view parent, name;
};
constexpr Map kMaps[] = {{"metadata", "labels"}, {"metadata", "annotations"}, {"spec", "nodeSelector"}};

struct List {
  std::string_view name;
  std::string Job::*text;
};
constexpr List kLists[] = {{"tolerations", &Job::tolerations_text}, {"schedulingGates", &Job::scheduling_gates_text}};

json parsed(std::string_view text, const json& otherwise) {
  auto value = parse_json(text);
  if (value && value->type() == otherwise.type()) return std::move(*value);
  return otherwise;
}

bool has(const json& list, const json& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Of a map: null for each name that an earlier template gave.
json changed_map(const json& wanted, const json& given) {
  json changed = json::object();
  for (const json& name : given)
    if (name.is_string()) changed[name.get_ref<const std::string&>()] = nullptr;
  changed.update(wanted);
  return changed;
}

json changed_list(const json& present, const json& wanted, const json& given) {
  json changed = json::array();
  for (const json& item : present)
    if (has(wanted, item) || !has(given, item)) changed.push_back(item);
  for (const json& item : wanted)
    if (!has(changed, item)) changed.push_back(item);
  return changed;
}

}  // namespace

bool records_templates(const JobSet& jobset) {
  return !jobset.meta.label(kQueueNameLabel).empty() || jobset.meta.controller.has_value();
}

std::string applied_template(const json& pod_template) {
  json record = json::object();
  for (const Map& map : kMaps)
    for (const auto& [name, value] : object_at(pod_template, {map.parent, map.name}).items())
      record[std::string(map.name)].push_back(name);
  for (const List& list : kLists) {
    const json& items = array_at(pod_template, {"spec", list.name});
    if (!items.empty()) record[std::string(list.name)] = items;
  }
  std::string text = record.empty() ? "" : to_text(record);
  return text.size() > kLargestRecord ? "" : text;
}

std::string applied_resources(const json& pod_template) {
  json all = json::array();
  for (const std::string_view list : {"initContainers", "containers"})
    for (const json& container : array_at(pod_template, {"spec", list}))
      all.push_back({string_at(container, {"name"}), object_at(container, {"resources", "requests"}),
                     object_at(container, {"resources", "limits"})});
  return sha1_hex(to_text(all));
}

json resume_patch(const Job& job, const ReplicatedJob& replicated, bool records) {
  const json from = parsed(replicated.template_text.text(), json::object());
  const json& pod_template = object_at(from, {"spec", "template"});
  const std::string_view before = job.meta.annotation(kAppliedTemplateAnnotation);
  const json given = parsed(before, json::object());

  json changes = json::object();
  for (const Map& map : kMaps) {
    json changed =
        changed_map(read_string_map(object_at(pod_template, {map.parent, map.name})), array_at(given, {map.name}));
    if (!changed.empty()) changes[std::string(map.parent)][std::string(map.name)] = std::move(changed);
  }
  for (const List& list : kLists) {
    const json present = parsed(job.*list.text, json::array());
    json changed = changed_list(present, array_at(pod_template, {"spec", list.name}), array_at(given, {list.name}));
    if (changed != present) changes["spec"][std::string(list.name)] = std::move(changed);
  }

  json patch = {{"spec", {{"suspend", false}}}};
  if (!changes.empty()) patch["spec"]["template"] = std::move(changes);
  const std::string record = records ? applied_template(pod_template) : "";
  if (record != before)
    patch["metadata"]["annotations"][std::string(kAppliedTemplateAnnotation)] =
        record.empty() ? json(nullptr) : json(record);
  return patch;
}

}  // namespace muster::reconcilers
