// Kinds that users give queue names to and that muster does not queue. All messages about them derive from
// this table: the admission policy (manifests/unqueued_policy.h), `muster review`, `muster explain`, and the
// names of frameworks that a configuration can have. Kinds with a row (kinds/rows) are in it by that row, since a
// configuration can leave each of them out.
//
// Source: Kueue's integrations; Kubernetes' own kinds that make pods.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

struct UnqueuedKind {
  // Kueue's name of its integration: "ray.io/rayjob". Empty: Kueue does not queue the kind either.
  std::string_view framework;
  // "" for the core group; the version that Kueue manages, though the kind counts in each.
  std::string_view group, version, kind, resource;
  // Kueue sends objects of the kind to other clusters without a description (its MultiKueue adapter). For a kind with a
  // row: the row has `managedBy`, the field that an adapter sets so that the kind's own controller ignores the object.
  bool has_multikueue_adapter = false;
};

// Ordered by framework; those without one come last.
std::span<const UnqueuedKind> unqueued_kinds();
// nullptr: it is queued, or nothing is known about it.
const UnqueuedKind* find_unqueued_kind(std::string_view group, std::string_view kind);
// Of "rayjob", "rayjobs" or "RayJob"; nullptr as above.
const UnqueuedKind* find_unqueued_kind(std::string_view word);

// How the keys of labels and annotations begin that Kueue and muster act on.
inline constexpr std::string_view kKueueKeyPrefix = "kueue.x-k8s.io/";
inline constexpr std::string_view kMusterKeyPrefix = "muster.batch/";

// The object has a label or an annotation of kueue.x-k8s.io or muster.batch, or the label with the
// queue's name in its pod template. False for null.
bool asks_for_queue(const nlohmann::json& object);

// That objects of this kind are not queued, that they run without quota, and what to do.
std::string unqueued_sentence(std::string_view kind);

// A CronJob is no job: its Jobs are queued, by their own labels. The label of the queue on the CronJob has no effect
// where the Jobs do not get it.
inline constexpr std::string_view kCronJobGroup = "batch", kCronJobKind = "CronJob", kCronJobResource = "cronjobs";
inline constexpr std::string_view kCronJobSentence =
    "the label kueue.x-k8s.io/queue-name of a CronJob has no effect: muster queues its Jobs, by the labels in "
    "spec.jobTemplate.metadata. Set the label there.";

// For an object that is created, or updated from `old_object` (null on CREATE): the warning, when its kind is in the
// table and this request is the first one with a queue name, or when it is a CronJob that first has the label in the
// wrong place alone. nullopt: no warning, also for an object with a controller, because its owner can be queued.
std::optional<std::string> unqueued_notice(const nlohmann::json& object, const nlohmann::json& old_object);

// What happens to such a request.
enum class UnqueuedKinds { kWarn, kDeny };

}  // namespace muster
