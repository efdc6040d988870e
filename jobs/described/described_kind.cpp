#include "jobs/described/described_kind.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/kinds/described_job.h"
#include "api/meta/names.h"

namespace muster {
namespace {

using nlohmann::json;

const DescribedJob& job_of(const TypedObject& object) {
  return *std::get<DescribedJobPtr>(object);
}

FieldPath path_below(FieldPath place, const std::vector<std::string>& steps) {
  for (const std::string& step : steps) place = place.child(step);
  return place;
}

template <class Json>
void add_template(const PodSetSource& source, Json& element, const FieldPath& place,
                  std::vector<BasicPodTemplateRef<Json>>& found) {
  Json* pod_template = source.pod_template.find(element);
  if (pod_template == nullptr || !pod_template->is_object()) return;
  found.push_back({pod_set_name(source, element), path_below(place, source.pod_template.steps()), pod_template,
                   count_of(source, element)});
}

template <class Json>
std::vector<BasicPodTemplateRef<Json>> templates(const KindDescription& kind, Json& job) {
  std::vector<BasicPodTemplateRef<Json>> found;
  for (const PodSetSource& source : kind.pod_sets) {
    Json* place = source.path.find(job);
    if (place == nullptr) continue;
    if (!source.each) {
      add_template(source, *place, source.path.field(), found);
    } else if (place->is_array()) {
      for (size_t i = 0; i < place->size(); ++i) add_template(source, (*place)[i], source.path.field().index(i), found);
    }
  }
  return found;
}

// The list of a source with these patches of its elements' pod templates; lists are written whole.
json patched_list(const PodSetSource& source, const DescribedJob& job, size_t source_index,
                  const std::vector<json>& patches) {
  json list = json::array();
  for (const std::string& text : job.lists[source_index]) list.push_back(json::parse(text));
  for (size_t i = 0; i < job.pod_sets.size(); ++i) {
    const DescribedPodSet& pod_set = job.pod_sets[i];
    if (pod_set.source != source_index || pod_set.pod_template.spec == nullptr) continue;
    json pod_template = pod_set.pod_template.to_json();
    if (i < patches.size() && !patches[i].is_null()) pod_template.merge_patch(patches[i]);
    source.pod_template.set(list[pod_set.element], std::move(pod_template));
  }
  return list;
}

}  // namespace

DescribedKind::DescribedKind(const KindDescription& kind)
    : JobKind(kind.type(), kind.framework, kind.default_manager, false), kind_(kind) {}

bool DescribedKind::suspended(const json& job) const {
  const json* value = kind_.suspend.find(job);
  return (value != nullptr && value->is_boolean() && value->get<bool>()) == kind_.suspended_when;
}

void DescribedKind::set_suspend(json& job, bool suspend) const {
  kind_.suspend.set(job, suspend == kind_.suspended_when);
}

std::vector<PodTemplateRef> DescribedKind::pod_templates(json& job) const {
  return templates(kind_, job);
}

std::vector<ConstPodTemplateRef> DescribedKind::read_pod_templates(const json& job) const {
  return templates(kind_, job);
}

bool DescribedKind::suspended(const TypedObject& job) const {
  return job_of(job).suspended;
}

std::string_view DescribedKind::managed_by(const TypedObject& job) const {
  return job_of(job).managed_by;
}

bool DescribedKind::readable(const TypedObject& object) const {
  return why_unreadable(object).empty();
}

std::string DescribedKind::why_unreadable(const TypedObject& object) const {
  const DescribedJob& job = job_of(object);
  if (!job.unreadable.empty()) return job.unreadable;
  if (job.pod_sets.empty()) return "it has no pod sets where they are looked for";
  for (const DescribedPodSet& pod_set : job.pod_sets) {
    if (pod_set.pod_template.spec == nullptr) return "pod set \"" + pod_set.name + "\" has no pod template";
    if (!is_dns1123_label(pod_set.name).empty()) return "\"" + pod_set.name + "\" cannot be the name of a pod set";
  }
  return "";
}

bool DescribedKind::active(const TypedObject& job) const {
  return job_of(job).active;
}

bool DescribedKind::pods_ready(const TypedObject& job) const {
  return job_of(job).pods_ready;
}

std::optional<JobEnd> DescribedKind::end(const TypedObject& object) const {
  const std::optional<DescribedEnd>& end = job_of(object).end;
  return end ? std::optional(JobEnd{end->success, end->message}) : std::nullopt;
}

std::vector<PodSet> DescribedKind::pod_set_shapes(const TypedObject& job, const RuleSettings&) const {
  std::vector<PodSet> pod_sets;
  for (const DescribedPodSet& pod_set : job_of(job).pod_sets) {
    pod_sets.push_back({.name = pod_set.name,
                        .count = pod_set.count,
                        .min_count = std::nullopt,
                        .pod_template = pod_set.pod_template,
                        .topology_request_text = {},
                        .asks_for_topology = false});
  }
  return pod_sets;
}

json DescribedKind::topology_labels(const TypedObject&, size_t) const {
  return kind_.pod_index_label.empty() ? json::object() : json{{"podIndexLabel", kind_.pod_index_label}};
}

std::string_view DescribedKind::pod_priority_class(const TypedObject& job) const {
  return job_of(job).priority_class;
}

json DescribedKind::edit(const TypedObject& object, const std::vector<json>& patches,
                         const std::vector<PodSetInfo>*) const {
  const DescribedJob& job = job_of(object);
  // Those of another number belong to another version of the job.
  if (patches.size() != job.pod_sets.size()) return nullptr;
  json patch;
  for (size_t i = 0; i < kind_.pod_sets.size(); ++i) {
    const PodSetSource& source = kind_.pod_sets[i];
    json whole;
    for (size_t j = 0; j < job.pod_sets.size(); ++j) {
      if (job.pod_sets[j].source != i || patches[j].is_null()) continue;
      whole = source.each ? patched_list(source, job, i, patches) : source.pod_template.patch(patches[j]);
      if (source.each) break;
    }
    if (!whole.is_null()) patch.update(source.path.patch(std::move(whole)), true);
  }
  return patch;
}

json DescribedKind::suspend_patch(bool suspend) const {
  return kind_.suspend.patch(suspend == kind_.suspended_when);
}

}  // namespace muster
