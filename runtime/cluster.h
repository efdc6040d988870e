// muster's side of one API server: the client, the watches that feed the engine, and
// what muster learns about itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kinds/kind_description.h"
#include "kinds/watched_kinds.h"
#include "kube/client.h"
#include "kube/watch.h"
#include "runtime/engine_loop.h"
#include "runtime/log_observers.h"

namespace muster::runtime {

class Cluster {
 public:
  struct Options {
    std::string kubeconfig, context;
    double qps = 0;  // not positive: no limit
    int burst = 0;
  };

  // Finds and reads the credentials; sends nothing yet.
  static Result<std::unique_ptr<Cluster>> connect(const Options& options, const Clock& clock);
  ~Cluster();

  kube::KubeApi& api() { return *client_; }
  // Without a rate limit, for the lease: a renewal must not queue behind other requests.
  kube::KubeApi& lease_api() { return *lease_client_; }
  // With a separate limit, for questions that unknown clients can cause: whether a token is good.
  kube::KubeApi& review_api() { return *review_client_; }
  // With a separate limit, for reads that only explain something: no write waits for them.
  kube::KubeApi& note_api() { return *note_client_; }
  KubeLog& observer() { return log_; }
  kube::Timing timing() const;
  server::ClientMetrics& metrics() { return metrics_; }
  const std::string& source() const { return client_->source(); }

  // Who gets the texts of objects; before the watches start, and must outlive them. null: none.
  void set_observer(const engine::LoopObserver* observer) { observer_ = observer; }
  // Watches every kind of kinds/watched_kinds.h that is needed; of the others the engine hears that
  // there are none. When `configurations` is not empty, also the webhook configurations of
  // that name and the CRDs whose objects muster converts, and with `api_services` those of the
  // visibility API. `own_kinds`: an administrator's, followed only while their definitions do not contradict them
  // (runtime/kind_check.h). The loop must outlive this cluster's watches.
  void start_watches(EngineLoop& loop, const ReconcilerSettings& settings, const std::string& configurations,
                     bool api_services = false, std::span<const KindDescriptionPtr> own_kinds = {})
      EXCLUDES(watches_mutex_);
  void stop_watches() EXCLUDES(watches_mutex_);
  // The loop hears KindCaughtUp with `term` (of which each is greater than the last) for each watched
  // kind as soon as that is proven, and begins to lead with it. Any thread, also before the watches start.
  void catch_up(uint64_t term) EXCLUDES(watches_mutex_);

  // Carries out an engine's command, for Outbox; logs what goes wrong. Any thread.
  engine::WriteFinished write(const engine::Command& command, MonotonicTime not_after, std::stop_token stop);

 private:
  class Feed;
  class Nodes;

  explicit Cluster(const Clock& clock);
  void watch(EngineLoop& loop, const WatchedKind& kind, const std::string& name = {}, kube::KindCheck check = {})
      EXCLUDES(watches_mutex_);
  void watch_nodes(EngineLoop& loop, scheduler::NodePart part) EXCLUDES(watches_mutex_);
  void start(const ResourceType& type, kube::Selection selection, std::unique_ptr<kube::WatchSink> sink,
             kube::KindCheck check = {}) EXCLUDES(watches_mutex_);
  kube::KindCheck check_of(const WatchedKind& kind, std::span<const KindDescriptionPtr> own_kinds);
  // true or false.
  kube::KubeApi::Answer find_pods(const reconcilers::Write& write, MonotonicTime not_after, std::stop_token stop);
  kube::KubeApi::Answer send(const reconcilers::Write& write, MonotonicTime not_after, std::stop_token stop);

  const Clock& clock_;
  server::ClientMetrics metrics_;
  KubeLog log_;
  std::unique_ptr<kube::KubeClient> client_, lease_client_, review_client_, note_client_;
  const engine::LoopObserver* observer_ = nullptr;
  std::shared_ptr<const ReconcilerSettings> settings_;  // of the watches
  std::vector<std::unique_ptr<kube::WatchSink>> feeds_;

  Mutex watches_mutex_;
  uint64_t term_ GUARDED_BY(watches_mutex_) = 0;
  std::vector<std::unique_ptr<kube::Watch>> watches_ GUARDED_BY(watches_mutex_);
};

}  // namespace muster::runtime
