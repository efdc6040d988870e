#include "manifests/match_conditions.h"

#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "jobs/group_scheduling.h"
#include "jobs/job_controller_users.h"
#include "kinds/unqueued_kinds.h"
#include "manifests/names.h"

namespace muster::manifests::match_conditions {
namespace {

using nlohmann::json;

json condition(const char* name, const std::string& expression) {
  return {{"name", name}, {"expression", expression}};
}

// Whether labels or annotations of `subject`, `object` or `oldObject`, are ours.
std::string has_our_keys(const std::string& subject) {
  const auto any_key = [&](const std::string& map) {
    return "(has(" + subject + ".metadata." + map + ") && " + subject + ".metadata." + map +
           ".exists(k, k.startsWith('" + std::string(kKueueKeyPrefix) + "') || k.startsWith('" +
           std::string(kMusterKeyPrefix) + "')))";
  };
  return any_key("labels") + " || " + any_key("annotations");
}

// Whether a JobSet's `subject` asks for a start barrier, or has one. Each step of the way is
// optional, and none of it is typed.
std::string has_barrier(const std::string& subject) {
  const std::string spec = subject + ".spec";
  const std::string barrier = "(has(" + spec + ") && has(" + spec + ".replicatedJobs) && " + spec +
                              ".replicatedJobs.exists(r, has(r.template) && has(r.template.spec) && "
                              "has(r.template.spec.template) && has(r.template.spec.template.metadata) && "
                              "has(r.template.spec.template.metadata.labels) && '" +
                              std::string(kGroupLabel) + "' in r.template.spec.template.metadata.labels))";
  return "(has(" + spec + ") && has(" + spec + ".groupSchedulingConfig)) || " + barrier;
}

// Whether a JobSet's `subject` names a queue in the template of a Job.
std::string names_queue_in_template(const std::string& subject) {
  const std::string spec = subject + ".spec";
  return "(has(" + spec + ") && has(" + spec + ".replicatedJobs) && " + spec +
         ".replicatedJobs.exists(r, has(r.template) && has(r.template.metadata) && has(r.template.metadata.labels) && "
         "'" +
         std::string(kQueueNameLabel) + "' in r.template.metadata.labels))";
}

// Labels or annotations are ours, or the object asks for a start barrier, or for a queue in the wrong place.
std::string carries_our_keys(const std::string& subject) {
  return has_our_keys(subject) + " || " + has_barrier(subject) + " || " + names_queue_in_template(subject);
}

// The same of muster's own keys alone, or a Job has the barrier.
std::string starts_as_group(const std::string& subject) {
  const auto any_key = [&](const std::string& map) {
    return "(has(" + subject + ".metadata." + map + ") && " + subject + ".metadata." + map +
           ".exists(k, k.startsWith('" + std::string(kMusterKeyPrefix) + "')))";
  };
  const std::string metadata = subject + ".spec.template.metadata";
  return any_key("labels") + " || " + any_key("annotations") + " || " + has_barrier(subject) + " || (has(" + subject +
         ".spec) && has(" + subject + ".spec.template) && has(" + metadata + ") && has(" + metadata + ".labels) && '" +
         std::string(kGroupLabel) + "' in " + metadata + ".labels)";
}

// Who muster is.
std::string user_of(const std::string& own_namespace) {
  return "system:serviceaccount:" + own_namespace + ":" + std::string(manifests::kServiceAccountName);
}

std::string ours() {
  return carries_our_keys("object") + " || (oldObject != null && (" + carries_our_keys("oldObject") + "))";
}

std::string says_parent(const std::string& subject) {
  return "(has(" + subject + ".metadata.annotations) && '" + std::string(kSuspendingParent) + "' in " + subject +
         ".metadata.annotations)";
}

std::string names_a_jobset(const std::string& subject) {
  return "(has(" + subject + ".metadata.ownerReferences) && " + subject +
         ".metadata.ownerReferences.exists(o, has(o.controller) && o.controller && o.kind == 'JobSet' && "
         "o.apiVersion.startsWith('jobset.x-k8s.io/')))";
}

std::string reserves_quota(const std::string& subject) {
  return "(has(" + subject + ".status.conditions) && " + subject +
         ".status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True'))";
}

std::string is_ours(const std::string& key) {
  return "(" + key + ".startsWith('" + std::string(kKueueKeyPrefix) + "') || " + key + ".startsWith('" +
         std::string(kMusterKeyPrefix) + "'))";
}

std::string metadata_differs(const std::string& field) {
  const std::string after = "object.metadata." + field, before = "oldObject.metadata." + field;
  return "(has(" + after + ") != has(" + before + ") || (has(" + after + ") && " + after + " != " + before + "))";
}

// Whether `one` has an annotation of ours that `other` has not, or has with another value.
std::string has_other_annotation(const std::string& one, const std::string& other) {
  const std::string of_one = one + ".metadata.annotations", of_other = other + ".metadata.annotations";
  return "(has(" + of_one + ") && " + of_one + ".exists(k, " + is_ours("k") + " && (!has(" + of_other + ") || !(k in " +
         of_other + ") || " + of_other + "[k] != " + of_one + "[k])))";
}

// Whether a member of the whole object differs, but for the metadata and, where it is not written, the status.
std::string content_differs() {
  const std::string counts =
      "k != 'metadata' && (k != 'status' || (has(request.subResource) && request.subResource == 'status'))";
  return "object.exists(k, " + counts +
         " && (!(k in oldObject) || object[k] != oldObject[k])) || oldObject.exists(k, " + counts +
         " && !(k in object))";
}

std::string says_protection() {
  std::string keys;
  for (std::string_view key :
       {kPreemptionProtectionAnnotation, kReclaimProtectionAnnotation, kPreemptionProtectionLimitAnnotation})
    keys.append(keys.empty() ? "'" : ", '").append(key).append("'");
  return "(has(object.metadata.annotations) && object.metadata.annotations.exists(k, k in [" + keys +
         "] && (oldObject == null || !has(oldObject.metadata.annotations) || !(k in oldObject.metadata.annotations) || "
         "object.metadata.annotations[k] != oldObject.metadata.annotations[k])))";
}

}  // namespace

json not_being_deleted() {
  return condition("not-being-deleted", "!has(object.metadata.deletionTimestamp)");
}

// The maps are compared as a whole first, at a cost that does not depend on their size: what takes away a finalizer
// alone must never exceed the API server's limit of CEL.
json more_than_its_deletion() {
  return condition("more-than-its-deletion",
                   "!has(object.metadata.deletionTimestamp) || oldObject == null || " + content_differs() + " || " +
                       metadata_differs("labels") + " || " + metadata_differs("ownerReferences") + " || (" +
                       metadata_differs("annotations") + " && (" + has_other_annotation("object", "oldObject") +
                       " || " + has_other_annotation("oldObject", "object") + "))");
}

json queued_or_gang() {
  return condition("queued-or-gang", ours());
}

json suspended_by_parent() {
  // Who takes the annotation away is asked too.
  return condition("suspended-by-parent",
                   says_parent("object") + " || (oldObject != null && " + says_parent("oldObject") + ")");
}

json not_sent_by_another_entry() {
  return condition("not-sent-by-another-entry", "!(" + ours() + ")");
}

// Each step of the way is optional: the kinds differ.
json first_asks_for_queue() {
  const auto asks = [](const std::string& subject) {
    const std::string spec = subject + ".spec", metadata = spec + ".template.metadata";
    return has_our_keys(subject) + " || (has(" + spec + ") && has(" + spec + ".template) && has(" + metadata +
           ") && has(" + metadata + ".labels) && '" + std::string(kQueueNameLabel) + "' in " + metadata + ".labels)";
  };
  // A CronJob: the label is on itself and not on its Jobs.
  const auto misplaces = [](const std::string& subject) {
    const std::string spec = subject + ".spec", metadata = spec + ".jobTemplate.metadata";
    const std::string label = "'" + std::string(kQueueNameLabel) + "' in ";
    return "has(" + subject + ".metadata.labels) && " + label + subject + ".metadata.labels && !(has(" + spec +
           ") && has(" + spec + ".jobTemplate) && has(" + metadata + ") && has(" + metadata + ".labels) && " + label +
           metadata + ".labels)";
  };
  const auto first = [](const auto& what) {
    return "(" + what("object") + ") && (oldObject == null || !(" + what("oldObject") + "))";
  };
  return condition("first-asks-for-queue", "request.kind.kind == '" + std::string(kCronJobKind) + "' ? (" +
                                               first(misplaces) + ") : (" + first(asks) + ")");
}

json without_controller() {
  return condition("without-controller",
                   "!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, "
                   "has(o.controller) && o.controller)");
}

json of_a_jobset() {
  return condition("of-a-jobset",
                   names_a_jobset("object") + " || (oldObject != null && " + names_a_jobset("oldObject") + ")");
}

json not_by(const std::string& name, const std::string& user) {
  return condition(name.c_str(), "request.userInfo.username != '" + user + "'");
}

json more_than_metadata() {
  return condition("more-than-metadata",
                   "oldObject == null || object.spec != oldObject.spec || has(object.metadata.ownerReferences) != "
                   "has(oldObject.metadata.ownerReferences) || (has(object.metadata.ownerReferences) && "
                   "object.metadata.ownerReferences != oldObject.metadata.ownerReferences)");
}

json not_by_the_job_controller() {
  std::string users;
  for (const std::string_view user : jobs::kJobControllerUsers)
    users.append(users.empty() ? "'" : ", '").append(user).append("'");
  return condition("not-by-the-job-controller", "!(request.userInfo.username in [" + users + "])");
}

// What the pod was: a resize changes nothing else. Most pods of a cluster are of the listed kinds, and must not depend
// on muster.
json of_a_queue_or_job() {
  const std::string metadata = "oldObject.metadata";
  return condition("of-a-queue-or-job",
                   "(has(" + metadata + ".labels) && ('" + std::string(kQueueNameLabel) + "' in " + metadata +
                       ".labels || '" + std::string(kManagedLabel) + "' in " + metadata + ".labels)) || (has(" +
                       metadata + ".ownerReferences) && " + metadata +
                       ".ownerReferences.exists(o, has(o.controller) && o.controller && !(o.kind in ['ReplicaSet', "
                       "'StatefulSet', 'DaemonSet', 'ReplicationController', 'Node'])))");
}

json named_as_of_a_gang() {
  return condition("named-as-of-a-gang",
                   "object.metadata.name.endsWith('" + std::string(jobs::kGroupConfigMapSuffix) + "')");
}

json not_by_muster(const std::string& own_namespace) {
  return not_by("not-by-muster", user_of(own_namespace));
}

json by_muster(const std::string& own_namespace) {
  return condition("by-muster", "request.userInfo.username == '" + user_of(own_namespace) + "'");
}

json with_managed_fields() {
  return condition("with-managed-fields", "has(object.metadata.managedFields)");
}

json not_started_by_muster(const std::string& own_namespace) {
  return condition("not-started-by-muster", "request.operation != 'UPDATE' || request.userInfo.username != '" +
                                                user_of(own_namespace) + "' || " + starts_as_group("object"));
}

json with_min_count() {
  return condition("with-min-count", "has(object.spec.podSets) && object.spec.podSets.exists(s, has(s.minCount))");
}

json with_protection() {
  return condition("with-protection", says_protection());
}

json with_share_or_protection() {
  return condition("with-share-or-protection",
                   "(has(object.spec) && has(object.spec.fairSharing) && (oldObject == null || !has(oldObject.spec) || "
                   "!has(oldObject.spec.fairSharing) || object.spec.fairSharing != oldObject.spec.fairSharing)) || " +
                       says_protection());
}

json more_than_conditions() {
  const std::string no_status_before = "!has(object.status) || !has(oldObject.status)";
  const std::string changed =
      "object.status.exists(k, k != 'conditions' && (!(k in oldObject.status) || "
      "oldObject.status[k] != object.status[k]))";
  const std::string removed = "oldObject.status.exists(k, k != 'conditions' && !(k in object.status))";
  return condition("more-than-conditions", "!has(request.subResource) || request.subResource != 'status' || " +
                                               no_status_before + " || " + changed + " || " + removed + " || (" +
                                               reserves_quota("object") + " && !" + reserves_quota("oldObject") + ")");
}

}  // namespace muster::manifests::match_conditions
