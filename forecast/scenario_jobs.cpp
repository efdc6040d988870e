// Workloads of a cluster, and jobs of every kind.
#include "api/meta/constants.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "forecast/scenario_build.h"
#include "jobs/prebuilt_workload.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"

namespace muster::forecast {
namespace {

using nlohmann::json;

constexpr std::string_view kNoPods =
    "the integration pod is not enabled; name it in integrations.frameworks of --config";

}  // namespace

Outcome<> ScenarioBuild::take_workloads() {
  for (const SourceObject& source : objects_) {
    if (string_at(source.value, {"kind"}) != kWorkloads.kind || group_in(source.value) != kWorkloads.group) continue;
    if (options_.random) {
      ++stored_beside_templates_;
      continue;
    }
    WorkloadPtr workload = read_workload(source.value);
    if (workload->meta.controller) owned_.insert(workload->meta.controller->uid);
    for (const json& owner : array_at(source.value, {"metadata", "ownerReferences"}))
      owned_.emplace(string_at(owner, {"uid"}));
    if (workload->finished() || workload->meta.deleting) {
      ++over_;
      continue;
    }
    auto traits = job_traits(workload->meta.annotations);
    std::string error = traits ? "" : traits.error().message;
    if (traits && (traits->arrival || traits->arrival_time || traits->copies > 1))
      error = "metadata.annotations: a stored Workload is there from the start: arrival and copies are for jobs";
    if (!error.empty()) {
      if (auto noted = wrong_annotation(source, error); !noted) return noted;
    }
    stored_.push_back({&source, std::move(workload), error.empty() ? *traits : JobTraits{}});
  }
  return Done{};
}

Duration ScenarioBuild::assumed_run_time(const Workload& workload) {
  if (workload.maximum_execution_seconds) return std::chrono::seconds(*workload.maximum_execution_seconds);
  ++assumed_;
  return options_.run_time;
}

ShapeContext ScenarioBuild::scene_in(std::string_view ns) {
  return {{state_, decisions_, options_.settings, now()},
          [this, ns = std::string(ns)](const ConsultedKind& kind, std::string_view name) -> const json* {
            for (const SourceObject& source : objects_) {
              const json& object = source.value;
              const bool there = !kind.namespaced || string_at(object, {"metadata", "namespace"}) == ns;
              if (there && string_at(object, {"kind"}) == kind.kind && group_in(object) == kind.group &&
                  name_in(object) == name)
                return &object;
            }
            return nullptr;
          }};
}

Outcome<> ScenarioBuild::take_jobs() {
  for (const SourceObject& source : objects_) {
    const json& object = source.value;
    const jobs::JobKind* kind = jobs::find_job_kind(group_in(object), string_at(object, {"kind"}));
    if (kind == nullptr) {
      if (!is_known(object)) ++others_[std::string(string_at(object, {"kind"}))];
      continue;
    }
    if (kind == &jobs::plain_pod) continue;
    if (auto done = take_job(*kind, source); !done) return done;
  }
  return Done{};
}

bool ScenarioBuild::is_known(const json& object) {
  return basic_type(group_in(object), string_at(object, {"kind"})) != nullptr ||
         (string_at(object, {"kind"}) == kWorkloads.kind && group_in(object) == kWorkloads.group) ||
         (string_at(object, {"kind"}) == "Node" && group_in(object).empty());
}

Outcome<> ScenarioBuild::take_job(const jobs::JobKind& kind, const SourceObject& source) {
  const json& object = source.value;
  const ObjectMeta meta = read_meta(object);
  const auto traits = job_traits(meta.annotations);
  if (!traits) return wrong(source, traits.error().message);
  if (kind.is_serving()) serving_owners_.insert(meta.uid);
  if (owned_.contains(meta.uid)) {
    traits_of_owners_.emplace(meta.uid, *traits);
    return Done{};
  }
  if (is_part_of_another(meta)) return Done{};
  if (kind.is_serving()) return take_serving(kind, source, *traits);
  if (meta.label(kQueueNameLabel).empty()) {
    ++queueless_;
    return Done{};
  }
  if (!kind.is_enabled(options_.settings.queues.rules))
    return wrong(source, "the integration " + std::string(kind.framework) +
                             " is not enabled; name it in integrations.frameworks of --config");
  if (jobs::prebuilt_workload_name_of(options_.settings.queues.rules, meta))
    return wrong(source, "names a prebuilt Workload that is not in the input or is owned by another job");
  if (!kind.is_managed_by(kind.managed_by(read_object(kind.type, object)))) {
    ++foreign_;
    return Done{};
  }
  if (const auto end = kind.end(read_object(kind.type, object))) {
    ++over_;
    return Done{};
  }
  auto shape = shape_of_job(kind, object, scene_in(meta.ns));
  if (!shape) return wrong(source, shape.error().message);
  add(*std::move(shape), *traits, false);
  return Done{};
}

Outcome<> ScenarioBuild::take_serving(const jobs::JobKind& kind, const SourceObject& source, const JobTraits& traits) {
  const ObjectMeta meta = read_meta(source.value);
  const bool is_set = kind.type == kStatefulSets || kind.type == kLeaderWorkerSets;
  if (is_set && !meta.label(kQueueNameLabel).empty()) {
    if (!kind.is_enabled(options_.settings.queues.rules))
      return wrong(source, "the integration " + std::string(kind.framework) +
                               " is not enabled; name it in integrations.frameworks of --config");
    auto shapes = shapes_of_set(kind, source.value, scene_in(meta.ns));
    if (!shapes) return wrong(source, shapes.error().message);
    if (shapes->empty()) ++without_replicas_;
    for (JobShape& shape : *shapes) add(std::move(shape), traits, true);
    return Done{};
  }
  for (const json& pod : pods_of_serving(kind, source.value)) {
    if (read_meta(pod).label(kQueueNameLabel).empty()) {
      ++queueless_;
      continue;
    }
    if (!jobs::plain_pod.is_enabled(options_.settings.queues.rules)) return wrong(source, std::string(kNoPods));
    auto shape = shape_of_pods({pod}, scene_in(string_at(source.value, {"metadata", "namespace"})));
    if (!shape) return wrong(source, shape.error().message);
    add(*std::move(shape), traits, true);
  }
  return Done{};
}

bool ScenarioBuild::is_part_of_another(const ObjectMeta& meta) const {
  return meta.controller && uids_of_jobs_.contains(meta.controller->uid);
}

Outcome<> ScenarioBuild::take_pods() {
  std::map<std::pair<std::string, std::string>, std::vector<const SourceObject*>> groups;
  for (const SourceObject& source : objects_) {
    if (string_at(source.value, {"kind"}) != "Pod" || !group_in(source.value).empty()) continue;
    if (is_bound_outside(source.value)) {
      bound_.push_back(&source);
      continue;
    }
    const QueuedPodPtr pod = read_queued_pod(source.value);
    if (!pod->meta.annotation(kSuspendingParent).empty() || pod->meta.annotation(kPodGroupServing) == "true")
      serving_owners_.insert(pod->meta.uid);
    if (owned_.contains(pod->meta.uid) || is_part_of_another(pod->meta)) continue;
    if (pod->meta.label(kQueueNameLabel).empty()) {
      ++queueless_;
      continue;
    }
    const std::string group(pod->group().empty() ? "pod/" + pod->meta.name : pod->group());
    groups[{pod->meta.ns, group}].push_back(&source);
  }
  for (const auto& [name, sources] : groups) {
    std::vector<json> pods;
    for (const SourceObject* source : sources) pods.push_back(source->value);
    if (!jobs::plain_pod.is_enabled(options_.settings.queues.rules))
      return wrong(*sources.front(), std::string(kNoPods));
    const auto traits = job_traits(read_meta(pods.front()).annotations);
    if (!traits) return wrong(*sources.front(), traits.error().message);
    auto shape = shape_of_pods(pods, scene_in(name.first));
    if (!shape) return wrong(*sources.front(), shape.error().message);
    add(*std::move(shape), *traits, read_meta(pods.front()).annotation(kPodGroupServing) == "true");
  }
  return Done{};
}

void ScenarioBuild::add(JobShape shape, const JobTraits& traits, bool serves) {
  shape.keeps_progress = traits.keeps_progress;
  shape.weight = traits.weight;
  shape.run_time = traits.run_time;
  if (!serves && !shape.run_time) shape.run_time = assumed_run_time(*shape.workload);
  read_.scenario.shapes.push_back(std::move(shape));
  traits_.push_back(traits);
}

}  // namespace muster::forecast
