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

// The Jobs of a JobSet make its pods. A user who cannot list Jobs knows them by their names.
void add_jobs_of(kube::KubeApi& api, const ObjectReference& jobset, PodQuestion& question) {
  kube::KubeRequest request;
  request.path = kube::collection_path(kube::resource_of(kJobs), jobset.ns);
  request.query = {{"labelSelector", std::string(kJobSetNameKey) + "=" + jobset.name}, {"limit", "1000"}};
  request.accept = kube::accept_header(true, "PartialObjectMetadataList");
  request.once = true;
  const auto jobs = api.send(request, {});
  question.owner.by_name = !jobs.ok();
  if (!jobs) return;
  for (const json& job : array_at(*jobs, {"items"})) {
    const auto controller = controller_of(job);
    if (controller && controller->uid == jobset.uid) question.owner.uids.emplace(string_at(job, {"metadata", "uid"}));
  }
}

std::optional<explain::LateJob> find_job(kube::KubeApi& api, const ResourceType& type, const std::string& ns,
                                         const std::string& name) {
  const jobs::JobKind* kind = jobs::find_job_kind(type);
  if (kind == nullptr) return std::nullopt;
  const auto object = api.get(kube::resource_of(type), ns, name);
  if (!object) return std::nullopt;
  explain::LateJob late = explain::late_job_of(*kind, read_object(kind->type, *object));
  if (type == kJobSets) add_jobs_of(api, late.job, late.question);
  return late;
}

// The job of a Workload, or its group of pods.
std::optional<explain::LateJob> find_job_of_workload(kube::KubeApi& api, const std::string& ns,
                                                     const std::string& name) {
  const auto object = api.get(kube::resource_of(kWorkloads), ns, name);
  if (!object) return std::nullopt;
  if (const auto controller = controller_of(*object)) {
    const jobs::JobKind* kind = jobs::find_job_kind(*controller);
    return kind == nullptr ? std::nullopt : find_job(api, kind->type, ns, controller->name);
  }
  if (array_at(*object, {"metadata", "ownerReferences"}).empty()) return std::nullopt;
  int64_t pods = 0;
  for (const json& pod_set : array_at(*object, {"spec", "podSets"})) pods += int_at(pod_set, {"count"}).value_or(1);
  return explain::late_group_of(ns, name, pods);
}

std::string cannot_see(const std::string& what, const std::string& ns, const std::string& why, bool forbidden) {
  const std::string place = what + " of namespace " + ns;
  if (forbidden)
    return "You cannot list " + place +
           ": why pods are late is known from the conditions of the Workload and its "
           "history alone.";
  return "The " + place + " could not be read (" + readable_text(why, 200) +
         "), so the reason of late pods can be missing.";
}

}  // namespace

void add_late_pods(kube::KubeApi& api, const ObjectKey& key, ExplainReply& reply) {
  if (!explain::leaves_pods_open(reply)) return;
  const auto late = *key.type == kWorkloads ? find_job_of_workload(api, key.ns, key.name)
                                            : find_job(api, *key.type, key.ns, key.name);
  if (!late || late->pods.empty()) return;
  const runtime::SeenPods seen = runtime::see_pods(api, key.ns, late->pods, late->question, {});
  if (!seen.pods_refused.empty()) {
    reply.notes.push_back(cannot_see("pods", key.ns, seen.pods_refused, seen.pods_forbidden));
    return;
  }
  if (!seen.events_refused.empty())
    reply.notes.push_back(cannot_see("events", key.ns, seen.events_refused, seen.events_forbidden));
  if (seen.cut) reply.notes.push_back("Only the first " + std::to_string(seen.pods.size()) + " pods were read.");
  if (const auto reason = runtime::why_pods_are_late(late->question, seen)) explain::add_pod_reason(*reason, reply);
}

}  // namespace muster::commands
