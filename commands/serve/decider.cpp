#include "commands/serve/decider.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "manifests/webhooks.h"
#include "runtime/kueue/kueue_guard.h"
#include "runtime/serving.h"
#include "state/metrics/queue_gauges.h"

namespace muster::commands {

Decider::Decider(const ServeFlags& flags, const runtime::Settings& settings, std::string own_namespace,
                 std::string identity, const Clock& clock, ApiServer& api)
    : flags_(flags),
      settings_(settings),
      namespace_(std::move(own_namespace)),
      clock_(clock),
      api_(api),
      leadership_(api.cluster(), settings.configuration.kueue.leader_election, namespace_, std::move(identity)),
      queue_metrics_(settings.configuration.kueue.leader_election.leader_elect, [this] { return read_gauges(); }) {
  if (flags.start_estimates) starts_ = runtime::make_start_recorder([this] { return loop(); }, clock);
}

Decider::~Decider() {
  stop();
}

void Decider::start(runtime::Serving& serving, BundlesSeen bundles_seen) {
  serving_ = &serving;
  bundles_seen_ = std::move(bundles_seen);
  reports_.set_serving(serving);
  learner_ = std::jthread([this](const std::stop_token& stop) { learn(stop); });
}

void Decider::stop() {
  starts_.reset();
  learner_ = {};
  if (running_) running_->end_guards();
  leadership_.stop();
  if (running_) running_->stop();
}

// On a separate thread: the API server can be slow.
void Decider::learn(const std::stop_token& stop) {
  runtime::LogThrottle throttle;
  const auto waiting = [&](const std::string& why) {
    serving_->set_unsynced(why);
    if (auto repeated = throttle.pass("waiting", clock_.now().monotonic))
      runtime::log_warning("muster waits for the API server, and is not ready",
                           {{"why", why}, {"repeated", *repeated}});
  };
  const auto learnt =
      runtime::learn_surroundings(api_.cluster().api(), runtime::surroundings_question(settings_.configuration),
                                  api_.cluster().timing(), waiting, stop);
  if (learnt && *learnt) return keep_away_from_kueue(**learnt, stop);
  if (learnt) return;
  {
    MutexLock lock(mutex_);
    gave_up_ = learnt.error().message;
  }
  kill(getpid(), kGaveUp);
}

std::string Decider::gave_up() const {
  MutexLock lock(mutex_);
  return gave_up_;
}

// Two schedulers never decide about the same Workloads: muster begins when Kueue is removed, and pauses
// whenever Kueue is present.
void Decider::keep_away_from_kueue(const runtime::Surroundings& surroundings, const std::stop_token& stop) {
  runtime::LogThrottle throttle(std::chrono::minutes(1));
  const auto wait = [&](const std::string& why) {
    serving_->set_kueue("muster decides nothing until Kueue is removed: " + why);
    leadership_.pause(runtime::Leadership::Pause::kKueue);
    if (auto repeated = throttle.pass("kueue", clock_.now().monotonic))
      runtime::log_error(
          "muster admits and writes nothing, and is not ready, until Kueue is removed: two schedulers must not decide "
          "about the same Workloads; uninstall Kueue with its webhook configurations, and muster continues without a "
          "restart",
          {{"why", why}, {"repeated", *repeated}});
  };
  const auto go_on = [&] {
    if (loop() == nullptr) {
      begin(surroundings);
    } else {
      runtime::log_warning("Kueue was removed: muster continues");
    }
    leadership_.resume(runtime::Leadership::Pause::kKueue);
    serving_->set_kueue("");
  };
  runtime::run_kueue_guard(api_.cluster().api(), api_.cluster().timing(), {wait, go_on}, stop);
}

void Decider::begin(const runtime::Surroundings& surroundings) {
  runtime::log_info("JobSets", {{"controller", surroundings.native_jobsets ? "muster" : "external"}});
  if (!surroundings.native_jobsets && surroundings.own.jobset_controller.empty()) {
    runtime::log_warning(
        "JobSet's controller is not there, so its service account is no admitter; install it and restart muster, "
        "or name the account in admitters",
        {{"looked for", "ValidatingWebhookConfiguration " + std::string(manifests::kForeignJobSetWebhooks)}});
  }
  serving_->set_unsynced("not yet");
  running_ = std::make_unique<RunningDecider>(DeciderParts{.flags = flags_,
                                                           .settings = settings_,
                                                           .own_namespace = namespace_,
                                                           .clock = clock_,
                                                           .api = api_,
                                                           .leadership = leadership_,
                                                           .queue_metrics = queue_metrics_,
                                                           .engine_metrics = engine_metrics_,
                                                           .reports = reports_,
                                                           .history = history_,
                                                           .loop = [this] { return loop(); },
                                                           .bundles_seen = bundles_seen_},
                                              surroundings);
  {
    MutexLock lock(mutex_);
    rules_ = std::make_shared<const RuleSettings>(
        runtime::rule_settings_of(settings_, surroundings.own, surroundings.native_jobsets));
    native_jobsets_ = surroundings.native_jobsets;
    loop_ = &running_->loop();
    if (!bundle_.empty()) loop_->post(engine::CaBundleIssued{bundle_});
  }
  leadership_.start(running_->loop());
  leadership_.await_first_attempt();
  const MusterConfiguration& muster = settings_.configuration.muster;
  api_.cluster().start_watches(
      running_->loop(), runtime::reconciler_settings_of(settings_, surroundings.native_jobsets, namespace_),
      flags_.keep_webhook_configurations ? std::string(manifests::kWebhookConfigurationName) : "",
      muster.aggregated_visibility, settings_.configuration.kinds);
  running_->start_guards();
}

void Decider::issue_bundle(const std::string& bundle) {
  MutexLock lock(mutex_);
  bundle_ = bundle;
  if (loop_ != nullptr) loop_->post(engine::CaBundleIssued{bundle});
}

std::shared_ptr<const RuleSettings> Decider::rules() const {
  MutexLock lock(mutex_);
  return rules_;
}

ClusterViewPtr Decider::view() const {
  const runtime::EngineLoop* deciding = loop();
  return deciding == nullptr ? nullptr : deciding->view();
}

runtime::EngineLoop* Decider::loop() const {
  MutexLock lock(mutex_);
  return loop_;
}

ReconcilerSettings Decider::settings() const {
  MutexLock lock(mutex_);
  return runtime::reconciler_settings_of(settings_, native_jobsets_, namespace_);
}

std::optional<GaugeReadings> Decider::read_gauges() {
  GaugeReadings readings;
  runtime::EngineLoop* deciding = loop();
  const bool asked = deciding != nullptr && deciding->ask([&](const engine::Engine& engine) {
    readings = {engine.leads(), state::queue_gauges(engine.state(), engine.decisions(), engine.queue_settings())};
    const auto add = [&](const std::vector<GaugeReading>& more) {
      readings.gauges.insert(readings.gauges.end(), more.begin(), more.end());
    };
    add(engine.unsupported().gauges());
    add(engine.state().kept_bytes().gauges());
    std::optional<MonotonicTime> until = leadership_.leads_until();
    if (until) until = std::min(*until, clock_.now().monotonic);
    add(engine.resource_seconds().read(engine.state(), until));
  });
  return asked ? std::optional(std::move(readings)) : std::nullopt;
}

}  // namespace muster::commands
