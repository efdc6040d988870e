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

Decider::Running::Running(Decider& owner, const runtime::Surroundings& surroundings)
    : owner_(owner), engine_watch_(owner.clock_, [&owner](const std::string& step, Duration took) {
        owner.reports_.slow_step(step, took);
      }) {
  const runtime::EngineSurroundings of_engine{.own_namespace = owner.namespace_,
                                              .webhook_url = owner.flags_.webhook_url,
                                              .native_jobsets = surroundings.native_jobsets,
                                              .jobset_controller = surroundings.own.jobset_controller,
                                              .keep_webhook_configurations = owner.flags_.keep_webhook_configurations};
  runtime::Cluster& cluster = owner.api_.cluster();
  recorder_ = make_recorder(owner.flags_, owner.settings_, of_engine, owner.reports_);
  if (recorder_) cluster.set_observer(recorder_.get());
  const MusterConfiguration& muster = owner.settings_.configuration.muster;
  if (muster.pod_reasons) {
    const auto wait = runtime::reconciler_settings_of(owner.settings_, false, owner.namespace_).queues;
    late_pods_ = runtime::make_late_pod_reader(
        wait.wait_for_pods_ready, cluster.note_api(), [&owner] { return owner.loop(); },
        [&owner](ObjectEvent event) { owner.api_.events().record(std::move(event)); }, owner.clock_);
  }
  engine::EngineSettings engine = runtime::engine_settings_of(owner.settings_, of_engine);
  engine.observer = recorder_.get();
  engine.watch = &engine_watch_;
  loop_ = std::make_unique<runtime::EngineLoop>(std::move(engine), static_cast<size_t>(muster.concurrent_writes),
                                                owner.clock_, *this);
}

// A replica whose engine does not finish a step cannot decide, and its answers are outdated. Another replica
// leads, and the kubelet restarts this one.
void Decider::Running::start_guards() {
  guard_.emplace(engine_watch_, owner_.clock_,
                 runtime::EngineGuard::Callbacks{.stuck =
                                                     [this](const std::string& step) {
                                                       owner_.reports_.stuck(step);
                                                       owner_.leadership_.pause(runtime::Leadership::Pause::kStuck);
                                                     },
                                                 .goes_on =
                                                     [this] {
                                                       owner_.reports_.goes_on();
                                                       owner_.leadership_.resume(runtime::Leadership::Pause::kStuck);
                                                     }});
  policy_keeper_ = std::jthread([this](const std::stop_token& stop) {
    const auto& configuration = owner_.settings_.configuration;
    const runtime::WantedPolicy wanted{configuration.muster.unqueued_kinds, kinds_with_queue(configuration.kueue)};
    runtime::settle_policy_binding(owner_.api_.cluster().api(), wanted, owner_.api_.cluster().timing(), stop);
  });
}

void Decider::Running::end_guards() {
  policy_keeper_ = {};
  guard_.reset();
}

void Decider::Running::stop() {
  if (late_pods_) late_pods_->stop();
  owner_.api_.cluster().stop_watches();
  loop_->stop();
  if (recorder_) recorder_->stop();
}

// An eviction says why the pods were late, where that is known by now.
engine::WriteFinished Decider::Running::write(const engine::Command& command, MonotonicTime not_after,
                                              std::stop_token stop) {
  const auto with_reason = late_pods_ ? late_pods_->with_reason(command) : std::nullopt;
  return owner_.api_.cluster().write(with_reason ? *with_reason : command, not_after, std::move(stop));
}

void Decider::Running::watched(const engine::Event& event) {
  owner_.history_.take_in(event);
  if (late_pods_) late_pods_->take_in(event);
}

void Decider::Running::report(engine::LoopActions& actions) {
  runtime::EngineReports& reports = owner_.reports_;
  if (actions.bundles_seen) owner_.bundles_seen_(*std::move(actions.bundles_seen));
  if (actions.webhooks_missing) reports.missing_webhooks(*actions.webhooks_missing);
  if (actions.synced_now) reports.synced();
  if (actions.missing_kinds) reports.missing_kinds(*actions.missing_kinds, actions.view != nullptr);
  if (actions.kinds_behind) {
    reports.kinds_behind(*actions.kinds_behind);
    owner_.leadership_.set_behind(!actions.kinds_behind->empty());
  }
  report(actions.commands);
  if (actions.quarantined) owner_.engine_metrics_.set_quarantined(*actions.quarantined);
}

void Decider::Running::report(engine::Commands& commands) {
  for (ObjectEvent& event : commands.events) owner_.api_.events().record(std::move(event));
  for (const engine::Breakage& breakage : commands.breakages) owner_.reports_.breakage(breakage);
  for (const LoggedDecision& decision : commands.decisions) runtime::log(decision);
  for (const engine::UnsupportedFound& found : commands.unsupported) owner_.reports_.unsupported(found);
  for (const Measurement& measurement : commands.measurements) owner_.queue_metrics_.record(measurement);
}

}  // namespace muster::commands
