// The kinds that muster watches, once: the client watches them, the engine counts
// them as synced, and the RBAC manifest asks for exactly them.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "api/meta/resource_type.h"

namespace muster {

struct WatchedKind {
  const ResourceType* type;
  // Only metadata is fetched (PartialObjectMetadata): enough for labels and owners,
  // and a fraction of the bytes.
  bool metadata_only = false;
  // The API server never sends objects without these labels to muster: a cluster has a hundred times more pods,
  // Services and ConfigMaps than muster needs.
  std::string_view label_selector{};
  std::string_view field_selector{};
  // Not needed beside another JobSet controller; not needed without group scheduling.
  bool for_native_jobsets = false;
  bool for_groups = false;
  // With metadata.managedFields: for a reconciler that drops the ownership of a field.
  bool managed_fields = false;
  // Clusters do without it. Without any other kind muster cannot do its work.
  bool optional = false;

  // The integration whose jobs these are, where they are watched only if it is enabled.
  std::string_view framework{};

  bool is_needed(bool native_jobsets, bool group_scheduling,
                 const std::set<std::string, std::less<>>& frameworks) const {
    return (native_jobsets || !for_native_jobsets) && (group_scheduling || !for_groups) &&
           (framework.empty() || frameworks.contains(framework));
  }
};

// Those that no description defines.
std::span<const WatchedKind> kinds_with_code();
// Of registered_kinds() (kinds/kind_registry.h).
std::span<const WatchedKind> watched_kinds();

}  // namespace muster
