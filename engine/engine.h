// The heart of `muster serve`: a deterministic state machine that owns everything
// muster knows of the cluster. Events go in, commands come out; what readers on
// other threads may see is an immutable ClusterView.
//
// One thread owns an Engine; nothing here locks, waits or reads a clock. The loop
// around it (commands/engine_loop.h) feeds it and carries out its commands.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "api/cluster_view.h"
#include "base/clock.h"
#include "reconcilers/webhook_configuration.h"

namespace muster {

// --- Events ---

// A watch (re)listed: these are all objects of the kind; others are gone.
struct KindListed {
  std::string api_version, kind;
  std::vector<nlohmann::json> objects;
};
// The API server does not serve the kind (its CRD is not installed): none exist.
struct KindAbsent {
  std::string api_version, kind;
};
// Added or modified.
struct ObjectChanged {
  nlohmann::json object;
};
struct ObjectRemoved {
  nlohmann::json object;
};
// The certificates that the API server must trust, PEM, as they are stored now; empty
// when somebody else (cert-manager's injector) puts them into the configurations.
// Needed again whenever live_bundles() differ from it: another replica may know a
// newer bundle, and only whoever reads the store can tell which one is right.
struct CaBundleIssued {
  std::string pem;
};
// A command was carried out, or failed (conflict, not found, forbidden, ...).
struct WriteFinished {
  std::string target;  // Command::target
  bool succeeded = false;
};
// Time has come for what next_tick() announced.
struct Tick {};

using Event = std::variant<KindListed, KindAbsent, ObjectChanged, ObjectRemoved, CaBundleIssued, WriteFinished, Tick>;

// --- Commands ---

// A JSON merge patch with metadata.resourceVersion inside, so that it fails on a
// conflict instead of undoing somebody's change.
struct PatchObject {
  std::string target;  // "mutatingwebhookconfigurations/muster": one write at a time per target
  nlohmann::json merge_patch;
};
using Commands = std::vector<PatchObject>;

struct EngineSettings {
  WebhookRegistration webhooks;
  // Off: muster leaves the webhook configurations alone (somebody else keeps them).
  bool keep_webhook_configurations = true;
  // After a failed write, and between two writes of one object: replicas of two
  // versions must not fight at full speed during a rollout.
  std::chrono::nanoseconds write_interval = std::chrono::seconds(2);
};

class Engine {
 public:
  explicit Engine(EngineSettings settings);

  // Takes in one event. Commands come from plan(), after a batch of events.
  void apply(const Event& event, Now now);
  // What is to be written now, given everything applied so far.
  Commands plan(Now now);

  // Before every watched kind was listed once: false, and rules must not be asked.
  bool synced() const { return synced_kinds_.size() >= expected_kinds_; }
  // A new picture of the state as it is; cheap.
  ClusterViewPtr view() const { return std::make_shared<const ClusterView>(view_); }
  // The CA bundles (PEM) that the webhook configurations hold at present, one per
  // distinct value; empty when no configuration has been seen.
  std::vector<std::string> live_bundles() const;
  // When plan() wants to be called although nothing happened; nullopt: only after events.
  std::optional<MonotonicTime> next_tick() const { return next_tick_; }

 private:
  struct Target {
    nlohmann::json live;  // null: not seen
    bool writing = false;
    std::optional<MonotonicTime> last_write;
  };

  void put(const nlohmann::json& object);
  void remove(const nlohmann::json& object);
  void replace(const KindListed& list);
  void put_target(const nlohmann::json& object, nlohmann::json live);

  const EngineSettings settings_;
  const size_t expected_kinds_;
  ClusterView view_;
  std::map<std::string, std::set<std::string>> known_;  // "apiVersion/Kind" -> "ns/name"
  std::set<std::string> synced_kinds_;
  std::optional<std::string> ca_bundle_;  // nullopt: not issued, or in doubt
  std::map<std::string, Target> targets_;
  std::optional<MonotonicTime> next_tick_;
};

}  // namespace muster
