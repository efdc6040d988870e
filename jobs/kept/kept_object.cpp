#include "jobs/kept/kept_object.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config_map.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/pod.h"
#include "api/pods/in_place_pod.h"
#include "api/pods/queued_pod.h"
#include "base/overloaded.h"
#include "jobs/group_scheduling.h"
#include "jobs/kept/object_bytes.h"
#include "jobs/management.h"
#include "kinds/kind_description.h"
#include "kinds/unqueued_kinds.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

enum class Extent { kFacts, kPart, kWhole };

// --- Metadata and texts ---

// What muster reads of the metadata of objects that it does not queue.
constexpr std::string_view kReadPrefixes[] = {
    kKueueKeyPrefix,        kMusterKeyPrefix,      "jobset.sigs.k8s.io/",         "alpha.jobset.sigs.k8s.io/",
    "batch.kubernetes.io/", "apps.kubernetes.io/", "leaderworkerset.sigs.k8s.io/"};
// Of all of its labels and annotations together, with what each takes in a map. The Jobs and pods of JobSets have 5
// KiB.
constexpr size_t kMostBytesOfKeys = size_t{2} * 1024;
constexpr size_t kMostBytesOfKeysOfAPart = size_t{8} * 1024;
constexpr size_t kBytesOfAnEntry = 96;
// Longer than every name, uid and value that means something. A text that is cut is still not equal to any of them.
constexpr size_t kLongestName = 1024;

// Gives the memory back, which an assignment to a string or a list does not.
template <class Value>
void drop(Value& value) {
  Value none{};
  std::swap(value, none);
}

bool is_read(std::string_view key) {
  return std::any_of(std::begin(kReadPrefixes), std::end(kReadPrefixes),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

void keep_read(Labels& map, size_t& room) {
  std::erase_if(map, [&](const auto& entry) {
    const size_t bytes = kBytesOfAnEntry + entry.first.size() + entry.second.size();
    if (!is_read(entry.first) || bytes > room) return true;
    room -= bytes;
    return false;
  });
}

void cut(std::string& text) {
  if (text.size() <= kLongestName) return;
  text.resize(kLongestName);
  text.shrink_to_fit();
}

void cut(SharedText& text) {
  if (text.text().size() > kLongestName) text = SharedText(text.text().substr(0, kLongestName));
}

// A selector of which a part is left means something else.
void drop_if_long(std::string& selector) {
  if (selector.size() > kLongestName) drop(selector);
}

void cut(std::optional<Barrier>& barrier) {
  if (!barrier) return;
  cut(barrier->config_map);
  cut(barrier->epoch);
}

void shorten(ObjectMeta& meta) {
  size_t room = meta.controller ? kMostBytesOfKeysOfAPart : kMostBytesOfKeys;
  keep_read(meta.labels, room);
  keep_read(meta.annotations, room);
  // Whether its deletion waits for its pods is asked when quota is released.
  std::erase_if(meta.finalizers, [](const SharedText& finalizer) { return finalizer.text() != "foregroundDeletion"; });
  meta.finalizers.shrink_to_fit();
  if (!meta.controller) return;
  cut(meta.controller->api_version);
  cut(meta.controller->kind);
  cut(meta.controller->name);
  cut(meta.controller->uid);
}

template <class Pointer>
auto copy_of(const Pointer& object) {
  auto copy = std::make_shared<std::remove_const_t<typename Pointer::element_type>>(*object);
  shorten(copy->meta);
  return copy;
}

// --- Pod templates ---

// Equal templates are shared, and those of most jobs are so small.
constexpr size_t kSmallTemplate = size_t{4} * 1024;

// What its pods request, and nothing else.
void keep_requests(PodTemplate& pod_template) {
  if (pod_template.spec == nullptr ||
      pod_template.spec->text.size() + pod_template.metadata_text.size() <= kSmallTemplate)
    return;
  drop(pod_template.metadata_text);
  pod_template.metadata_text = "{}";
  pod_template.spec = read_requests(json::parse(pod_template.spec->text, nullptr, false));
}

// --- Kinds of jobs ---

// Of a namespace whose labels can decide, they can change.
bool can_be_managed(const std::string& ns, const RuleSettings& settings) {
  const auto managed = in_managed_namespace(settings, ns, nullptr);
  return !managed || *managed;
}

Extent extent_of(const JobKind& kind, const ObjectMeta& meta, const RuleSettings& settings) {
  const bool asks = !meta.label(kQueueNameLabel).empty() ||
                    (settings.manage_jobs_without_queue_name && can_be_managed(meta.ns, settings));
  if (asks && kind.is_enabled(settings)) return Extent::kWhole;
  return meta.controller && find_owner_kind(*meta.controller, settings) != nullptr ? Extent::kPart : Extent::kFacts;
}

template <class Kind>
bool is_small(const std::shared_ptr<Kind>& job) {
  return bytes_of(TypedObject(std::shared_ptr<const Kind>(job))) <= kMostBytesOfAPart;
}

bool is_of_jobset(const Job& job) {
  return job.meta.controller && job_type_of(*job.meta.controller) == &kJobSets;
}

TypedObject kept_job(const JobPtr& job, const ReconcilerSettings& settings) {
  const Extent extent = extent_of(batch_job, job->meta, settings.queues.rules);
  if (extent == Extent::kWhole) return job;
  auto kept = copy_of(job);
  cut(kept->managed_by);
  drop_if_long(kept->pod_selector);
  cut(kept->barrier);
  if (!kept->barrier) {
    drop(kept->status.completed_indexes);
    drop(kept->status.failed_indexes);
  }
  // What a resumed Job of a JobSet must have again (reconcilers/jobset/jobset_child.h).
  const bool resumes = settings.queues.rules.runs_jobsets() && is_of_jobset(*job);
  if (!resumes || job->tolerations_text.size() + job->scheduling_gates_text.size() > kMostBytesOfAPart) {
    drop(kept->tolerations_text);
    drop(kept->scheduling_gates_text);
  }
  if (extent == Extent::kPart) keep_requests(kept->pod_template);
  if (extent != Extent::kPart || !is_small(kept)) {
    drop(kept->pod_template);
    kept->requests.reset();
  }
  return kept;
}

// muster makes its Jobs, of the texts. `readable` where it is a part: its requests are known.
TypedObject kept_own_jobset(const JobSetPtr& jobset) {
  auto kept = std::make_shared<JobSet>(*jobset);
  for (ReplicatedJob& replicated : kept->replicated_jobs) keep_requests(replicated.pod_template);
  return kept;
}

TypedObject kept_jobset(const JobSetPtr& jobset, const ReconcilerSettings& settings) {
  const Extent extent = extent_of(muster::jobs::jobset, jobset->meta, settings.queues.rules);
  if (extent == Extent::kWhole) return jobset;
  if (settings.queues.rules.runs_jobsets() && muster::jobs::jobset.is_managed_by(jobset->managed_by))
    return kept_own_jobset(jobset);
  auto kept = copy_of(jobset);
  cut(kept->managed_by);
  drop(kept->subdomain);
  kept->subdomain = kept->meta.name;
  drop(kept->success.targets);
  kept->failure.reset();
  kept->coordinator.reset();
  drop(kept->volume_claims);
  drop(kept->unsupported);
  const bool is_gang = std::any_of(kept->replicated_jobs.begin(), kept->replicated_jobs.end(),
                                   [](const ReplicatedJob& replicated) { return replicated.barrier.has_value(); });
  if (!is_gang) drop(kept->status.replicated_jobs);
  for (ReplicatedJob& replicated : kept->replicated_jobs) {
    cut(replicated.barrier);
    drop(replicated.template_text);
    drop(replicated.rest_text);
    if (extent == Extent::kPart) keep_requests(replicated.pod_template);
  }
  if (extent == Extent::kPart && is_small(kept)) return kept;
  for (ReplicatedJob& replicated : kept->replicated_jobs) drop(replicated.pod_template);
  if (is_gang || kept->replicated_jobs.empty()) return kept;
  // One without a template, so that it does not read as a job without pods.
  drop(kept->replicated_jobs);
  kept->replicated_jobs.resize(1);
  return kept;
}

// What a hook keeps of serving kinds.
constexpr size_t kMostBytesOfNumbers = 1024;

TypedObject kept_described(const DescribedJobPtr& job, const RuleSettings& settings) {
  const JobKind* kind = find_job_kind(job->kind->type());
  const Extent extent = kind == nullptr ? Extent::kFacts : extent_of(*kind, job->meta, settings);
  if (extent == Extent::kWhole) return job;
  auto kept = copy_of(job);
  cut(kept->managed_by);
  drop_if_long(kept->pod_selector);
  cut(kept->priority_class);
  cut(kept->unreadable);
  cut(kept->awaited);
  if (kept->end) cut(kept->end->message);
  // A start writes these.
  for (auto& list : kept->lists) drop(list);
  const bool makes_pod_sets_of_it = job->kind->hook != nullptr && job->kind->hook->consult != nullptr;
  if (kept->kept.size() > kMostBytesOfNumbers && !(extent == Extent::kPart && makes_pod_sets_of_it)) drop(kept->kept);
  if (extent == Extent::kPart) {
    for (DescribedPodSet& pod_set : kept->pod_sets) keep_requests(pod_set.pod_template);
    if (is_small(kept)) return kept;
  }
  drop(kept->pod_sets);
  if (kept->kept.size() > kMostBytesOfNumbers) drop(kept->kept);
  return kept;
}

// --- Pods and what gangs and JobSets have ---

TypedObject kept_queued_pod(const QueuedPodPtr& pod, const RuleSettings& settings) {
  // Pods of a group, and those that a set makes, are in its queue.
  if (!pod->group().empty() || !pod->meta.annotation(kSuspendingParent).empty() ||
      extent_of(plain_pod, pod->meta, settings) == Extent::kWhole)
    return pod;
  static const PodSpecPtr kNone = std::make_shared<const PodSpec>(json::object());
  auto kept = copy_of(pod);
  // muster takes its finalizer out of the list of every pod in deletion, and writes the others again.
  size_t bytes = 0;
  for (const SharedText& finalizer : pod->meta.finalizers) bytes += sizeof(finalizer) + finalizer.text().size();
  if (bytes <= kMostBytesOfKeys) kept->meta.finalizers = pod->meta.finalizers;
  kept->spec = kNone;
  std::erase_if(kept->gates, [](const std::string& gate) { return gate != kAdmissionGate; });
  kept->gates.shrink_to_fit();
  drop(kept->message);
  cut(kept->role);
  drop(kept->conditions_text);
  kept->conditions_text = "[]";
  return kept;
}

TypedObject kept_gang_pod(const PodPtr& pod) {
  auto kept = copy_of(pod);
  cut(kept->barrier_config_map);
  cut(kept->hindrance);
  return kept;
}

// muster's own have a controller.
TypedObject kept_config_map(const ConfigMapPtr& map) {
  auto kept = copy_of(map);
  const bool is_of_gang = map->meta.controller && map->meta.name.ends_with(kGroupConfigMapSuffix);
  std::erase_if(kept->data, [&](const auto& entry) {
    const std::string& key = entry.first;
    return !is_of_gang || (key != kGroupStartedKey && key != kGroupExpiredKey && key != kGroupDeadlinesKey);
  });
  return kept;
}

}  // namespace

TypedObject kept_of(const TypedObject& object, const ReconcilerSettings& settings) {
  return std::visit(Overloaded{
                        [&](const JobPtr& job) { return kept_job(job, settings); },
                        [&](const JobSetPtr& jobset) { return kept_jobset(jobset, settings); },
                        [&](const DescribedJobPtr& job) { return kept_described(job, settings.queues.rules); },
                        [&](const QueuedPodPtr& pod) { return kept_queued_pod(pod, settings.queues.rules); },
                        [](const PodPtr& pod) { return kept_gang_pod(pod); },
                        [](const InPlacePodPtr& pod) { return TypedObject(InPlacePodPtr(copy_of(pod))); },
                        [](const ConfigMapPtr& map) { return kept_config_map(map); },
                        [](const ServicePtr& service) { return TypedObject(ServicePtr(copy_of(service))); },
                        [](const PlainObjectPtr& plain) {
                          const bool of_jobset = plain->type->kind == kPersistentVolumeClaims.kind;
                          return of_jobset ? TypedObject(PlainObjectPtr(copy_of(plain))) : TypedObject(plain);
                        },
                        [](const auto& other) { return TypedObject(other); },
                    },
                    object);
}

}  // namespace muster::jobs
