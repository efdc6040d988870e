// Which kinds the engine knows enough of: listed, missing, current.
#include <algorithm>

#include "api/workload.h"
#include "engine/engine.h"
#include "jobs/job_kind.h"
#include "kinds/watched_kinds.h"
#include "state/indexes.h"

namespace muster::engine {
namespace {

// nullptr: not of the engine's.
const WatchedKind* find_kind(const ResourceType& type) {
  for (const WatchedKind& kind : watched_kinds()) {
    if (*kind.type == type) return &kind;
  }
  return nullptr;
}

}  // namespace

void Engine::note_listed(const ResourceType& type) {
  if (find_kind(type) == nullptr) return;
  synced_kinds_.insert(type.id());
  missing_.erase(type.id());
  if (unknown_.erase(type.id()) == 0 || !leads_) return;
  // Objects that were skipped because the kind was unknown.
  state_.for_each([this](const TypedObject& object) { concern(object); });
}

void Engine::note_absent(const ResourceType& type) {
  const WatchedKind* kind = find_kind(type);
  if (kind == nullptr) return;
  const bool had_objects = !state_.select(type, [](const TypedObject&) { return true; }).empty();
  if (!kind->optional || had_objects) {
    missing_.insert(kind->type->id());
  } else if (synced_kinds_.insert(kind->type->id()).second) {
    unknown_.insert(kind->type->id());
  }
}

std::vector<std::string> Engine::missing_kinds() const {
  std::vector<std::string> names;
  for (const WatchedKind& kind : watched_kinds()) {
    if (missing_.contains(kind.type->id())) names.push_back(full_name(*kind.type));
  }
  return names;
}

std::vector<std::string> Engine::kinds_behind() const {
  std::vector<std::string> names;
  for (const ResourceType* kind : catch_up_.behind()) names.push_back(full_name(*kind));
  return names;
}

void Engine::catch_up(const KindCaughtUp& kind, Now now) {
  catch_up_.caught_up(*kind.type, kind.term);
  if (caught_up_ == catch_up_.done()) return;
  caught_up_ = !caught_up_;
  // While it waited, this replica acted as a follower, so the scheduler has forgotten its unwritten decisions
  // again.
  if (leads_) scheduler_feed_.driver().forget_unpersisted(now);
}

// Whether its owner is of a kind that is not served, so that the owner can still exist. The engine does not
// change the Workload of such an owner, or the children of such an owner whose Workload is admitted.
bool Engine::rests_on_unknown(const ObjectKey& key) const {
  if (unknown_.empty()) return false;
  const TypedObject* object = state_.find(*key.type, key.ns, key.name);
  if (object == nullptr || !meta_of(*object).controller) return false;
  const OwnerReference& owner = *meta_of(*object).controller;
  const jobs::JobKind* kind = jobs::find_owner_kind(owner, settings_.queues.rules);
  if (kind == nullptr || !unknown_.contains(kind->type.id())) return false;
  if (std::holds_alternative<WorkloadPtr>(*object)) return true;
  const auto workloads = state_.by(state::kWorkloadsByOwner, {"", owner.uid});
  return std::any_of(workloads.begin(), workloads.end(),
                     [&](const Workload* workload) { return workload->meta.ns == key.ns && workload->admitted(); });
}

}  // namespace muster::engine
