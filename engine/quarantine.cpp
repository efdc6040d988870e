#include "engine/quarantine.h"

#include "base/invariant.h"

namespace muster::engine {

std::string_view to_text(Broke broke) {
  switch (broke) {
    case Broke::kReconciling:
      return "reconciling";
    case Broke::kState:
      return "state";
    case Broke::kQuota:
      return "quota";
  }
  return "";
}

Breakage describe(std::optional<ObjectKey> key, Broke broke, std::string_view doing, const std::exception& thrown) {
  const auto* invariant = dynamic_cast<const BrokenInvariant*>(&thrown);
  return {.key = std::move(key),
          .broke = broke,
          .where = invariant != nullptr ? invariant->where() : std::string(doing),
          .what = thrown.what()};
}

bool Quarantine::set_aside(const Breakage& breakage, uint64_t version) {
  if (!breakage.key) return true;
  const auto [entry, is_new] = entries_.try_emplace({*breakage.key, breakage.broke}, Entry{});
  const bool same = entry->second.where == breakage.where && entry->second.what == breakage.what;
  entry->second = {version, breakage.where, breakage.what};
  return is_new || !same;
}

void Quarantine::release(const ObjectKey& key) {
  for (const Broke broke : {Broke::kReconciling, Broke::kState, Broke::kQuota}) release(key, broke);
}

bool Quarantine::holds(const ObjectKey& key, Broke broke, uint64_t version) const {
  if (entries_.empty()) return false;
  const auto found = entries_.find({key, broke});
  return found != entries_.end() && found->second.version == version;
}

}  // namespace muster::engine
