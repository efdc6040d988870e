#include "commands/serve_process.h"

#include <signal.h>

#include "manifests/webhooks.h"
#include "runtime/kueue/kueue_guard.h"
#include "runtime/policy_binding.h"
#include "runtime/recording/recorded_settings.h"
#include "runtime/version.h"

namespace muster::commands {

Outcome<> ServeProcess::start() {
  if (flags_.standalone && settings_.configuration.muster.aggregated_visibility) {
    return fail(
        "aggregatedVisibility: muster runs --standalone, so there is no API server that could ask; leave one of them "
        "out");
  }
  if (flags_.standalone && !flags_.record_file.empty())
    return fail("--record: muster runs --standalone and decides nothing that could be recorded; leave one of them out");
  if (flags_.standalone && settings_.configuration.muster.dashboard)
    return fail("dashboard: muster runs --standalone: it knows no cluster, so there is nothing to show; leave one out");
  if (settings_.configuration.muster.dashboard && !serves_metrics())
    return fail("dashboard: there is no port of the metrics (metrics.bindAddress is \"0\"); leave one of them out");
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

void ServeProcess::stop() {
  serving_->stop(flags_.shutdown_delay);
  end_threads();
}

// Each of these threads calls parts of others, which must exist until the thread has ended. So all threads end
// before any part is destroyed.
void ServeProcess::end_threads() {
  ending_.request_stop();
  starts_.reset();
  learner_ = {};
  policy_keeper_ = {};
  guard_.reset();
  if (leadership_) leadership_->stop();
  if (late_pods_) late_pods_->stop();
  if (cluster_) cluster_->stop_watches();
  if (loop_) loop_->stop();
  if (recorder_) recorder_->stop();
  certificates_.reset();
  metrics_certificates_.reset();
}

Outcome<> ServeProcess::connect() {
  if (flags_.standalone) {
    MutexLock lock(mutex_);
    rules_ = std::make_shared<const RuleSettings>(runtime::rule_settings_of(settings_, {}, false));
    return Done{};
  }
  auto cluster = runtime::Cluster::connect(
      {flags_.kubeconfig, flags_.context, kueue().client_connection.qps, kueue().client_connection.burst}, clock_);
  if (!cluster) return fail(cluster.error().message + "; without a cluster there is --standalone");
  cluster_ = std::move(*cluster);
  runtime::log_info("credentials found", {{"source", cluster_->source()}});
  const std::string identity = runtime::process_identity();
  events_ = std::make_unique<kube::EventRecorder>(cluster_->api(), kube::EventOptions{.instance = identity},
                                                  cluster_->observer(), cluster_->timing());
  leadership_ = std::make_unique<runtime::Leadership>(*cluster_, kueue().leader_election, namespace_, identity);
  queue_metrics_ =
      std::make_unique<server::QueueMetrics>(kueue().leader_election.leader_elect, [this] { return read_gauges(); });
  return Done{};
}

// On a separate thread: the API server can be slow.
void ServeProcess::learn(const std::stop_token& stop) {
  runtime::LogThrottle throttle;
  const auto waiting = [&](const std::string& why) {
    serving_->set_unsynced(why);
    if (auto repeated = throttle.pass("waiting", clock_.now().monotonic))
      runtime::log_warning("muster waits for the API server, and is not ready",
                           {{"why", why}, {"repeated", *repeated}});
  };
  const auto learnt = runtime::learn_surroundings(
      cluster_->api(), runtime::surroundings_question(settings_.configuration), cluster_->timing(), waiting, stop);
  if (learnt && *learnt) return keep_away_from_kueue(**learnt, stop);
  if (learnt) return;
  {
    MutexLock lock(mutex_);
    gave_up_ = learnt.error().message;
  }
  kill(getpid(), kGaveUp);
}

std::string ServeProcess::gave_up() const {
  MutexLock lock(mutex_);
  return gave_up_;
}

// Two schedulers never decide about the same Workloads: muster begins when Kueue is removed, and pauses
// whenever Kueue is present.
void ServeProcess::keep_away_from_kueue(const runtime::Surroundings& surroundings, const std::stop_token& stop) {
  runtime::LogThrottle throttle(std::chrono::minutes(1));
  const auto wait = [&](const std::string& why) {
    serving_->set_kueue("muster decides nothing until Kueue is removed: " + why);
    leadership_->pause(runtime::Leadership::Pause::kKueue);
    if (auto repeated = throttle.pass("kueue", clock_.now().monotonic))
      runtime::log_error(
          "muster admits and writes nothing, and is not ready, until Kueue is removed: two schedulers must not decide "
          "about the same Workloads; uninstall Kueue with its webhook configurations, and muster continues without a "
          "restart",
          {{"why", why}, {"repeated", *repeated}});
  };
  const auto go_on = [&] {
    if (deciding() == nullptr) {
      begin(surroundings);
    } else {
      runtime::log_warning("Kueue was removed: muster continues");
    }
    leadership_->resume(runtime::Leadership::Pause::kKueue);
    serving_->set_kueue("");
  };
  runtime::run_kueue_guard(cluster_->api(), cluster_->timing(), {wait, go_on}, stop);
}

void ServeProcess::begin(const runtime::Surroundings& surroundings) {
  runtime::log_info("JobSets", {{"controller", surroundings.native_jobsets ? "muster" : "external"}});
  if (!surroundings.native_jobsets && surroundings.own.jobset_controller.empty()) {
    runtime::log_warning(
        "JobSet's controller is not there, so its service account is no admitter; install it and restart muster, "
        "or name the account in admitters",
        {{"looked for", "ValidatingWebhookConfiguration " + std::string(manifests::kForeignJobSetWebhooks)}});
  }
  serving_->set_unsynced("not yet");
  make_engine_loop(surroundings);
  {
    MutexLock lock(mutex_);
    rules_ = std::make_shared<const RuleSettings>(
        runtime::rule_settings_of(settings_, surroundings.own, surroundings.native_jobsets));
    native_jobsets_ = surroundings.native_jobsets;
    deciding_ = loop_.get();
    if (!bundle_.empty()) loop_->post(engine::CaBundleIssued{bundle_});
  }
  leadership_->start(*loop_);
  leadership_->await_first_attempt();
  cluster_->start_watches(*loop_, runtime::reconciler_settings_of(settings_, surroundings.native_jobsets, namespace_),
                          flags_.keep_webhook_configurations ? std::string(manifests::kWebhookConfigurationName) : "",
                          settings_.configuration.muster.aggregated_visibility, settings_.configuration.kinds);
  guard_engine();
  policy_keeper_ = std::jthread([this](const std::stop_token& stop) {
    const Configuration& kueue = settings_.configuration.kueue;
    const runtime::WantedPolicy wanted{settings_.configuration.muster.unqueued_kinds, kinds_with_queue(kueue)};
    runtime::settle_policy_binding(cluster_->api(), wanted, cluster_->timing(), stop);
  });
}

// null: not known yet.
runtime::EngineLoop* ServeProcess::deciding() const {
  MutexLock lock(mutex_);
  return deciding_;
}

// The watches are to begin after it.
void ServeProcess::start_recording(const runtime::EngineSurroundings& surroundings) {
  recorder_ = std::make_unique<runtime::FileRecorder>(
      runtime::RecordingOptions{.file = flags_.record_file,
                                .limit = flags_.record_limit,
                                .settings = runtime::recorded_settings(settings_, flags_.settings, surroundings)},
      runtime::FileRecorder::Callbacks{
          .recording = [this](bool records) { reports_.recording(records); },
          .ended = [this](const std::string& why) { reports_.recording_ended(flags_.record_file, why); }});
  cluster_->set_observer(recorder_.get());
}

void ServeProcess::start_late_pod_reader() {
  if (!settings_.configuration.muster.pod_reasons) return;
  const auto wait = runtime::reconciler_settings_of(settings_, false, namespace_).queues.wait_for_pods_ready;
  late_pods_ = runtime::make_late_pod_reader(
      wait, cluster_->note_api(), [this] { return deciding(); },
      [this](ObjectEvent event) { events_->record(std::move(event)); }, clock_);
}

// An eviction says why the pods were late, where that is known by now.
engine::WriteFinished ServeProcess::write(const engine::Command& command, MonotonicTime not_after,
                                          std::stop_token stop) {
  const auto with_reason = late_pods_ ? late_pods_->with_reason(command) : std::nullopt;
  return cluster_->write(with_reason ? *with_reason : command, not_after, std::move(stop));
}

void ServeProcess::take_in(const engine::Event& event) {
  history_.take_in(event);
  if (late_pods_) late_pods_->take_in(event);
}

void ServeProcess::make_engine_loop(const runtime::Surroundings& surroundings) {
  const runtime::EngineSurroundings of_engine{.own_namespace = namespace_,
                                              .webhook_url = flags_.webhook_url,
                                              .native_jobsets = surroundings.native_jobsets,
                                              .jobset_controller = surroundings.own.jobset_controller,
                                              .keep_webhook_configurations = flags_.keep_webhook_configurations};
  engine::EngineSettings engine = runtime::engine_settings_of(settings_, of_engine);
  if (!flags_.record_file.empty()) start_recording(of_engine);
  engine.observer = recorder_.get();
  engine_watch_ = std::make_unique<runtime::EngineWatch>(
      clock_, [this](const std::string& step, Duration took) { reports_.slow_step(step, took); });
  engine.watch = engine_watch_.get();
  start_late_pod_reader();
  const auto writes_at_once = static_cast<size_t>(settings_.configuration.muster.concurrent_writes);
  loop_ = std::make_unique<runtime::EngineLoop>(
      std::move(engine), writes_at_once, clock_,
      runtime::EngineLoop::Callbacks{
          .write = [this](const engine::Command& command, MonotonicTime not_after,
                          std::stop_token stop) { return write(command, not_after, std::move(stop)); },
          .leads_until = [this] { return leadership_->leads_until(); },
          .record_event = [this](ObjectEvent event) { events_->record(std::move(event)); },
          .measure = [this](const Measurement& measurement) { queue_metrics_->record(measurement); },
          .decided = [](const LoggedDecision& decision) { runtime::log(decision); },
          .broke = [this](const engine::Breakage& breakage) { reports_.breakage(breakage); },
          .unsupported = [this](const engine::UnsupportedFound& found) { reports_.unsupported(found); },
          .quarantined = [this](size_t keys) { engine_metrics_.set_quarantined(keys); },
          .bundles_seen = [this](std::vector<std::string> bundles) { certificates_->bundles_seen(std::move(bundles)); },
          .webhooks_missing =
              [this](const std::vector<ObjectKey>& configurations) { reports_.missing_webhooks(configurations); },
          .watched = [this](const engine::Event& event) { take_in(event); },
          .synced = [this] { reports_.synced(); },
          .missing = [this](const std::vector<std::string>& kinds,
                            bool synced) { reports_.missing_kinds(kinds, synced); },
          .behind =
              [this](const std::vector<std::string>& kinds) {
                reports_.kinds_behind(kinds);
                leadership_->set_behind(!kinds.empty());
              }});
}

// A replica whose engine does not finish a step cannot decide, and its answers are outdated. Another replica
// leads, and the kubelet restarts this one.
void ServeProcess::issue_bundle(const std::string& bundle) {
  MutexLock lock(mutex_);
  bundle_ = bundle;
  if (deciding_ != nullptr) deciding_->post(engine::CaBundleIssued{bundle});
}

}  // namespace muster::commands
