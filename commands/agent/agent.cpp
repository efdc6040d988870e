#include "commands/agent/agent.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/resource_type.h"
#include "api/pods/in_place_pod.h"
#include "base/mutex.h"
#include "base/whole_number.h"
#include "commands/agent/decision.h"
#include "kube/watch.h"

namespace muster::agent {
namespace {

using nlohmann::json;

constexpr Duration kFirstRetry = std::chrono::seconds(1);
constexpr Duration kLongestRetry = std::chrono::seconds(30);

// What the watch has seen last, for the thread that acts on it.
class LatestView final : public kube::WatchSink {
 public:
  explicit LatestView(std::string name) : name_(std::move(name)) {}

  void on_list_started() override { listed_ = {}; }
  void on_listed(const json& object) override { take(object, listed_); }
  void on_replaced(const std::string&) override { set(listed_); }
  void on_absent() override { set({}); }
  void on_caught_up(uint64_t) override {}
  void on_event(kube::WatchChange change, const json& object) override {
    JobSetView view;
    if (change != kube::WatchChange::kDeleted) take(object, view);
    if (is_mine(object)) set(view);
  }

  // Waits for a view that is newer than `version`, until `deadline` at most or until wake().
  JobSetView next(uint64_t& version, MonotonicTime deadline) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (version == version_ && !woken_) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
    }
    version = version_;
    return view_;
  }
  void wake() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }

 private:
  bool is_mine(const json& object) const { return string_at(object, {"metadata", "name"}) == name_; }
  void take(const json& object, JobSetView& view) const {
    if (is_mine(object)) view = read_view(object);
  }
  void set(const JobSetView& view) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    view_ = view;
    ++version_;
    changed_.notify_all();
  }

  const std::string name_;
  JobSetView listed_;  // of the watch's thread
  Mutex mutex_;
  CondVar changed_;
  JobSetView view_ GUARDED_BY(mutex_);
  uint64_t version_ GUARDED_BY(mutex_) = 0;
  bool woken_ GUARDED_BY(mutex_) = false;
};

// A user finds here why nothing starts.
class TellingObserver final : public kube::KubeObserver {
 public:
  explicit TellingObserver(const Say& say) : say_(say) {}
  void forbidden(const kube::Resource&, const std::string& message) override {
    say_("the JobSet cannot be read: " + message);
  }
  void reconnecting(const kube::Resource&, const std::string& why, Duration) override {
    say_("the watch of the JobSet broke: " + why);
  }

 private:
  const Say& say_;
};

Outcome<kube::StatusError> report(kube::KubeApi& api, const AgentOptions& options, int32_t attempt,
                                  std::stop_token stop) {
  json patch;
  patch["metadata"]["annotations"][std::string(kInPlaceRestartAttemptAnnotation)] = std::to_string(attempt);
  auto answer =
      api.patch_merge(kube::resource_of(kPods), options.ns, options.pod, patch, {.metadata_only = true}, stop);
  if (!answer) return fail_with(answer.error());
  return Done{};
}

}  // namespace

Result<AgentOptions> read_options(const std::function<std::optional<std::string>(const char*)>& environment) {
  const auto value_of = [&](const char* name) { return environment(name).value_or(""); };
  AgentOptions options;
  options.jobset = value_of("JOBSET_NAME");
  options.pod = value_of("POD_NAME");
  if (options.jobset.empty())
    return fail("JOBSET_NAME is not set: set it from the field metadata.annotations['jobset.sigs.k8s.io/jobset-name']");
  if (options.pod.empty()) return fail("POD_NAME is not set: set it from the field metadata.name");
  options.worker_command = value_of("WORKER_COMMAND");
  if (const std::string shell = value_of("SHELL"); !shell.empty()) options.shell = shell;
  if (!options.worker_command.empty() && !(value_of("STARTUP_PROBE_PATH") + value_of("STARTUP_PROBE_PORT")).empty())
    return fail(
        "WORKER_COMMAND is set together with STARTUP_PROBE_PATH or STARTUP_PROBE_PORT: the agent is either the main "
        "container or a sidecar");
  if (const std::string path = value_of("STARTUP_PROBE_PATH"); !path.empty()) {
    if (path.front() != '/') return fail("STARTUP_PROBE_PATH is \"" + path + "\": it must begin with /");
    options.probe_path = path;
  }
  if (const std::string port = value_of("STARTUP_PROBE_PORT"); !port.empty()) {
    const auto number = whole_number<uint16_t>(port);
    if (!number || *number == 0)
      return fail("STARTUP_PROBE_PORT is \"" + port + "\": it must be a port from 1 to 65535");
    options.probe_port = *number;
  }
  if (const std::string code = value_of("IN_PLACE_RESTART_EXIT_CODE"); !code.empty()) {
    const auto number = whole_number<uint8_t>(code);
    if (!number || *number == 0)
      return fail("IN_PLACE_RESTART_EXIT_CODE is \"" + code + "\": it must be an exit code from 1 to 255");
    options.restart_exit_code = *number;
  }
  return options;
}

int run_agent(kube::KubeApi& api, const AgentOptions& options, const kube::Timing& timing,
              const std::function<void()>& open, const Say& say, std::stop_token stop) {
  TellingObserver observer(say);
  LatestView latest(options.jobset);
  const std::stop_callback wake(stop, [&] { latest.wake(); });
  const kube::Watch watch(api, kube::resource_of(kJobSets),
                          {.ns = options.ns, .field_selector = "metadata.name=" + options.jobset}, latest, observer,
                          timing);
  AgentState state;
  uint64_t version = 0;
  MonotonicTime deadline = MonotonicTime::max();
  Duration retry = kFirstRetry;
  while (!stop.stop_requested()) {
    const JobSetView view = latest.next(version, deadline);
    deadline = MonotonicTime::max();
    const AgentStep step = next_step(view, state);
    if (step == AgentStep::kRestart) {
      say("attempt " + std::to_string(*state.attempt) + " is over: the containers of this pod restart");
      return options.restart_exit_code;
    }
    if (step == AgentStep::kOpen) {
      say("the workers can start");
      state.open = true;
      open();
    }
    if (step != AgentStep::kReport) continue;
    const int32_t attempt = attempt_of(view);
    if (auto reported = report(api, options, attempt, stop); !reported) {
      say("attempt " + std::to_string(attempt) + " cannot be written to the pod: " + reported.error().message +
          "; trying again in at most " + std::to_string(retry / std::chrono::seconds(1)) + " s");
      deadline = timing.clock.now().monotonic + retry;
      retry = std::min(2 * retry, kLongestRetry);
      continue;
    }
    state.attempt = attempt;
    say("attempt " + std::to_string(attempt) + ": waiting for the other pods of JobSet " + options.jobset);
    // What the JobSet has become since then is not lost: the same view is judged again.
    version = ~version;
  }
  return 0;
}

}  // namespace muster::agent
