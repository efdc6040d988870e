// Kubernetes' garbage collector: what is owned goes with its last owner, and a
// foreground deletion waits for those who block it; what is orphaned loses its owner. It sees objects as they are, but
// acts a moment later.
//
// Source: kube-controller-manager pkg/controller/garbagecollector.
#pragma once

#include "test/world/api_server.h"

namespace muster::world {

class GarbageCollector {
 public:
  // Both must outlive the collector.
  GarbageCollector(ApiServer& server, Timeline& timeline, uint64_t seed);

 private:
  void see(const Change& change);
  void look_soon(const ObjectKey& key);
  // Deletes an object all of whose owners are gone; finishes its foreground deletion.
  void look_at(const ObjectKey& key);
  void finish_foreground(const ObjectKey& key, const nlohmann::json& object);
  void orphan_dependents(const ObjectKey& key, const nlohmann::json& object);
  void drop_finalizer(const ObjectKey& key, const nlohmann::json& object, const char* finalizer);

  ApiServer& server_;
  Timeline& timeline_;
  Chance chance_;
};

}  // namespace muster::world
