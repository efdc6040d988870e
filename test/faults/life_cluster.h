// The cluster of a life (lives.h), and the first thing that was wrong in it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/faults/lives.h"
#include "test/world/invariants/overrun.h"
#include "test/world/world.h"

namespace muster::test {

class LifeCluster {
 public:
  LifeCluster(const Scene& scene, const std::vector<nlohmann::json>& objects, QueueSettings settings = {},
              std::vector<std::string> namespaces = {"default"});

  world::World& world() { return world_; }
  bool broken() const { return !violation_.empty(); }
  // Another invariant, asked as often as Overrun: a sentence, or an empty text.
  void also_check(std::function<std::string()> check) { also_ = std::move(check); }

  // While no replica serves the webhooks nothing passes, and users try again.
  void create(const nlohmann::json& manifest);
  void remove(const ObjectKey& key);
  void patch(const ObjectKey& key, const nlohmann::json& merge_patch);
  // False when something broke, or the time has passed first.
  bool run_until(const std::function<bool()>& condition, Duration limit);
  void run_for(Duration duration);
  // The leader's connection breaks this long after a Workload was made, often before the admission has arrived, and for
  // longer than its lease lasts. It leads again afterwards.
  void interrupt_leader(size_t workloads, Duration after);
  // No more faults; every job comes to its end and leaves nothing behind.
  Outcome end();

  // A sentence on what is wrong; the first one counts, an empty one does not.
  void note(std::string what);

 private:
  bool look();
  void come_to_rest();
  void try_until_done(const std::string& what, const std::function<bool()>& request);
  // Jobs of every kind that ends, and pods without a controller.
  std::vector<ObjectKey> jobs() const;
  bool has_ended(const ObjectKey& key, const std::vector<nlohmann::json>& workloads) const;
  bool all_have_ended() const;
  std::string who_has_not_ended();

  const QueueSettings settings_;
  world::World world_;
  world::Overrun overrun_{world_, false};
  std::function<std::string()> also_{};
  std::string violation_;
  uint64_t steps_ = 0;
};

}  // namespace muster::test
