#include "explain/explain.h"

#include <algorithm>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "base/ascii.h"
#include "explain/explain_context.h"
#include "jobs/job_kind.h"
#include "jobs/management.h"
#include "jobs/naming/named_kind.h"
#include "jobs/prebuilt_workload.h"
#include "reconcilers/job/job_workload_make.h"
#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/job/job_workload_standing.h"
#include "reconcilers/job/prebuilt_difference.h"
#include "state/index/indexes.h"
#include "state/unsupported.h"

namespace muster::explain {
namespace {

void start_outside(const jobs::QueuedJob& job, ExplainReply& reply) {
  add_remedies(Cause::kStartOutside, words_of(job.type(), job.meta().name), reply);
}

// Why the queues have nothing to do with a job.
reconcilers::Step explain_not_managed(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply) {
  const RuleSettings& rules = context.queues().rules;
  const ObjectMeta& meta = job.meta();
  const jobs::JobKind& kind = job.kind();
  if (!rules.frameworks.contains(kind.framework)) {
    reply.say(ExplainReason::kIntegrationDisabled, "muster does not queue " + reply.kind +
                                                       "s here: integrations.frameworks lacks " +
                                                       std::string(kind.framework) + ".");
    add_remedies(Cause::kIntegrationOff, {{"framework", std::string(kind.framework)}}, reply);
    start_outside(job, reply);
    return reconcilers::Step::kDone;
  }
  if (!kind.is_managed_by(job.managed_by())) {
    reply.say(ExplainReason::kManagedByOther,
              "spec.managedBy gives it to " + std::string(job.managed_by()) + ", not to muster.");
    start_outside(job, reply);
    return reconcilers::Step::kDone;
  }
  const TypedObject* ns = context.state.find(kNamespaces, "", meta.ns);
  const auto managed = jobs::in_managed_namespace(rules, meta.ns, ns == nullptr ? nullptr : &meta_of(*ns).labels);
  if (managed && !*managed) {
    reply.say(ExplainReason::kNamespaceNotSelected,
              "managedJobsNamespaceSelector of muster's configuration does not match namespace " + meta.ns + ".");
    add_remedies(Cause::kNamespaceNotSelected,
                 {{"patch", labels_patch(rules.managed_jobs_namespace_selector, meta_of(*ns).labels)}}, reply);
    start_outside(job, reply);
    return reconcilers::Step::kDone;
  }
  const reconcilers::JobContext job_context{context, job};
  const jobs::MaybeAncestor ancestor = reconcilers::ancestor_of(job_context);
  if (ancestor && *ancestor) {
    const jobs::ManagedAncestor& whole = **ancestor;
    const std::string excess = reconcilers::excess_below(job_context, whole);
    reply.say(ExplainReason::kOwnedByQueuedJob, "It is part of " + whole.kind + " " + whole.name +
                                                    ", which is queued as a whole." +
                                                    (excess.empty() ? "" : " It may not run: " + excess + "."));
    if (!whole.external)
      add_remedies(Cause::kPartOfQueued, {{"whole", in_small_letters(whole.kind) + "/" + whole.name}}, reply);
    return reconcilers::Step::kDone;
  }
  if (!job.queue_name().empty() || rules.manage_jobs_without_queue_name) return reconcilers::Step::kContinue;
  reply.say(ExplainReason::kNoQueueName, "It is in no queue: it has no label " + std::string(kQueueNameLabel) + ".");
  Words words = words_of(job.type(), meta.name);
  if (std::string only = only_local_queue(context, meta.ns); !only.empty()) words.emplace("meant", std::move(only));
  add_remedies(Cause::kNotInQueue, std::move(words), reply);
  start_outside(job, reply);
  return reconcilers::Step::kDone;
}

// The Workload that counts: unfinished before finished, then the newest first.
const Workload* workload_of(const ExplainContext& context, const jobs::QueuedJob& job) {
  const ObjectMeta& meta = job.meta();
  if (const auto prebuilt = jobs::prebuilt_workload_name_of(context.queues().rules, meta))
    return context.state.find<Workload>(meta.ns, prebuilt->name);
  const std::vector<const Workload*> owned = context.state.by(state::kWorkloadsByOwner, {"", meta.uid});
  const auto rank = [](const Workload* workload) {
    return std::tuple(!workload->finished(), !workload->meta.deleting, workload->meta.created);
  };
  const auto best = std::max_element(owned.begin(), owned.end(),
                                     [&](const Workload* a, const Workload* b) { return rank(a) < rank(b); });
  return best == owned.end() ? nullptr : *best;
}

void explain_without_workload(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply) {
  const ObjectMeta& meta = job.meta();
  const reconcilers::JobContext making{context, job};
  reply.add_fact("LocalQueue", std::string(job.queue_name()));
  if (explain_unseen(context, kItsState, {&kWorkloads}, reply) == reconcilers::Step::kDone) return;
  if (!job.why_unreadable().empty() && explain_unseen_parts(context, job, reply) == reconcilers::Step::kDone) return;
  if (const auto prebuilt = jobs::prebuilt_workload_name_of(context.queues().rules, meta)) {
    reply.say(ExplainReason::kPrebuiltWorkloadMissing, reply.subject() + " waits for Workload " +
                                                           std::string(prebuilt->name) +
                                                           ", which it names and which does not exist.");
    add_remedies(Cause::kPrebuiltMissing, {{"workload", std::string(prebuilt->name)}, {"field", prebuilt->field}},
                 reply);
  } else if (const std::string why = job.why_unreadable(); !why.empty()) {
    reply.say(ExplainReason::kInvalidPodSets, reply.subject() + " cannot be queued: " + why + ".");
    add_remedies(Cause::kInvalidPodSets, words_of(job.type(), meta.name), reply);
  } else if (const auto& owner = meta.controller; owner && !job.readable()) {
    const std::string whole = std::string(owner->kind) + " " + std::string(owner->name);
    reply.say(ExplainReason::kOwnerNotQueued, reply.subject() + " does not run: it says that it is part of " + whole +
                                                  ", which does not exist or is in no queue.");
    Words words = words_of(job.type(), meta.name);
    words.emplace("whole", whole);
    if (std::string only = only_local_queue(context, meta.ns); !only.empty()) words.emplace("meant", std::move(only));
    add_remedies(Cause::kOwnerNotQueued, std::move(words), reply);
  } else if (job.active()) {
    reply.say(ExplainReason::kStopping, reply.subject() + " gets its Workload when its remaining pods are deleted.");
  } else if (!reconcilers::priority_of(making)) {
    explain_priority(context, making, reply);
  } else if (context.state.find<Workload>(meta.ns, reconcilers::name_of_workload(making)) != nullptr) {
    reply.say(ExplainReason::kWorkloadNameConflict, reply.subject() + " cannot be queued: Workload " +
                                                        reconcilers::name_of_workload(making) +
                                                        " exists and has another owner.");
    add_remedies(Cause::kWorkloadNameConflict, {{"workload", reconcilers::name_of_workload(making)}}, reply);
  } else {
    if (explain_rejection(context, key_of(job.type(), meta), reply) == reconcilers::Step::kDone) return;
    reply.say(ExplainReason::kWorkloadNotCreated,
              reply.subject() + " has no Workload yet: muster creates it at once; ask again.");
    add_remedies(Cause::kWorkloadNotCreated, {}, reply);
  }
}

// A Workload that the user has created and that cannot be used.
reconcilers::Step explain_prebuilt(const ExplainContext& context, const jobs::QueuedJob& job, const Workload& workload,
                                   ExplainReply& reply) {
  const auto prebuilt = jobs::prebuilt_workload_name_of(context.queues().rules, job.meta());
  if (!prebuilt) return reconcilers::Step::kContinue;
  const std::string name(prebuilt->name);
  const auto& controller = workload.meta.controller;
  if (controller && controller->uid != job.meta().uid) {
    reply.say(ExplainReason::kPrebuiltWorkloadTaken, reply.subject() + " cannot run by Workload " + name +
                                                         ", which belongs to " + controller->kind + " " +
                                                         controller->name + ".");
    add_remedies(Cause::kPrebuiltTaken, {{"field", prebuilt->field}}, reply);
    return reconcilers::Step::kDone;
  }
  const Condition* finished = find_condition(workload.status.conditions, kFinishedCondition);
  if (finished == nullptr || !finished->is_true() || finished->reason != kOutOfSyncReason)
    return reconcilers::Step::kContinue;
  const std::string difference = reconcilers::difference_of_prebuilt({context, job}, workload);
  reply.say(ExplainReason::kPrebuiltWorkloadOutOfSync,
            reply.subject() + " cannot run by Workload " + name + ", which was made for another one.");
  if (!difference.empty()) reply.because.push_back("Of the Workload, " + difference + ".");
  add_remedies(Cause::kPrebuiltOutOfSync, {{"workload", name}}, reply);
  return reconcilers::Step::kDone;
}

// A JobSet that muster does not run, although muster is the JobSet controller.
reconcilers::Step explain_never_run(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply) {
  const TypedObject* object = context.state.find(*key.type, key.ns, key.name);
  if (object == nullptr) return reconcilers::Step::kContinue;
  const std::vector<state::Unsupported> found = state::unsupported_in(*object, context.settings);
  if (found.empty()) return reconcilers::Step::kContinue;
  reply.say(ExplainReason::kUnsupported, reply.subject() + " asks for what muster does not do.");
  for (const state::Unsupported& one : found) reply.because.push_back(one.note);
  return reconcilers::Step::kDone;
}

void explain_job(const ExplainContext& context, const ObjectKey& key, const jobs::QueuedJob& job, ExplainReply& reply) {
  const Workload* workload = workload_of(context, job);
  if (job.meta().deleting) {
    reply.say(ExplainReason::kBeingDeleted, reply.subject() + " is being deleted.");
  } else if (const auto end = job.end()) {
    reply.say(ExplainReason::kFinished, reply.subject() + (end->success ? " has succeeded" : " has failed") +
                                            (end->message.empty() ? "." : ": " + end->message));
    if (workload != nullptr) reply.add_fact("Workload", workload->meta.name);
  } else if (explain_never_run(context, key, reply) == reconcilers::Step::kDone) {
    if (workload != nullptr) reply.add_fact("Workload", workload->meta.name);
  } else if (explain_unseen_owner(context, job, workload, reply) == reconcilers::Step::kDone) {
    if (workload != nullptr) reply.add_fact("Workload", workload->meta.name);
  } else if (explain_not_managed(context, job, reply) == reconcilers::Step::kDone) {
    explain_unqueued(context, job, reply);
  } else if (workload == nullptr) {
    explain_without_workload(context, job, reply);
  } else if (explain_prebuilt(context, job, *workload, reply) == reconcilers::Step::kContinue) {
    explain_workload(context, *workload, job, reply);
  }
}

std::optional<jobs::QueuedJob> owner_of(const ExplainContext& context, const Workload& workload) {
  const auto& controller = workload.meta.controller;
  if (!controller) return std::nullopt;
  const jobs::JobKind* kind = jobs::find_owner_kind(*controller, context.queues().rules);
  if (kind == nullptr) return std::nullopt;
  auto job = reconcilers::find_job({&kind->type, workload.meta.ns, controller->name}, context.state);
  return job && job->meta().uid == controller->uid ? job : std::nullopt;
}

}  // namespace

std::string when(TimePoint time, Now now) {
  using std::chrono::seconds;
  const auto away = std::chrono::ceil<seconds>(time - now.wall);
  const std::string stamp = format_rfc3339(to_timestamp(time));
  if (away > seconds(0)) return stamp + ", in " + format_duration(away);
  return stamp + ", " + format_duration(-away) + " ago";
}

std::string kubectl(const std::string& ns, const std::string& rest) {
  return "kubectl -n " + ns + " " + rest;
}

void say_not_found(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply) {
  reply.found = false;
  if (context.state.find(kNamespaces, "", key.ns) == nullptr) {
    reply.say(ExplainReason::kNotFound, "Namespace not found: " + key.ns + ".");
    add_remedies(Cause::kNamespaceNotFound, {}, reply);
    return;
  }
  reply.say(ExplainReason::kNotFound, "There is no " + reply.subject() + ".");
  add_remedies(Cause::kNotFound, {{"kind", std::string(key.type->kind)}}, reply);
}

void say_not_queued(const jobs::JobKind& kind, ExplainReply& reply) {
  reply.say(ExplainReason::kKindNotQueued, "muster does not queue " + reply.kind +
                                               "s here: integrations.frameworks lacks " + std::string(kind.framework) +
                                               ". They run without quota.");
  add_remedies(Cause::kIntegrationOff, {{"framework", std::string(kind.framework)}}, reply);
}

void explain_priority(const ExplainContext& known, const reconcilers::JobContext& context, ExplainReply& reply) {
  const std::string name(context.job.priority_class());
  const ResourceType& type = name.empty() ? kPriorityClasses : kWorkloadPriorityClasses;
  if (explain_unseen(known, "whether its priority class exists", {&type}, reply) == reconcilers::Step::kDone) return;
  const std::string which = name.empty() ? "the PriorityClass that its pods name" : "WorkloadPriorityClass " + name;
  reply.say(ExplainReason::kPriorityClassMissing,
            reply.subject() + " is not queued yet: " + which + " does not exist.");
  if (name.empty()) return add_remedies(Cause::kPodPriorityClassMissing, {}, reply);
  Words words = words_of(context.job.type(), context.job.meta().name);
  words.emplace("class", name);
  if (std::string near = nearest_name(known, kWorkloadPriorityClasses, "", name); !near.empty())
    words.emplace("meant", std::move(near));
  add_remedies(Cause::kPriorityClassMissing, std::move(words), reply);
}

ExplainReply explain(const ObjectKey& key, const reconcilers::ReconcileContext& known, bool leads,
                     const Unseen& unseen) {
  const ExplainContext context{known, leads, unseen};
  ExplainReply reply;
  reply.kind = key.type->kind;
  reply.ns = key.ns;
  reply.name = key.name;
  reply.at = to_timestamp(known.now.wall);
  const jobs::JobKind* kind = jobs::find_job_kind(*key.type);
  const auto named = jobs::find_named_kind(*key.type);
  if (named && named->known == jobs::NamedKind::Known::kNone) {
    explain_unwatched(key, reply);
  } else if (kind != nullptr && !kind->is_watched(context.queues().rules)) {
    say_not_queued(*kind, reply);
  } else if (kind == &jobs::plain_pod) {
    explain_pod(context, key, reply);
  } else if (kind != nullptr && kind->is_serving()) {
    explain_set(context, key, reply);
  } else if (*key.type == kWorkloads) {
    const Workload* workload = known.state.find<Workload>(key.ns, key.name);
    if (workload == nullptr)
      say_not_found(context, key, reply);
    else
      explain_workload(context, *workload, owner_of(context, *workload), reply);
  } else if (const auto job = reconcilers::find_job(key, known.state)) {
    explain_job(context, key, *job, reply);
  } else {
    say_not_found(context, key, reply);
  }
  return reply;
}

}  // namespace muster::explain
