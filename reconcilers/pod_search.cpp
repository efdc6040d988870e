#include "reconcilers/pod_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/time.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

constexpr const char* kDeletedBefore = "deletedBefore";
constexpr const char* kCreatedBefore = "createdBefore";
constexpr const char* kLongestGrace = "longestGraceSeconds";

// The zero time where there is none.
Timestamp time_at(const json& object, std::initializer_list<std::string_view> path) {
  const json* value = find_path(object, path);
  const auto time = value == nullptr ? Result<Timestamp>(Timestamp{}) : parse_time(*value);
  return time ? *time : Timestamp{};
}

}  // namespace

bool pods_are_left(const std::string& ns, const PodSelection& selection, const ReconcileContext& context, Plan& plan) {
  const ObjectKey search{&kPods, ns, selection.labels};
  if (const auto found =
          context.state.writes().pod_searches().found(selection.asker, selection.labels, context.now.monotonic)) {
    if (found->any) plan.wake_at(context.now.wall + found->next);
    return found->any;
  }
  json body = {{kDeletedBefore, time_to_json(to_timestamp(context.now.wall - kDeadNodeBound))}};
  if (const auto& longest = context.settings.longest_grace)
    body[kLongestGrace] = std::chrono::duration_cast<std::chrono::seconds>(*longest).count();
  if (!selection.created_before.is_zero()) body[kCreatedBefore] = time_to_json(selection.created_before);
  plan.writes.push_back({.verb = Verb::kFindPods, .target = search, .body = std::move(body)});
  return true;
}

std::string label_selector_of(const Write& search) {
  return search.target.name;
}

bool is_left(const Write& search, const json& pod) {
  // The time at which its grace period ends.
  const Timestamp end = time_at(pod, {"metadata", "deletionTimestamp"});
  if (!end.is_zero()) {
    const int64_t grace = int_at(pod, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
    const int64_t counted = std::min(grace, int_at(search.body, {kLongestGrace}).value_or(grace));
    if (to_time_point(end) - std::chrono::seconds(grace - counted) <=
        to_time_point(time_at(search.body, {kDeletedBefore})))
      return false;
  }
  const Timestamp before = time_at(search.body, {kCreatedBefore});
  const Timestamp created = time_at(pod, {"metadata", "creationTimestamp"});
  // Of the same second is also the first pod of the later job; an orphaned one has no owner.
  const bool orphaned = array_at(pod, {"metadata", "ownerReferences"}).empty();
  return before.is_zero() || created < before || (orphaned && created == before);
}

}  // namespace muster::reconcilers
