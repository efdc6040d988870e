#include "commands/serve/running_decider.h"

#include <utility>

#include "runtime/policy_binding.h"
#include "runtime/recording/recorded_settings.h"

namespace muster::commands {
namespace {

// The watches must begin after it.
std::unique_ptr<runtime::FileRecorder> make_recorder(const ServeFlags& flags, const runtime::Settings& settings,
                                                     const runtime::EngineSurroundings& surroundings,
                                                     runtime::EngineReports& reports) {
  if (flags.record_file.empty()) return nullptr;
  return std::make_unique<runtime::FileRecorder>(
      runtime::RecordingOptions{.file = flags.record_file,
                                .limit = flags.record_limit,
                                .settings = runtime::recorded_settings(settings, flags.settings, surroundings)},
      runtime::FileRecorder::Callbacks{
          .recording = [&reports](bool records) { reports.recording(records); },
          .ended = [&reports, &flags](const std::string& why) { reports.recording_ended(flags.record_file, why); }});
}

}  // namespace

RunningDecider::RunningDecider(DeciderParts parts, const runtime::Surroundings& surroundings)
    : parts_(std::move(parts)), engine_watch_(parts_.clock, [this](const std::string& step, Duration took) {
        parts_.reports.slow_step(step, took);
      }) {
  const runtime::EngineSurroundings of_engine{.own_namespace = parts_.own_namespace,
                                              .webhook_url = parts_.flags.webhook_url,
                                              .native_jobsets = surroundings.native_jobsets,
                                              .jobset_controller = surroundings.own.jobset_controller,
                                              .keep_webhook_configurations = parts_.flags.keep_webhook_configurations};
  runtime::Cluster& cluster = parts_.api.cluster();
  recorder_ = make_recorder(parts_.flags, parts_.settings, of_engine, parts_.reports);
  if (recorder_) cluster.set_observer(recorder_.get());
  const MusterConfiguration& muster = parts_.settings.configuration.muster;
  if (muster.pod_reasons) {
    const auto wait = runtime::reconciler_settings_of(parts_.settings, false, parts_.own_namespace).queues;
    late_pods_ = runtime::make_late_pod_reader(
        wait.wait_for_pods_ready, cluster.note_api(), parts_.loop,
        [this](ObjectEvent event) { parts_.api.events().record(std::move(event)); }, parts_.clock);
  }
  engine::EngineSettings engine = runtime::engine_settings_of(parts_.settings, of_engine);
  engine.observer = recorder_.get();
  engine.watch = &engine_watch_;
  loop_ = std::make_unique<runtime::EngineLoop>(std::move(engine), static_cast<size_t>(muster.concurrent_writes),
                                                parts_.clock, *this);
}

// A replica whose engine does not finish a step cannot decide, and its answers are outdated. Another replica
// leads, and the kubelet restarts this one.
void RunningDecider::start_guards() {
  guard_.emplace(engine_watch_, parts_.clock,
                 runtime::EngineGuard::Callbacks{.stuck =
                                                     [this](const std::string& step) {
                                                       parts_.reports.stuck(step);
                                                       parts_.leadership.pause(runtime::Leadership::Pause::kStuck);
                                                     },
                                                 .goes_on =
                                                     [this] {
                                                       parts_.reports.goes_on();
                                                       parts_.leadership.resume(runtime::Leadership::Pause::kStuck);
                                                     }});
  policy_keeper_ = std::jthread([this](const std::stop_token& stop) {
    const auto& configuration = parts_.settings.configuration;
    const runtime::WantedPolicy wanted{configuration.muster.unqueued_kinds, kinds_with_queue(configuration.kueue)};
    runtime::settle_policy_binding(parts_.api.cluster().api(), wanted, parts_.api.cluster().timing(), stop);
  });
}

void RunningDecider::end_guards() {
  policy_keeper_ = {};
  guard_.reset();
}

void RunningDecider::stop() {
  if (late_pods_) late_pods_->stop();
  parts_.api.cluster().stop_watches();
  loop_->stop();
  if (recorder_) recorder_->stop();
}

// An eviction says why the pods were late, where that is known by now.
engine::WriteFinished RunningDecider::write(const engine::Command& command, MonotonicTime not_after,
                                            std::stop_token stop) {
  const auto with_reason = late_pods_ ? late_pods_->with_reason(command) : std::nullopt;
  return parts_.api.cluster().write(with_reason ? *with_reason : command, not_after, std::move(stop));
}

void RunningDecider::watched(const engine::Event& event) {
  parts_.history.take_in(event);
  if (late_pods_) late_pods_->take_in(event);
}

void RunningDecider::report(engine::LoopActions& actions) {
  runtime::EngineReports& reports = parts_.reports;
  if (actions.bundles_seen) parts_.bundles_seen(*std::move(actions.bundles_seen));
  if (actions.webhooks_missing) reports.missing_webhooks(*actions.webhooks_missing);
  if (actions.synced_now) reports.synced();
  if (actions.missing_kinds) reports.missing_kinds(*actions.missing_kinds, actions.view != nullptr);
  if (actions.kinds_behind) {
    reports.kinds_behind(*actions.kinds_behind);
    parts_.leadership.set_behind(!actions.kinds_behind->empty());
  }
  report(actions.commands);
  if (actions.quarantined) parts_.engine_metrics.set_quarantined(*actions.quarantined);
}

void RunningDecider::report(engine::Commands& commands) {
  for (ObjectEvent& event : commands.events) parts_.api.events().record(std::move(event));
  for (const engine::Breakage& breakage : commands.breakages) parts_.reports.breakage(breakage);
  for (const LoggedDecision& decision : commands.decisions) runtime::log(decision);
  for (const engine::UnsupportedFound& found : commands.unsupported) parts_.reports.unsupported(found);
  for (const Measurement& measurement : commands.measurements) parts_.queue_metrics.record(measurement);
}

}  // namespace muster::commands
