// The kinds that muster watches, once: the client watches them, the engine counts
// them as synced, and the RBAC manifest asks for exactly them.
#pragma once

#include <span>
#include <string_view>

#include "api/resource_type.h"

namespace muster {

struct WatchedKind {
  const ResourceType* type;
  // Only metadata is fetched (PartialObjectMetadata): enough for labels and owners,
  // and a fraction of the bytes.
  bool metadata_only = false;
  // Objects without these labels never reach muster: of pods, Services and ConfigMaps
  // a cluster has a hundred times more than muster has business with.
  std::string_view label_selector{};
  std::string_view field_selector{};
};

std::span<const WatchedKind> watched_kinds();

}  // namespace muster
