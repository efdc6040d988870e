#include "explain/late_pods.h"

#include <algorithm>
#include <utility>

#include "api/job.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "state/index/indexes.h"

namespace muster::explain {
namespace {

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string command(const ExplainReply& reply, const std::string& rest) {
  return "kubectl -n " + reply.ns + " " + rest;
}

// The causes that Kubernetes' own admission has, by its own words.
std::string remedy_of_refusal(const PodReason& reason, const ExplainReply& reply) {
  if (says(reason.text, "exceeded quota") || says(reason.text, "failed quota"))
    return "Ask an administrator for more of the ResourceQuota, or request less; " +
           command(reply, "describe resourcequotas") + " shows what is used.";
  if (says(reason.text, "violates PodSecurity"))
    return "Change securityContext of the pod template to what the message asks for; the label "
           "pod-security.kubernetes.io/enforce of the namespace has the level.";
  if (says(reason.text, "serviceaccount") && says(reason.text, "not found"))
    return "Create the ServiceAccount that the message names, or name another one in the pod template.";
  if (says(reason.text, "usage per") || says(reason.text, "limit to request ratio"))
    return "Change requests and limits to what the LimitRange allows; " + command(reply, "describe limitranges") +
           " shows it.";
  if (says(reason.text, "admission webhook"))
    return "Correct what the webhook names; ask its owner, if the message does not say what.";
  return "Correct what the API server names. The controller of the job tries again by itself.";
}

std::string container_option(const PodReason& reason) {
  const size_t name = reason.container.rfind(' ');
  return name == std::string::npos ? "" : " -c " + reason.container.substr(name + 1);
}

std::string remedy_of_container(const PodReason& reason, const ExplainReply& reply) {
  if (says(reason.token, "Image") || says(reason.token, "Registry"))
    return "Correct the name of the image, or give the pod an imagePullSecret that can pull it; " +
           command(reply, "describe pod " + reason.name) + " has the registry's answer.";
  if (says(reason.token, "Config"))
    return "Create the ConfigMap or Secret that the message names, or correct its name in the pod template.";
  return "Read why it ended: " + command(reply, "logs " + reason.name + container_option(reason) + " --previous");
}

std::string remedy_of(const PodReason& reason, const ExplainReply& reply) {
  switch (reason.problem) {
    case PodProblem::kNotCreated:
      return remedy_of_refusal(reason, reply);
    case PodProblem::kUnschedulable:
      return "Starts when a Node fits: wait for one, ask an administrator, or change the node selector, affinity or "
             "tolerations of the pod template.";
    case PodProblem::kContainer:
      return remedy_of_container(reason, reply);
    case PodProblem::kFailed:
      return "Read why: " + command(reply, "logs " + reason.name + container_option(reason));
    case PodProblem::kNode:
      return "Correct what the message names; " + command(reply, "describe pod " + reason.name) +
             " shows each attempt.";
    case PodProblem::kGated:
      return "Whoever set the gates must remove them: " +
             command(reply, "get pod " + reason.name + " -o jsonpath='{.spec.schedulingGates}'") + " names them.";
    case PodProblem::kInitializing:
      return "See what it does: " + command(reply, "logs " + reason.name + container_option(reason));
    case PodProblem::kNotReady:
    case PodProblem::kStarting:
    case PodProblem::kNotScheduled:
      break;
  }
  return command(reply, "describe pod " + reason.name) + " shows how far it is.";
}

}  // namespace

LateJob late_job_of(const jobs::JobKind& kind, const TypedObject& job) {
  const ObjectMeta& meta = meta_of(job);
  LateJob late{.ns = meta.ns,
               .pods = kind.pod_selector(job),
               .job = {.api_version = std::string(kind.type.api_version),
                       .kind = std::string(kind.type.kind),
                       .ns = meta.ns,
                       .name = meta.name,
                       .uid = meta.uid}};
  PodQuestion& question = late.question;
  question.owner = {.kind = std::string(kind.type.kind), .name = meta.name, .uids = {meta.uid}};
  if (const auto* batch_job = std::get_if<JobPtr>(&job)) {
    question.wanted = (*batch_job)->pods_expected();
    question.since = (*batch_job)->status.start_time;
  } else if (const auto* jobset = std::get_if<JobSetPtr>(&job)) {
    question.wanted = 0;
    for (const ReplicatedJob& each : (*jobset)->replicated_jobs)
      question.wanted += int64_t{each.replicas} * pods_at_once(each.parallelism, each.completions);
  } else {
    question.owner.by_name = true;
  }
  return late;
}

LateJob late_group_of(const std::string& ns, const std::string& name, int64_t pods) {
  LateJob late{.ns = ns, .pods = std::string(kPodGroupName) + "=" + name};
  late.question.owner.all = true;
  late.question.wanted = pods;
  return late;
}

std::optional<LateJob> late_job_of(const Workload& workload, const state::ClusterState& state) {
  const std::string& ns = workload.meta.ns;
  const auto& controller = workload.meta.controller;
  if (!controller) {
    if (state.share_by(state::kPodsByGroup, {ns, workload.meta.name}).empty()) return std::nullopt;
    int64_t pods = 0;
    for (const PodSet& pod_set : workload.pod_sets) pods += pod_set.count;
    return late_group_of(ns, workload.meta.name, pods);
  }
  const jobs::JobKind* kind = jobs::find_job_kind(*controller);
  const TypedObject* job = kind == nullptr ? nullptr : state.find(kind->type, ns, controller->name);
  if (job == nullptr || meta_of(*job).uid != controller->uid) return std::nullopt;
  LateJob late = late_job_of(*kind, *job);
  if (std::holds_alternative<JobSetPtr>(*job)) {
    for (const Job* each : state.by(state::kJobsByJobSet, {ns, controller->name})) {
      if (each->meta.controller && each->meta.controller->uid == controller->uid)
        late.question.owner.uids.insert(each->meta.uid);
    }
  }
  return late.pods.empty() ? std::nullopt : std::optional(std::move(late));
}

bool leaves_pods_open(const ExplainReply& reply) {
  return reply.says(ExplainReason::kPodsNotReady) || reply.says(ExplainReason::kAdmitted) ||
         reply.says(ExplainReason::kJobsMissing);
}

void add_pod_reason(const PodReason& reason, ExplainReply& reply) {
  if (!leaves_pods_open(reply)) return;
  reply.because.insert(reply.because.begin(), sentence_of(reason) + ".");
  reply.add_fact("Pods are late by", reason.token);
  // The headline is what `explain -w` compares.
  if (reply.headline.ends_with('.')) reply.headline.pop_back();
  reply.headline += " (" + reason.token + ").";
  reply.change = {remedy_of(reason, reply)};
}

}  // namespace muster::explain
