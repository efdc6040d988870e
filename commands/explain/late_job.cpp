#include "commands/explain/late_job.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "explain/late_pods.h"
#include "jobs/job_kind.h"
#include "runtime/pod_lists.h"

namespace muster::commands {
namespace {

using nlohmann::json;

struct LateJob {
  std::string pods{};  // label selector
  PodQuestion question{};
};

Timestamp start_of(const json& object) {
  const json* time = find_path(object, {"status", "startTime"});
  const auto start = time == nullptr ? Result<Timestamp>(Timestamp{}) : parse_time(*time);
  return start ? *start : Timestamp{};
}

// The Jobs of a JobSet make its pods. Who may not list Jobs knows them by their names.
void add_jobs_of(kube::KubeApi& api, const JobSet& jobset, PodQuestion& question) {
  question.wanted = 0;
  for (const ReplicatedJob& each : jobset.replicated_jobs)
    question.wanted += int64_t{each.replicas} * pods_at_once(each.parallelism, each.completions);
  kube::KubeRequest request;
  request.path = kube::collection_path(kube::resource_of(kJobs), jobset.meta.ns);
  request.query = {{"labelSelector", std::string(kJobSetNameKey) + "=" + jobset.meta.name}, {"limit", "1000"}};
  request.accept = kube::accept_header(true, "PartialObjectMetadataList");
  request.once = true;
  const auto jobs = api.send(request, {});
  question.owner.by_name = !jobs.ok();
  if (!jobs) return;
  for (const json& job : array_at(*jobs, {"items"})) {
    const auto controller = controller_of(job);
    if (controller && controller->uid == jobset.meta.uid)
      question.owner.uids.emplace(string_at(job, {"metadata", "uid"}));
  }
}

std::optional<LateJob> late_job(kube::KubeApi& api, const ResourceType& type, const std::string& ns,
                                const std::string& name) {
  const jobs::JobKind* kind = jobs::find_job_kind(type);
  if (kind == nullptr) return std::nullopt;
  const auto object = api.get(kube::resource_of(type), ns, name);
  if (!object) return std::nullopt;
  const TypedObject job = read_object(kind->type, *object);
  LateJob late{.pods = kind->pod_selector(job)};
  PodOwner& owner = late.question.owner;
  owner.kind = type.kind;
  owner.name = name;
  owner.uids = {meta_of(job).uid};
  late.question.since = start_of(*object);
  if (const auto* batch_job = std::get_if<JobPtr>(&job))
    late.question.wanted = (*batch_job)->pods_expected();
  else if (const auto* jobset = std::get_if<JobSetPtr>(&job))
    add_jobs_of(api, **jobset, late.question);
  else
    owner.by_name = true;
  return late;
}

// The job of a Workload, or its group of pods.
std::optional<LateJob> late_workload(kube::KubeApi& api, const std::string& ns, const std::string& name) {
  const auto object = api.get(kube::resource_of(kWorkloads), ns, name);
  if (!object) return std::nullopt;
  const auto controller = controller_of(*object);
  if (controller && controller->kind == "Pod") return std::nullopt;  // explain pod/NAME says it
  if (controller) {
    const jobs::JobKind* kind = jobs::find_job_kind(*controller);
    return kind == nullptr ? std::nullopt : late_job(api, kind->type, ns, controller->name);
  }
  if (string_at(*object, {"kind"}).empty() || array_at(*object, {"metadata", "ownerReferences"}).empty())
    return std::nullopt;
  LateJob late{.pods = std::string(kPodGroupName) + "=" + name};
  late.question.owner = {.kind = std::string(kWorkloads.kind), .name = name, .uids = {}, .all = true};
  late.question.wanted = 0;
  for (const json& pod_set : array_at(*object, {"spec", "podSets"}))
    late.question.wanted += int_at(pod_set, {"count"}).value_or(1);
  return late;
}

std::string cannot_see(const std::string& what, const std::string& ns, const std::string& why, bool forbidden) {
  const std::string place = what + " of namespace " + ns;
  if (forbidden)
    return "You cannot list " + place + ": why pods are late is known from the conditions of the Workload and its "
           "history alone.";
  return "The " + place + " could not be read (" + readable_text(why, 200) + "), so the reason of late pods can be missing.";
}

}  // namespace

void add_late_pods(kube::KubeApi& api, const ObjectKey& key, ExplainReply& reply) {
  if (!explain::leaves_pods_open(reply)) return;
  const auto late = key.type->plural == kWorkloads.plural ? late_workload(api, key.ns, key.name)
                                                          : late_job(api, *key.type, key.ns, key.name);
  if (!late || late->pods.empty()) return;
  const runtime::SeenPods seen = runtime::see_pods(api, key.ns, late->pods, late->question, {});
  if (!seen.pods_refused.empty()) {
    reply.notes.push_back(cannot_see("pods", key.ns, seen.pods_refused, seen.pods_forbidden));
    return;
  }
  if (!seen.events_refused.empty())
    reply.notes.push_back(cannot_see("events", key.ns, seen.events_refused, seen.events_forbidden));
  if (seen.cut) reply.notes.push_back("Only the first " + std::to_string(seen.pods.size()) + " pods were read.");
  if (const auto reason = why_pods_are_late(late->question, seen.pods, seen.events))
    explain::add_pod_reason(*reason, reply);
}

}  // namespace muster::commands
