// Keeps muster's two webhook configurations in line: holds what the API server has of
// them, and says what to write. Part of the engine.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_view.h"
#include "api/typed_object.h"
#include "base/clock.h"
#include "reconcilers/command.h"
#include "reconcilers/webhook_configuration.h"

namespace muster {

class WebhookKeeper {
 public:
  // Not active: muster leaves the configurations alone (somebody else keeps them).
  // `write_interval` is kept after a failed write, and between two writes of one
  // object: replicas of two versions must not fight at full speed during a rollout.
  WebhookKeeper(WebhookRegistration registration, bool active, Duration write_interval);

  static bool is_configuration(const ResourceType& type);
  void put(const PlainObject& configuration);
  void remove(const ObjectKey& key);
  // Of a kind of configuration, all but these are gone.
  void relist(const ResourceType& type, const std::vector<TypedObject>& objects);
  // See CaBundleIssued.
  void issue_bundle(const std::string& pem);
  void write_finished(const ObjectKey& key);

  // Looks only if something has changed since, or a tick is due: to compare whole
  // configurations after each event of a large cluster would be most of its cost.
  std::vector<Write> plan(const ClusterView& view, Now now);
  std::optional<MonotonicTime> next_tick() const { return next_tick_; }
  // The CA bundles (PEM) that the configurations hold at present, one per distinct
  // value; empty when no configuration has been seen.
  const std::vector<std::string>& live_bundles() const { return live_bundles_; }

 private:
  struct Target {
    std::shared_ptr<const nlohmann::json> live;  // null: not seen
    bool writing = false;
    std::optional<MonotonicTime> last_write;
  };
  void set_live(const ObjectKey& key, std::shared_ptr<const nlohmann::json> live);
  void read_live_bundles();

  const WebhookRegistration registration_;
  const Duration write_interval_;
  std::map<ObjectKey, Target> targets_;
  std::vector<std::string> live_bundles_;
  std::optional<std::string> ca_bundle_;  // nullopt: not issued, or in doubt
  std::optional<MonotonicTime> next_tick_;
  std::vector<std::string> seen_namespaces_;  // of the view, with a default LocalQueue
  bool changed_ = true;                       // anything else since the last plan
};

}  // namespace muster
