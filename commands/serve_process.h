// The parts of one running `muster serve`, and how they hang together: the composition root.
#pragma once

#include <csignal>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "commands/serve.h"
#include "kube/authorizer.h"
#include "kube/events/event_recorder.h"
#include "runtime/certificates/client_authorities.h"
#include "runtime/certificates/external_certificates.h"
#include "runtime/certificates/webhook_certificates.h"
#include "runtime/cluster.h"
#include "runtime/engine_loop.h"
#include "runtime/engine_reports.h"
#include "runtime/engine_watch.h"
#include "runtime/leadership.h"
#include "runtime/load_settings.h"
#include "runtime/readers/history_recorder.h"
#include "runtime/readers/late_pod_reader.h"
#include "runtime/readers/start_recorder.h"
#include "runtime/serving.h"
#include "runtime/surroundings.h"
#include "runtime/visibility/front_proxy_keeper.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/queue_metrics.h"

namespace muster::commands {

// From a thread of muster to the one that waits for signals.
inline constexpr int kGaveUp = SIGUSR1;

// Everything of one `muster serve`, in the order in which it must end.
class ServeProcess {
 public:
  ServeProcess(const ServeFlags& flags, runtime::Settings settings)
      : flags_(flags),
        settings_(std::move(settings)),
        namespace_(flags.own_namespace.empty() ? kueue().namespace_ : flags.own_namespace),
        clock_(system_clock()) {}

  ~ServeProcess() { end_threads(); }
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  // Serves at once, and decides as soon as the API server has said what muster must know.
  Outcome<> start();
  void stop();
  // After the signal kGaveUp: why muster cannot run in this cluster. Empty: it can.
  std::string gave_up() const EXCLUDES(mutex_);

 private:
  const Configuration& kueue() const { return settings_.configuration.kueue; }

  Outcome<> connect();
  void learn(const std::stop_token& stop);
  void begin(const runtime::Surroundings& surroundings) EXCLUDES(mutex_);
  void keep_away_from_kueue(const runtime::Surroundings& surroundings, const std::stop_token& stop);
  void start_late_pod_reader();
  engine::WriteFinished write(const engine::Command& command, MonotonicTime not_after, std::stop_token stop);
  void take_in(const engine::Event& event);
  void make_engine_loop(const runtime::Surroundings& surroundings);
  void start_recording(const runtime::EngineSurroundings& surroundings);
  void end_threads();
  runtime::EngineLoop* deciding() const EXCLUDES(mutex_);
  std::optional<GaugeReadings> read_gauges();
  void guard_engine();
  bool serves_metrics() const;
  Outcome<> find_webhook_clients();
  Outcome<> start_serving();
  server::MetricsAccess metrics_access();
  std::optional<server::Explainer> explainer();
  std::optional<server::Lister> lister();
  server::Routes dashboard(std::optional<server::Lister> lister, std::optional<server::Explainer> explainer);
  std::optional<server::VisibilityApi> visibility(const std::optional<server::Lister>& lister);
  std::shared_ptr<const StartEstimates> start_estimates() const { return starts_ ? starts_->latest() : nullptr; }
  void start_certificates();
  void issue_bundle(const std::string& bundle) EXCLUDES(mutex_);

  const ServeFlags& flags_;
  const runtime::Settings settings_;
  const std::string namespace_;
  const Clock& clock_;

  std::stop_source ending_;  // ends requests whose clients wait no longer

  // What is known only after the API server has answered; read by every thread.
  mutable Mutex mutex_;
  std::shared_ptr<const RuleSettings> rules_ GUARDED_BY(mutex_);
  runtime::EngineLoop* deciding_ GUARDED_BY(mutex_) = nullptr;  // loop_, from its beginning on
  bool native_jobsets_ GUARDED_BY(mutex_) = false;
  std::string bundle_ GUARDED_BY(mutex_);  // the last that was issued
  std::string gave_up_ GUARDED_BY(mutex_);

  // Later ones use earlier ones, so they go first.
  std::unique_ptr<runtime::Cluster> cluster_;  // null: standalone, and then there is no loop either
  std::unique_ptr<kube::Authorizer> authorizer_, explain_authorizer_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<runtime::Leadership> leadership_;
  std::unique_ptr<server::QueueMetrics> queue_metrics_;
  server::EngineMetrics engine_metrics_;
  runtime::EngineReports reports_{engine_metrics_};
  runtime::HistoryRecorder history_{clock_};
  std::unique_ptr<runtime::LatePodReader> late_pods_;  // null: no podReasons
  std::unique_ptr<runtime::EngineWatch> engine_watch_;
  std::unique_ptr<runtime::FileRecorder> recorder_;  // null: nothing is recorded
  std::unique_ptr<runtime::EngineLoop> loop_;
  std::unique_ptr<runtime::FrontProxyKeeper> front_proxy_;           // null: the visibility API is not aggregated
  std::unique_ptr<runtime::ClientAuthoritiesFile> webhook_clients_;  // null: every client can send reviews
  std::shared_ptr<runtime::StartRecorder> starts_;                   // null: --no-start-estimates
  std::unique_ptr<runtime::Serving> serving_;
  std::unique_ptr<runtime::EngineGuard> guard_;
  std::unique_ptr<runtime::WebhookCertificates> certificates_;
  std::unique_ptr<runtime::ExternalCertificates> metrics_certificates_;  // null: the metrics share the webhooks'
  std::jthread policy_keeper_;
  std::jthread learner_;
};

}  // namespace muster::commands
