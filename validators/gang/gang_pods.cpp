// The Job controller creates the pods of a gang. muster opens a start barrier when it has seen all of them
// wait, so the group must not contain a pod that another user created, or changed to look like one. Rejected: a
// pod with the label muster.batch/group-scheduling that a user creates, and an update that changes which run,
// Job or index a pod counts for, or the image of its waiter.
//
// Every user who can create pods can write owner references and labels of pods, so they alone prove nothing. A
// later check is not possible either: Kubernetes does not store the creator of a pod.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/object_meta.h"
#include "jobs/job_controller_users.h"
#include "validators/validator.h"

namespace muster::validators::gang_pods {
namespace {

using nlohmann::json;

bool is_member(const json& pod) {
  return find_path(pod, {"metadata", "labels", kGroupLabel}) != nullptr;
}

// The fields that decide for which gang a pod counts, and the meaning of its waiter's exit.
json membership(const json& pod) {
  json told = json::array();
  for (const std::string_view label :
       {kGroupLabel, kJobSetNameKey, kJobSetUidLabel, kRestartAttemptLabel, kControllerUidLabel})
    told.push_back(string_at(pod, {"metadata", "labels", label}));
  for (const std::string_view key : {kGroupEpochAnnotation, kCompletionIndexAnnotation})
    told.push_back(string_at(pod, {"metadata", "annotations", key}));
  for (const json& container : array_at(pod, {"spec", "initContainers"})) {
    if (string_at(container, {"name"}) == kGroupInitContainer) told.push_back(string_at(container, {"image"}));
  }
  return told;
}

bool same_controller(const json& before, const json& after) {
  const ObjectMeta old_meta = read_meta(before), meta = read_meta(after);
  // A pod without this field does not count: this is how a pod is orphaned.
  if (!meta.controller) return true;
  return old_meta.controller && old_meta.controller->uid == meta.controller->uid;
}

bool may_make_members(const Review& review) {
  const std::string& user = review.request.user.username;
  return review.settings.admitters.contains(user) ||
         std::find(jobs::kJobControllerUsers.begin(), jobs::kJobControllerUsers.end(), user) !=
             jobs::kJobControllerUsers.end();
}

FieldErrors check(const Review& review) {
  const AdmissionRequest& request = review.request;
  if (!is_member(request.object) || may_make_members(review)) return {};
  const bool creates = request.operation == Operation::kCreate;
  if (!creates && is_member(request.old_object) && membership(request.object) == membership(request.old_object) &&
      same_controller(request.old_object, request.object))
    return {};
  const std::string path = FieldPath("metadata").child("labels").key(kGroupLabel);
  if (!creates && is_member(request.old_object))
    return {forbidden(path,
                      "this pod is one of a group that starts together: its labels, annotations and owner that "
                      "say so, and the image of its waiter, stay as the Job controller made them")};
  return {forbidden(path,
                    "pods with this label are members of a group that starts together, and only the Job "
                    "controller makes those, not user \"" +
                        request.user.username + "\"; leave the label out")};
}

}  // namespace

extern const Validator rule = {
    .name = "gang_pods",
    .matches = {{"", "pods"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::gang_pods
