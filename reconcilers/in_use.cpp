#include "reconcilers/in_use.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/workload_conditions.h"

namespace muster::reconcilers {
namespace {

bool carries_finalizer(const ObjectMeta& meta) {
  return std::find(meta.finalizers.begin(), meta.finalizers.end(), kResourceInUseFinalizer) != meta.finalizers.end();
}

// The list is written whole, so it is bound to the version it was read from.
void write_finalizers(const ResourceType& type, const ObjectMeta& meta, const std::vector<SharedText>& finalizers,
                      std::vector<ObjectEvent> events, Plan& plan) {
  const nlohmann::json list = finalizers.empty() ? nlohmann::json() : nlohmann::json(finalizers);
  plan.writes.push_back({.verb = Verb::kPatch,
                         .target = key_of(type, meta),
                         .body = with_version(meta, {{"metadata", {{"finalizers", list}}}}),
                         .events = std::move(events)});
}

}  // namespace

void drop_in_use_finalizer(const ResourceType& type, const ObjectMeta& meta, Plan& plan,
                           std::vector<ObjectEvent> events) {
  if (!carries_finalizer(meta)) return;
  std::vector<SharedText> finalizers = meta.finalizers;
  std::erase(finalizers, kResourceInUseFinalizer);
  write_finalizers(type, meta, finalizers, std::move(events), plan);
}

void delete_in_use(const ResourceType& type, const ObjectMeta& meta, Plan& plan, std::vector<ObjectEvent> events) {
  if (meta.deleting) return drop_in_use_finalizer(type, meta, plan);
  plan.writes.push_back({.verb = Verb::kDelete,
                         .target = key_of(type, meta),
                         .body = with_version(meta, {}),
                         .uid = meta.uid,
                         .events = std::move(events)});
}

void keep_in_use_finalizer(const ResourceType& type, const ObjectMeta& meta, bool used, Plan& plan) {
  if (meta.deleting) {
    if (!used) drop_in_use_finalizer(type, meta, plan);
    return;
  }
  if (carries_finalizer(meta)) return;
  std::vector<SharedText> finalizers = meta.finalizers;
  finalizers.emplace_back(kResourceInUseFinalizer);
  write_finalizers(type, meta, finalizers, {}, plan);
}

}  // namespace muster::reconcilers
