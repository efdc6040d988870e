#include "commands/serve.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "kube/authorizer.h"
#include "kube/events/event_recorder.h"
#include "manifests/webhooks.h"
#include "runtime/certificates/client_authorities.h"
#include "runtime/certificates/webhook_certificates.h"
#include "runtime/cluster.h"
#include "runtime/core_dumps.h"
#include "runtime/engine_loop.h"
#include "runtime/engine_reports.h"
#include "runtime/engine_watch.h"
#include "runtime/explain_service.h"
#include "runtime/kueue_guard.h"
#include "runtime/leadership.h"
#include "runtime/memory_limit.h"
#include "runtime/policy_binding.h"
#include "runtime/readers/queue_lists.h"
#include "runtime/serving.h"
#include "runtime/surroundings.h"
#include "runtime/version.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/queue_metrics.h"
#include "state/metrics/queue_gauges.h"

namespace muster {
namespace {

// From flags over file.
ListenAddresses listen_addresses(const ServeFlags& flags, const Configuration& configuration) {
  const WebhookSettings& webhook = configuration.webhook;
  return {flags.webhook_bind_address.value_or(webhook.host + ":" + std::to_string(webhook.port)),
          flags.health_probe_bind_address.value_or(configuration.health_probe_bind_address),
          flags.metrics_bind_address.value_or(configuration.metrics_bind_address)};
}

// Where muster runs, unless the configuration's `namespace` says otherwise.
std::string surrounding_namespace(const ServeFlags& flags) {
  if (!flags.own_namespace.empty()) return flags.own_namespace;
  const char* pod_namespace = std::getenv("POD_NAMESPACE");
  return pod_namespace && *pod_namespace ? pod_namespace : std::string(kDefaultNamespace);
}

// More workers than cores only take the cores from each other (docs/benchmarks.md); a
// second one keeps small reviews going while a large one is parsed.
size_t worker_count(const ServeFlags& flags) {
  if (flags.workers > 0) return static_cast<size_t>(flags.workers);
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 2, 16);
}

// The API server takes some hundred writes a second; more of them at once only queue there.
constexpr size_t kWriteConnections = 32;

// From a thread of muster to the one that waits for signals.
constexpr int kGaveUp = SIGUSR1;

int cannot_start(const std::string& why) {
  std::cerr << "muster serve: " << why << "\n";
  return 1;
}

// Everything of one `muster serve`, in the order in which it must end.
class Process {
 public:
  Process(const ServeFlags& flags, Settings settings)
      : flags_(flags),
        settings_(std::move(settings)),
        namespace_(flags.own_namespace.empty() ? kueue().namespace_ : flags.own_namespace),
        clock_(system_clock()) {}

  ~Process() { end_threads(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Serves at once, and decides as soon as the API server has said what muster must know.
  Outcome<> start();
  void stop();
  // After the signal kGaveUp: why muster cannot run in this cluster. Empty: it can.
  std::string gave_up() const EXCLUDES(mutex_);

 private:
  const Configuration& kueue() const { return settings_.configuration.kueue; }

  Outcome<> connect();
  void learn(const std::stop_token& stop);
  void begin(const Surroundings& surroundings) EXCLUDES(mutex_);
  void keep_away_from_kueue(const Surroundings& surroundings, const std::stop_token& stop);
  void make_engine_loop(const Surroundings& surroundings);
  void end_threads();
  EngineLoop* deciding() const EXCLUDES(mutex_);
  std::optional<GaugeReadings> read_gauges();
  void guard_engine();
  Outcome<> find_webhook_clients();
  Outcome<> start_serving();
  Authorizer metrics_authorizer();
  std::optional<Explainer> explainer();
  std::optional<Lister> lister();
  void start_certificates();
  void issue_bundle(const std::string& bundle) EXCLUDES(mutex_);

  const ServeFlags& flags_;
  const Settings settings_;
  const std::string namespace_;
  const Clock& clock_;

  std::stop_source ending_;  // ends requests that nobody waits for any more

  // What is known only after the API server has answered; read by every thread.
  mutable Mutex mutex_;
  std::shared_ptr<const RuleSettings> rules_ GUARDED_BY(mutex_);
  EngineLoop* deciding_ GUARDED_BY(mutex_) = nullptr;  // loop_, from its beginning on
  bool native_jobsets_ GUARDED_BY(mutex_) = false;
  std::string bundle_ GUARDED_BY(mutex_);  // the last that was issued
  std::string gave_up_ GUARDED_BY(mutex_);

  // Later ones use earlier ones, so they go first.
  std::unique_ptr<Cluster> cluster_;  // null: standalone, and then there is no loop either
  std::unique_ptr<kube::Authorizer> authorizer_, explain_authorizer_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<Leadership> leadership_;
  std::unique_ptr<QueueMetrics> queue_metrics_;
  EngineMetrics engine_metrics_;
  EngineReports reports_{engine_metrics_};
  std::unique_ptr<EngineWatch> engine_watch_;
  std::unique_ptr<EngineLoop> loop_;
  std::unique_ptr<ClientAuthoritiesFile> webhook_clients_;  // null: reviews are for everybody
  std::unique_ptr<Serving> serving_;
  std::unique_ptr<EngineGuard> guard_;
  std::unique_ptr<WebhookCertificates> certificates_;
  std::jthread policy_keeper_;
  std::jthread learner_;
};

Outcome<> Process::start() {
  if (auto found = find_webhook_clients(); !found) return found;
  if (auto connected = connect(); !connected) return connected;
  if (auto started = start_serving(); !started) return started;
  start_certificates();
  if (cluster_) {
    learner_ = std::jthread([this](const std::stop_token& stop) { learn(stop); });
  } else {
    serving_->set_synced();
  }
  return Done{};
}

void Process::stop() {
  serving_->stop(flags_.shutdown_delay);
  end_threads();
}

// Each of these threads calls parts of others, which must be there until it has ended; so all
// of them end before anything is destroyed.
void Process::end_threads() {
  ending_.request_stop();
  learner_ = {};
  policy_keeper_ = {};
  guard_.reset();
  if (leadership_) leadership_->stop();
  if (cluster_) cluster_->stop_watches();
  if (loop_) loop_->stop();
  certificates_.reset();
}

Outcome<> Process::connect() {
  if (flags_.standalone) {
    MutexLock lock(mutex_);
    rules_ = std::make_shared<const RuleSettings>(rule_settings_of(settings_, {}, false));
    return Done{};
  }
  auto cluster = Cluster::connect(
      {flags_.kubeconfig, flags_.context, kueue().client_connection.qps, kueue().client_connection.burst}, clock_);
  if (!cluster) return fail(cluster.error().message + "; without a cluster there is --standalone");
  cluster_ = std::move(*cluster);
  log_info("credentials found", {{"source", cluster_->source()}});
  const std::string identity = process_identity();
  events_ = std::make_unique<kube::EventRecorder>(cluster_->api(), kube::EventOptions{.instance = identity},
                                                  cluster_->observer(), cluster_->timing());
  leadership_ = std::make_unique<Leadership>(*cluster_, kueue().leader_election, namespace_, identity);
  queue_metrics_ =
      std::make_unique<QueueMetrics>(kueue().leader_election.leader_elect, [this] { return read_gauges(); });
  return Done{};
}

// On a thread of its own: the API server may take as long as it likes.
void Process::learn(const std::stop_token& stop) {
  LogThrottle throttle;
  const auto waiting = [&](const std::string& why) {
    serving_->set_unsynced(why);
    if (auto repeated = throttle.pass("waiting", clock_.now().monotonic))
      log_warning("muster waits for the API server, and is not ready", {{"why", why}, {"repeated", *repeated}});
  };
  const auto learnt = learn_surroundings(cluster_->api(), surroundings_question(settings_.configuration.muster),
                                         cluster_->timing(), waiting, stop);
  if (learnt && *learnt) return keep_away_from_kueue(**learnt, stop);
  if (learnt) return;
  {
    MutexLock lock(mutex_);
    gave_up_ = learnt.error().message;
  }
  kill(getpid(), kGaveUp);
}

std::string Process::gave_up() const {
  MutexLock lock(mutex_);
  return gave_up_;
}

// Two schedulers never decide over the same Workloads: muster begins when Kueue is away, and
// pauses whenever it comes.
void Process::keep_away_from_kueue(const Surroundings& surroundings, const std::stop_token& stop) {
  LogThrottle throttle(std::chrono::minutes(1));
  const auto wait = [&](const std::string& why) {
    serving_->set_kueue("Kueue must be away before muster decides anything: " + why);
    leadership_->pause(Leadership::Pause::kKueue);
    if (auto repeated = throttle.pass("kueue", clock_.now().monotonic))
      log_error(
          "muster admits and writes nothing, and is not ready, until Kueue is away: two schedulers must not decide "
          "over the same Workloads; uninstall Kueue with its webhook configurations, and muster goes on by itself",
          {{"why", why}, {"repeated", *repeated}});
  };
  const auto go_on = [&] {
    if (deciding() == nullptr) {
      begin(surroundings);
    } else {
      log_warning("Kueue is away: muster goes on");
    }
    leadership_->resume(Leadership::Pause::kKueue);
    serving_->set_kueue("");
  };
  run_kueue_guard(cluster_->api(), cluster_->timing(), {wait, go_on}, stop);
}

void Process::begin(const Surroundings& surroundings) {
  log_info("JobSets", {{"controller", surroundings.native_jobsets ? "muster" : "external"}});
  if (!surroundings.native_jobsets && surroundings.own.jobset_controller.empty()) {
    log_warning(
        "JobSet's controller is not there, so its service account is no admitter; install it and restart muster, "
        "or name the account in admitters",
        {{"looked for", "ValidatingWebhookConfiguration " + std::string(kForeignJobSetWebhooks)}});
  }
  serving_->set_unsynced("not yet");
  make_engine_loop(surroundings);
  {
    MutexLock lock(mutex_);
    rules_ = std::make_shared<const RuleSettings>(
        rule_settings_of(settings_, surroundings.own, surroundings.native_jobsets));
    native_jobsets_ = surroundings.native_jobsets;
    deciding_ = loop_.get();
    if (!bundle_.empty()) loop_->post(CaBundleIssued{bundle_});
  }
  leadership_->start(*loop_);
  leadership_->await_first_attempt();
  cluster_->start_watches(*loop_, reconciler_settings_of(settings_, surroundings.native_jobsets, namespace_),
                          flags_.keep_webhook_configurations ? std::string(kWebhookConfigurationName) : "");
  guard_engine();
  policy_keeper_ = std::jthread([this](const std::stop_token& stop) {
    const Configuration& kueue = settings_.configuration.kueue;
    const WantedPolicy wanted{settings_.configuration.muster.unqueued_kinds, kinds_with_queue(kueue)};
    settle_policy_binding(cluster_->api(), wanted, cluster_->timing(), stop);
  });
}

// null: nothing is known yet.
EngineLoop* Process::deciding() const {
  MutexLock lock(mutex_);
  return deciding_;
}

void Process::make_engine_loop(const Surroundings& surroundings) {
  EngineSettings engine;
  engine.webhooks = registration_of(settings_, namespace_, flags_.webhook_url, surroundings.native_jobsets);
  engine.webhooks.jobset_controller = surroundings.own.jobset_controller;
  engine.keep_webhook_configurations = flags_.keep_webhook_configurations;
  engine.reconcilers = reconciler_settings_of(settings_, surroundings.native_jobsets, namespace_);
  engine.admissions_at_a_time = kWriteConnections;
  engine_watch_ = std::make_unique<EngineWatch>(
      clock_, [this](const std::string& step, Duration took) { reports_.slow_step(step, took); });
  engine.watch = engine_watch_.get();
  loop_ = std::make_unique<EngineLoop>(
      std::move(engine), kWriteConnections, clock_,
      EngineLoop::Callbacks{
          .write = [this](const Command& command, MonotonicTime not_after,
                          std::stop_token stop) { return cluster_->write(command, not_after, std::move(stop)); },
          .leads_until = [this] { return leadership_->leads_until(); },
          .tell = [this](ObjectEvent event) { events_->record(std::move(event)); },
          .measure = [this](const Measurement& measurement) { queue_metrics_->record(measurement); },
          .decided = [](const LoggedDecision& decision) { log(decision); },
          .broke = [this](const Breakage& breakage) { reports_.breakage(breakage); },
          .unsupported = [this](const UnsupportedFound& found) { reports_.unsupported(found); },
          .quarantined = [this](size_t keys) { engine_metrics_.set_quarantined(keys); },
          .bundles_seen = [this](std::vector<std::string> bundles) { certificates_->bundles_seen(std::move(bundles)); },
          .webhooks_missing =
              [this](const std::vector<ObjectKey>& configurations) { reports_.missing_webhooks(configurations); },
          .synced = [this] { reports_.synced(); },
          .missing = [this](const std::vector<std::string>& kinds,
                            bool synced) { reports_.missing_kinds(kinds, synced); },
          .behind =
              [this](const std::vector<std::string>& kinds) {
                reports_.kinds_behind(kinds);
                leadership_->set_behind(!kinds.empty());
              }});
}

// A replica whose engine does not end a step neither decides nor answers from a true picture:
// the others lead, and the kubelet starts it anew.
void Process::guard_engine() {
  guard_ = std::make_unique<EngineGuard>(*engine_watch_, clock_,
                                         EngineGuard::Callbacks{.stuck =
                                                                    [this](const std::string& step) {
                                                                      reports_.stuck(step);
                                                                      leadership_->pause(Leadership::Pause::kStuck);
                                                                    },
                                                                .goes_on =
                                                                    [this] {
                                                                      reports_.goes_on();
                                                                      leadership_->resume(Leadership::Pause::kStuck);
                                                                    }});
}

std::optional<GaugeReadings> Process::read_gauges() {
  GaugeReadings readings;
  EngineLoop* loop = deciding();
  const bool asked = loop != nullptr && loop->ask([&](const Engine& engine) {
    readings = {engine.leads(), queue_gauges(engine.state(), engine.queue_settings())};
    const std::vector<GaugeReading> unsupported = engine.unsupported().gauges();
    readings.gauges.insert(readings.gauges.end(), unsupported.begin(), unsupported.end());
  });
  return asked ? std::optional(std::move(readings)) : std::nullopt;
}

Outcome<> Process::find_webhook_clients() {
  const MusterConfiguration& muster = settings_.configuration.muster;
  if (!muster.webhook_client_ca_file) return Done{};
  auto file = ClientAuthoritiesFile::open(*muster.webhook_client_ca_file, muster.webhook_client_names);
  if (!file) return fail(file.error().message);
  webhook_clients_ = std::move(*file);
  log_info("reviews are answered only to clients with a certificate", {{"file", *muster.webhook_client_ca_file}});
  return Done{};
}

Outcome<> Process::start_serving() {
  ViewProvider view = [this]() -> ClusterViewPtr {
    EngineLoop* loop = deciding();
    return loop == nullptr ? nullptr : loop->view();
  };
  if (cluster_) {
    authorizer_ = std::make_unique<kube::Authorizer>(cluster_->review_api(), clock_, "", ending_.get_token());
    explain_authorizer_ = std::make_unique<kube::Authorizer>(cluster_->review_api(), clock_,
                                                             std::string(kExplainAudience), ending_.get_token());
  }
  if (!cluster_) view = [empty = std::make_shared<const ClusterView>()] { return empty; };
  auto serving = Serving::make({.addresses = listen_addresses(flags_, kueue()),
                                .tls = kueue().tls,
                                .workers = worker_count(flags_),
                                .rules =
                                    [this] {
                                      MutexLock lock(mutex_);
                                      return rules_;
                                    },
                                .view = std::move(view),
                                .authorizer = metrics_authorizer(),
                                .explainer = explainer(),
                                .lister = lister(),
                                .webhook_clients = webhook_clients_ ? webhook_clients_->clients() : nullptr,
                                .memory_limit = memory_limit().value_or(kDefaultMemoryLimit)});
  if (!serving) return fail(serving.error().message);
  serving_ = std::move(*serving);
  reports_.set_serving(*serving_);
  if (cluster_) {
    serving_->metrics().include(cluster_->metrics().collectable());
    serving_->watch_ages(cluster_->metrics().watch_ages());
    serving_->metrics().include(queue_metrics_->collectable());
    serving_->metrics().include(engine_metrics_.collectable());
  }
  return serving_->start();
}

Authorizer Process::metrics_authorizer() {
  if (!cluster_ || !flags_.metrics_authorization) return nullptr;
  return [this](std::string_view token) {
    return decide_access(*authorizer_, token, {.verb = "get", .path = "/metrics"});
  };
}

// Whatever is said about the metrics: who asks here must be known.
std::optional<Explainer> Process::explainer() {
  if (!cluster_) return std::nullopt;
  return make_explainer(
      *explain_authorizer_, [this] { return deciding(); },
      [this] {
        MutexLock lock(mutex_);
        return reconciler_settings_of(settings_, native_jobsets_, namespace_);
      },
      [this] { return cluster_->metrics().watch_ages()->notes(); }, clock_);
}

std::optional<Lister> Process::lister() {
  if (!cluster_) return std::nullopt;
  return make_lister(
      *explain_authorizer_, [this] { return deciding(); }, clock_);
}

void Process::start_certificates() {
  certificates_ = std::make_unique<WebhookCertificates>(
      kueue(),
      WebhookCertificates::Options{.leaf_lifetime = settings_.configuration.muster.certificate_lifetime,
                                   .directory = flags_.cert_dir,
                                   .url = flags_.webhook_url,
                                   .own_namespace = namespace_,
                                   .keeps_configurations = flags_.keep_webhook_configurations,
                                   .api = cluster_ ? &cluster_->api() : nullptr},
      clock_,
      WebhookCertificates::Callbacks{.serve =
                                         [this](const ServingCertificate& certificate) {
                                           serving_->set_certificate(certificate.chain, certificate.key,
                                                                     certificate.expires);
                                         },
                                     .issue = [this](const std::string& bundle) { issue_bundle(bundle); }},
      ending_.get_token());
}

void Process::issue_bundle(const std::string& bundle) {
  MutexLock lock(mutex_);
  bundle_ = bundle;
  if (deciding_ != nullptr) deciding_->post(CaBundleIssued{bundle});
}

}  // namespace

int serve(const ServeFlags& flags) {
  refuse_core_dumps();
  auto settings = load_settings(flags.settings, surrounding_namespace(flags));
  if (!settings) return cannot_start(settings.error().message);
  const MusterConfiguration& muster = settings->configuration.muster;
  const LogFormat terminal_format = isatty(STDERR_FILENO) ? LogFormat::kText : LogFormat::kJson;
  set_up_log(flags.log_format.value_or(muster.log_format.value_or(terminal_format)), flags.log_level);
  log_info("muster starts", {{"version", kVersion}, {"commit", kCommit}});
  for (const std::string& warning : settings->warnings) log_warning("configuration", {{"warning", warning}});
  if (auto idle = not_acting_yet(settings->configuration.kueue); !idle.empty()) {
    log_warning("these settings are recognized but not implemented and have no effect", {{"settings", idle}});
  }
  if (auto gates = only_validating(settings->configuration.kueue); !gates.empty()) {
    log_warning("these feature gates only validate: what belongs to the feature is checked, and does not act yet",
                {{"settings", gates}});
  }

  // Blocked before any thread starts, so that only this one takes them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, kGaveUp);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);

  if (auto checked = check(settings->configuration.kueue.leader_election); !checked)
    return cannot_start(checked.error().message);
  Process process(flags, std::move(*settings));
  if (auto started = process.start(); !started) return cannot_start(started.error().message);
  int received = 0;
  do {
    sigwait(&ends, &received);
    if (const std::string why = process.gave_up(); !why.empty()) return cannot_start(why);
  } while (received == kGaveUp);
  log_info("stopping", {{"signal", received == SIGTERM ? "SIGTERM" : "SIGINT"}});
  process.stop();
  log_info("stopped");
  return 0;
}

}  // namespace muster
