// Keeps muster's two webhook configurations in line, the conversion webhook in its CRDs, and
// the APIServices of the visibility API where it is aggregated: holds what the API server has of
// them, and says what to write. Part of the engine.
//
// Each object is watched by its own name, so a list of CRDs covers one of them only.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/review/cluster_view.h"
#include "base/clock.h"
#include "kinds/typed_object.h"
#include "reconcilers/command.h"
#include "reconcilers/webhooks/webhook_configuration.h"

namespace muster::reconcilers {

class WebhookConfigReconciler {
 public:
  // Not active: muster does not change the configurations (another program maintains them). `write_interval` applies
  // after a failed write, and between two writes of one object: replicas of two versions must not fight at full speed
  // during a rollout.
  WebhookConfigReconciler(manifests::WebhookRegistration registration, bool active, Duration write_interval);

  // Whether this object is reconciled here, and by no other reconciler: any webhook
  // configuration, any APIService, and the CRDs whose objects muster converts.
  static bool keeps(const ResourceType& type, std::string_view name);
  void put(const PlainObject& object);
  void remove(const ObjectKey& key);
  // Of a kind, or of it the one object with this name, all but these are gone.
  void relist(const ResourceType& type, std::string_view name, const std::vector<TypedObject>& objects);
  // See CaBundleIssued.
  void issue_bundle(const std::string& pem);
  void write_finished(const ObjectKey& key);

  // Runs only after a change or when a tick is due: a comparison of whole configurations after
  // each event of a large cluster would be most of its cost. `view` is null before the first
  // sync: the CRDs need none, and cannot wait for it, since their objects are not readable
  // before.
  std::vector<Write> plan(const ClusterView* view, Now now);
  std::optional<MonotonicTime> next_tick() const { return next_tick_; }
  // The CA bundles (PEM) that configurations and CRDs hold at present, one per distinct
  // value; empty when no configuration has been seen.
  const std::vector<std::string>& live_bundles() const { return live_bundles_; }
  // Those, when the issuer of the bundle must check them: they have changed since the last call, or another change of
  // the object made the issued bundle uncertain.
  std::optional<std::vector<std::string>> take_seen_bundles();
  // The missing webhook configurations of the ones that muster maintains, when a report is due: at a
  // change, and again every kTellAgain while any is missing. The API server then does not call
  // muster for Jobs, and muster does not create them: an administrator can have deleted them on
  // purpose.
  std::optional<std::vector<ObjectKey>> take_missing(MonotonicTime now);
  static constexpr Duration kTellAgain = std::chrono::minutes(1);

 private:
  struct Target {
    std::shared_ptr<const nlohmann::json> live;  // null: not seen; of a CRD without its schemas
    bool listed = false;                         // so null means that it is not there
    bool writing = false;
    std::optional<MonotonicTime> last_write;
  };
  void set_live(const ObjectKey& key, std::shared_ptr<const nlohmann::json> live);
  void read_live_bundles();
  std::optional<nlohmann::json> patch_for(const ObjectKey& key, const nlohmann::json& live,
                                          const ClusterView* view) const;

  const manifests::WebhookRegistration registration_;
  const Duration write_interval_;
  std::map<ObjectKey, Target> targets_;
  std::vector<std::string> live_bundles_;
  std::vector<std::string> told_bundles_;  // the last that were taken
  std::optional<std::string> ca_bundle_;   // nullopt: not issued, or in doubt
  bool in_doubt_ = false;                  // since the last time they were taken
  std::optional<MonotonicTime> next_tick_;
  // Of the view, with a default LocalQueue; nullopt: there was no view.
  std::optional<std::vector<std::string>> seen_namespaces_;
  std::vector<ObjectKey> told_missing_;
  std::optional<MonotonicTime> told_missing_at_;
  bool changed_ = true;  // anything else since the last plan
};

}  // namespace muster::reconcilers
