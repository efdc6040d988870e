#include "reconcilers/in_use.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/workload_conditions.h"

namespace muster {
namespace {

bool carries_finalizer(const ObjectMeta& meta) {
  return std::find(meta.finalizers.begin(), meta.finalizers.end(), kResourceInUseFinalizer) != meta.finalizers.end();
}

// The list is written whole, so it is bound to the version it was read from.
void write_finalizers(const ResourceType& type, const ObjectMeta& meta, std::vector<std::string> finalizers,
                      Plan& plan) {
  nlohmann::json patch = {{"metadata", {{"finalizers", std::move(finalizers)}}}};
  if (meta.resource_version != 0) patch["metadata"]["resourceVersion"] = std::to_string(meta.resource_version);
  plan.writes.push_back({.verb = Verb::kPatch, .target = {&type, meta.ns, meta.name}, .body = std::move(patch)});
}

}  // namespace

void drop_in_use_finalizer(const ResourceType& type, const ObjectMeta& meta, Plan& plan) {
  if (!carries_finalizer(meta)) return;
  std::vector<std::string> finalizers = meta.finalizers;
  std::erase(finalizers, kResourceInUseFinalizer);
  write_finalizers(type, meta, std::move(finalizers), plan);
}

void keep_in_use_finalizer(const ResourceType& type, const ObjectMeta& meta, bool used, Plan& plan) {
  if (meta.deleting) {
    if (!used) drop_in_use_finalizer(type, meta, plan);
    return;
  }
  if (carries_finalizer(meta)) return;
  std::vector<std::string> finalizers = meta.finalizers;
  finalizers.emplace_back(kResourceInUseFinalizer);
  write_finalizers(type, meta, std::move(finalizers), plan);
}

}  // namespace muster
