// The kinds that muster watches, once: the client watches them, the engine counts
// them as synced, and the RBAC manifest asks for exactly them.
#pragma once

#include <span>
#include <string_view>

namespace muster {

struct WatchedKind {
  std::string_view group;  // "" for the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  // Only metadata is fetched (PartialObjectMetadata): enough for labels and owners,
  // and a fraction of the bytes.
  bool metadata_only;

  // "batch/v1", or "v1" for the core group.
  std::string_view api_version;
};

std::span<const WatchedKind> watched_kinds();

}  // namespace muster
