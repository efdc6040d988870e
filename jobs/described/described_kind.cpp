#include "jobs/described/described_kind.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/config/rule_settings.h"
#include "api/jobset.h"
#include "api/meta/names.h"
#include "api/review/cluster_view.h"
#include "jobs/described/described_pod_sets.h"
#include "kinds/described_job.h"

namespace muster::jobs {
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
  const FieldPath counted =
      source.counts.empty() ? FieldPath("") : path_below(place, source.counts.front().path.steps());
  found.push_back({pod_set_name(source, element), path_below(place, source.pod_template.steps()), pod_template,
                   count_of(source, element), counted});
}

template <class Json>
std::vector<BasicPodTemplateRef<Json>> templates(const KindDescription& kind, Json& job) {
  std::vector<BasicPodTemplateRef<Json>> found;
  for (const PodSetSource& source : kind.pod_sets) {
    if (source.when && !source.when->holds(job)) continue;
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

// A missing value is written as a whole.
json patched(const DescribedPodSet& pod_set, const json& patch) {
  if (pod_set.written) return patch;
  json pod_template = pod_set.pod_template.to_json();
  pod_template.merge_patch(patch);
  return pod_template;
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
    : JobKind(kind.type(), kind.framework, kind.default_manager, false),
      kind_(kind),
      edits_(kind.hook == nullptr || kind.hook->start == nullptr ? nullptr : kind.hook) {}

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

std::vector<ConstPodTemplateRef> DescribedKind::made_templates(const DescribedJob& job) const {
  std::vector<ConstPodTemplateRef> refs;
  for (const DescribedPodSet& pod_set : job.pod_sets) {
    if (pod_set.pod_template.spec == nullptr) continue;
    auto made = std::make_shared<const json>(pod_set.pod_template.to_json());
    const json* pod_template = made.get();
    refs.push_back({pod_set.name, FieldPath(pod_set.place), pod_template, pod_set.count, FieldPath(pod_set.place), true,
                    std::move(made)});
  }
  return refs;
}

std::vector<ConstPodTemplateRef> DescribedKind::read_pod_templates(const json& job) const {
  if (kind_.hook == nullptr || !kind_.hook->makes_pod_sets) return templates(kind_, job);
  return made_templates(*read_described_job(kind_, job));
}

Result<std::vector<ConstPodTemplateRef>> DescribedKind::read_pod_templates(const json& job, std::string_view ns,
                                                                           const ClusterView& view) const {
  if (kind_.hook == nullptr || !kind_.hook->makes_pod_sets) return templates(kind_, job);
  DescribedJob read = *read_described_job(kind_, job);
  if (kind_.hook->consult != nullptr) {
    kind_.hook->consult(
        [&](const ConsultedKind& kind, std::string_view name) {
          return view.consulted(kind.type(), kind.namespaced ? ns : std::string_view(), name);
        },
        read);
  }
  if (!read.awaited.empty()) return fail(read.awaited);
  if (!read.unreadable.empty()) return fail(read.unreadable);
  return made_templates(read);
}

bool DescribedKind::suspended(const TypedObject& job) const {
  return job_of(job).suspended;
}

std::string_view DescribedKind::managed_by(const TypedObject& job) const {
  return job_of(job).managed_by;
}

bool DescribedKind::forms_are_checked_on_update() const {
  return kind_.checked_on_update;
}

bool DescribedKind::has_gated_updates() const {
  return kind_.gated_updates;
}

std::optional<TypedObject> DescribedKind::consulted(const TypedObject& object, const ConsultedLookup& find) const {
  if (kind_.hook == nullptr || kind_.hook->consult == nullptr) return std::nullopt;
  DescribedJob job = job_of(object);
  kind_.hook->consult(find, job);
  check_pod_sets(job);
  return DescribedJobPtr(std::make_shared<const DescribedJob>(std::move(job)));
}

std::string_view DescribedKind::awaited(const TypedObject& job) const {
  return job_of(job).awaited;
}

bool DescribedKind::left_alone(const TypedObject& job) const {
  return job_of(job).left_alone;
}

bool DescribedKind::works_while_deleted(const TypedObject& job) const {
  return job_of(job).works_while_deleted;
}

bool DescribedKind::readable(const TypedObject& object) const {
  return why_unreadable(object).empty();
}

std::string DescribedKind::why_unreadable(const TypedObject& object) const {
  const DescribedJob& job = job_of(object);
  if (!job.unreadable.empty()) return job.unreadable;
  if (!job.awaited.empty()) return job.awaited;
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

bool DescribedKind::on_hold(const TypedObject& job) const {
  return job_of(job).on_hold;
}

std::string DescribedKind::pod_selector(const TypedObject& job) const {
  return job_of(job).pod_selector;
}

std::string DescribedKind::pod_selector(std::string_view name, std::string_view) const {
  return pod_selector_of_gone(kind_.pod_selector, name);
}

bool DescribedKind::pods_ready(const TypedObject& job) const {
  const JobSetPtr& parts = job_of(job).parts;
  return parts == nullptr ? job_of(job).pods_ready : jobset.pods_ready(parts);
}

Stages DescribedKind::stages(const TypedObject& job) const {
  const JobSetPtr& parts = job_of(job).parts;
  return parts == nullptr ? Stages{} : jobset.stages(parts);
}

std::optional<JobEnd> DescribedKind::end(const TypedObject& object) const {
  const std::optional<DescribedEnd>& end = job_of(object).end;
  return end ? std::optional(JobEnd{end->success, end->message}) : std::nullopt;
}

std::vector<PodSet> DescribedKind::pod_set_shapes(const TypedObject& job, const RuleSettings&) const {
  return pod_sets_of(job_of(job));
}

std::vector<ReclaimablePod> DescribedKind::reclaimable_pods(const TypedObject& job) const {
  std::vector<ReclaimablePod> pods;
  for (const DescribedPodSet& pod_set : job_of(job).pod_sets) {
    if (pod_set.reclaimable > 0) pods.push_back({pod_set.name, pod_set.reclaimable});
  }
  return pods;
}

bool DescribedKind::is_written(const TypedObject& job, size_t pod_set) const {
  return pod_set >= job_of(job).pod_sets.size() || job_of(job).pod_sets[pod_set].written;
}

std::optional<Result<json>> DescribedKind::own_start(const TypedObject& job,
                                                     const std::vector<PodSetInfo>& infos) const {
  return edits_ == nullptr ? std::nullopt : std::optional(edits_->start(job_of(job), infos));
}

std::optional<json> DescribedKind::own_restore(const TypedObject& job, const std::vector<PodSetInfo>& infos) const {
  return edits_ == nullptr ? std::nullopt : std::optional(edits_->restore(job_of(job), infos));
}

json DescribedKind::topology_labels(const TypedObject& job, size_t pod_set) const {
  const auto& pod_sets = job_of(job).pod_sets;
  if (pod_set < pod_sets.size() && !pod_sets[pod_set].topology_labels.empty())
    return json::parse(pod_sets[pod_set].topology_labels, nullptr, false);
  return kind_.pod_index_label.empty() ? json::object() : json{{"podIndexLabel", kind_.pod_index_label}};
}

std::string_view DescribedKind::pod_priority_class(const TypedObject& job) const {
  return job_of(job).priority_class;
}

json DescribedKind::edit(const TypedObject& object, const std::vector<json>& patches,
                         const std::vector<PodSetInfo>*) const {
  const DescribedJob& job = job_of(object);
  // Pod sets with another number belong to another version of the job.
  if (patches.size() != job.pod_sets.size()) return nullptr;
  json patch;
  for (size_t i = 0; i < kind_.pod_sets.size(); ++i) {
    const PodSetSource& source = kind_.pod_sets[i];
    json whole;
    for (size_t j = 0; j < job.pod_sets.size(); ++j) {
      if (job.pod_sets[j].source != i || patches[j].is_null()) continue;
      whole = source.each ? patched_list(source, job, i, patches)
                          : source.pod_template.patch(patched(job.pod_sets[j], patches[j]));
      if (source.each) break;
    }
    if (!whole.is_null()) patch.update(source.path.patch(std::move(whole)), true);
  }
  return patch;
}

json DescribedKind::suspend_patch(bool suspend) const {
  return kind_.suspend.patch(suspend == kind_.suspended_when);
}

}  // namespace muster::jobs
