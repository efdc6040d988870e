// What the engine does with a key after an exception, and with state that was changed only in part:
// engine/quarantine.h describes both.
#include <algorithm>

#include "api/meta/constants.h"
#include "engine/engine.h"
#include "scheduler/scheduler.h"

namespace muster::engine {
namespace {

// If more objects than this fail at once, the objects are not the cause.
constexpr int kMostRebuilds = 1000;

std::string note_of(const Breakage& breakage) {
  return "muster failed over this object (" + std::string(to_text(breakage.broke)) +
         ") and leaves it alone until it changes: " + breakage.what + " (" + breakage.where +
         "); this is a bug of muster: please report it";
}

}  // namespace

uint64_t Engine::version_of(const ObjectKey& key) const {
  const TypedObject* known = state_.find(*key.type, key.ns, key.name);
  return known == nullptr ? 0 : meta_of(*known).resource_version;
}

void Engine::set_aside(const Breakage& breakage) {
  set_aside(breakage, breakage.key ? version_of(*breakage.key) : 0);
}

void Engine::set_aside(const Breakage& breakage, uint64_t version) {
  if (!quarantine_.set_aside(breakage, version)) return;
  breakages_.push_back(breakage);
  const TypedObject* known =
      breakage.key ? state_.find(*breakage.key->type, breakage.key->ns, breakage.key->name) : nullptr;
  if (!leads_ || known == nullptr) return;
  events_.push_back(event_about(*breakage.key->type, meta_of(*known), EventReason::kInternalError, note_of(breakage)));
}

// The object that the scheduler processed when it failed. A ClusterQueue that fails for each of its Workloads
// in turn is itself put into quarantine.
void Engine::set_subject_aside(const std::exception& thrown, Now now) {
  const auto subject = scheduler_feed_.driver().scheduler().subject();
  if (!subject) {
    scheduler_rest_.failed(now.monotonic);
    return set_aside(describe(std::nullopt, Broke::kQuota, "scheduling", thrown));
  }
  set_aside(describe(key_of(kWorkloads, subject->workload->meta), Broke::kQuota, "scheduling", thrown));
  if (!scheduler_rest_.failed_over(subject->cluster_queue, now.monotonic)) return;
  set_aside(describe(ObjectKey{&kClusterQueues, "", subject->cluster_queue}, Broke::kQuota, "scheduling", thrown));
}

void Engine::recover(Now now) {
  for (int rebuilds = 0; rebuilds < kMostRebuilds; ++rebuilds) {
    const auto breakage = try_to_rebuild(now);
    if (!breakage) break;
    set_aside(*breakage);
  }
  scheduler_rest_.rebuilt(now.monotonic);
}

std::optional<Breakage> Engine::try_to_rebuild(Now now) {
  ObjectKey putting{&kNamespaces, "", ""};
  doing_ = Broke::kState;
  try {
    state_.rebuild(
        [&](const TypedObject& object) {
          return !quarantine_.holds(key_of(object), Broke::kState, meta_of(object).resource_version);
        },
        putting);
    for (Observer* observer : observers_) observer->reset(now);
    state_.for_each([&](const TypedObject& object) {
      putting = key_of(object);
      for (Observer* observer : observers_) {
        if (is_kept_from(*observer, object)) continue;
        doing_ = observer->part();
        observer->restore(object, now);
      }
    });
  } catch (const std::exception& thrown) {
    return describe(putting, doing_, "creating the state again", thrown);
  }
  return std::nullopt;
}

void Engine::decide(Now now) {
  const bool admissions_seen = under_way_.admissions() == 0 && !expectations_.any_of(kWorkloads);
  if (!scheduler_rest_.wake(now.monotonic, admissions_seen)) return;
  try {
    const WatchedStep step(watch_, "scheduling");
    scheduler_feed_.driver().take_nodes(state_, now);
    if (may_plan())
      schedule(now);
    else
      scheduler_feed_.driver().follow(now);
  } catch (const std::exception& thrown) {
    set_subject_aside(thrown, now);
    recover(now);
  }
}

}  // namespace muster::engine
