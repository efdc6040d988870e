#include "test/world/kubelet.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "base/whole_number.h"
#include "jobs/group_scheduling.h"

namespace muster::world {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::optional<int64_t> number_in(const json& pod, std::string_view key) {
  const auto text = annotation(pod, key);
  return text ? whole_number<int64_t>(*text) : std::nullopt;
}

// The first restart is immediate, then after 10 s, 20 s, ... 5 min.
Duration crash_loop_delay(int restarts) {
  if (restarts == 0) return milliseconds(200);
  return std::min<Duration>(seconds(10) * (1 << std::min(restarts - 1, 5)), seconds(300));
}

bool is_sidecar(const json& container) {
  return string_at(container, {"restartPolicy"}) == "Always";
}

json fresh_statuses(const json& containers) {
  json statuses = json::array();
  for (const json& container : containers) {
    statuses.push_back({{"name", container["name"]},
                        {"ready", false},
                        {"restartCount", 0},
                        {"state", {{"waiting", {{"reason", "PodInitializing"}}}}}});
  }
  return statuses;
}

json condition(const char* type, bool holds) {
  return {{"type", type}, {"status", holds ? "True" : "False"}};
}

}  // namespace

Fate default_fate(const json& pod) {
  Fate fate;
  if (auto run = number_in(pod, kRunSeconds)) fate.run = seconds(*run);
  if (auto code = number_in(pod, kExitCode)) fate.exit_code = static_cast<int>(*code);
  if (auto init = number_in(pod, kInitSeconds)) fate.init = seconds(*init);
  return fate;
}

Kubelet::Kubelet(Surroundings around, const json& pod)
    : around_(std::move(around)),
      key_(key_of(kPods, pod)),
      uid_(string_at(pod, {"metadata", "uid"})),
      spec_(object_at(pod, {"spec"})),
      init_statuses_(fresh_statuses(array_at(pod, {"spec", "initContainers"}))),
      main_statuses_(fresh_statuses(array_at(pod, {"spec", "containers"}))) {
  for (const json& volume : array_at(spec_, {"volumes"})) {
    if (string_at(volume, {"name"}) != kGroupVolume) continue;
    config_map_ = ObjectKey{&kConfigMaps, key_.ns, std::string(string_at(volume, {"configMap", "name"}))};
  }
  after(some(around_.times.watch_low, around_.times.watch_high), [this] {
    start_time_ = stamp();
    sync();
    run_init(0);
  });
}

std::string_view Kubelet::node() const {
  return string_at(spec_, {"nodeName"});
}

ObjectPtr Kubelet::pod() const {
  ObjectPtr found = around_.server.get(key_);
  return found != nullptr && string_at(*found, {"metadata", "uid"}) == uid_ ? found : nullptr;
}

void Kubelet::after(Duration delay, std::function<void()> action) {
  around_.timeline.after(delay, [this, alive = std::weak_ptr<int>(alive_), step = step_, action = std::move(action)] {
    if (!alive.expired() && step == step_) action();
  });
}

std::string Kubelet::stamp() const {
  return format_rfc3339(to_timestamp(around_.timeline.now().wall));
}

// --- Init containers ---

void Kubelet::run_init(size_t index) {
  ++step_;
  init_ = index;
  restarts_ = 0;
  const json& containers = array_at(spec_, {"initContainers"});
  if (index == containers.size()) {
    initialized_ = true;
    run_main();
    return;
  }
  stage_ = Stage::kInit;
  pulling_ = true;
  after(some(around_.times.pull_low, around_.times.pull_high), [this] { start_init(); });
}

void Kubelet::retry_pull() {
  if (!pulling_) return;
  ++step_;
  after(some(around_.times.pull_low, around_.times.pull_high), [this] {
    if (stage_ == Stage::kMain)
      start_main();
    else
      start_init();
  });
}

void Kubelet::start_init() {
  json& status = init_statuses_[init_];
  if (around_.pull_fails(key_.name)) {
    set_waiting(status, "ErrImagePull", "the image is held back by the simulation");
    return tell();
  }
  ++step_;
  pulling_ = false;
  const json& container = spec_["initContainers"][init_];
  set_running(status);
  tell();
  if (is_sidecar(container)) return run_init(init_ + 1);
  if (string_at(container, {"name"}) == kGroupInitContainer) return start_waiter();
  const ObjectPtr object = pod();
  if (object == nullptr) return;
  after(around_.fate_of(*object).init, [this] { init_ended(0); });
}

void Kubelet::start_waiter() {
  const ObjectPtr object = pod();
  if (object == nullptr) return;
  waiter_ = world::start_waiter(spec_["initContainers"][init_], *object);
  waiter_started_ = around_.timeline.time();
  if (!waiter_) {
    after(some(around_.times.notice_low, around_.times.notice_high), [this] { init_ended(2); });
    return;
  }
  after(seconds(waiter_->limit_seconds), [this] { consult(); });
  // The start of a container is an event that triggers a sync.
  after(some(around_.times.notice_low, around_.times.notice_high), [this] { sync(); });
  consult();
}

void Kubelet::sync() {
  if (stage_ == Stage::kEnded) return;
  if (config_map_) mounted_ = around_.files_of(*config_map_);
  sync_again();
  consult();
}

void Kubelet::sync_again() {
  if (!config_map_ || stage_ == Stage::kMain) return;
  around_.timeline.after(some(around_.times.sync_low, around_.times.sync_high),
                         [this, alive = std::weak_ptr<int>(alive_), turn = ++sync_] {
                           if (!alive.expired() && turn == sync_) sync();
                         });
}

// The waiter polls its files ten times a second.
void Kubelet::consult() {
  if (stage_ != Stage::kInit || !waiter_) return;
  const auto waited = std::chrono::duration_cast<seconds>(around_.timeline.time() - waiter_started_).count();
  const std::optional<int> exit_code = judge(*waiter_, mounted_, waited);
  if (!exit_code) return;
  waiter_.reset();
  ++step_;
  after(some(milliseconds(0), milliseconds(100)) + some(around_.times.notice_low, around_.times.notice_high),
        [this, code = *exit_code] { init_ended(code); });
}

void Kubelet::init_ended(int exit_code) {
  ++step_;
  waiter_.reset();
  json& status = init_statuses_[init_];
  const bool again = exit_code != 0 && string_at(spec_, {"restartPolicy"}) != "Never";
  set_terminated(status, exit_code, again);
  if (exit_code == 0) {
    tell();
    sync();
    return run_init(init_ + 1);
  }
  if (!again) return end("Failed");
  tell();
  after(crash_loop_delay(restarts_++), [this] {
    json& restarted = init_statuses_[init_];
    restarted["restartCount"] = restarts_;
    start_init();
  });
}

// --- Main containers ---

void Kubelet::run_main() {
  ++step_;
  stage_ = Stage::kMain;
  pulling_ = true;
  after(some(around_.times.pull_low, around_.times.pull_high), [this] { start_main(); });
}

void Kubelet::start_main() {
  if (around_.pull_fails(key_.name)) {
    for (json& status : main_statuses_) set_waiting(status, "ErrImagePull", "the image is held back by the simulation");
    return tell();
  }
  const ObjectPtr object = pod();
  if (object == nullptr) return;
  ++step_;
  pulling_ = false;
  phase_ = "Running";
  ready_ = true;
  for (json& status : main_statuses_) set_running(status);
  tell();
  const Fate fate = around_.fate_of(*object);
  after(fate.run, [this, code = fate.exit_code] { main_ended(code); });
}

bool Kubelet::end_main(int exit_code) {
  if (phase_ != "Running" || stage_ != Stage::kMain || !ready_) return false;
  main_ended(exit_code);
  return true;
}

void Kubelet::main_ended(int exit_code) {
  ++step_;
  ready_ = false;
  const std::string_view policy = string_at(spec_, {"restartPolicy"});
  const bool again = policy == "Always" || (policy == "OnFailure" && exit_code != 0);
  for (json& status : main_statuses_) set_terminated(status, exit_code, again);
  if (!again) return end(exit_code == 0 ? "Succeeded" : "Failed");
  tell();
  after(crash_loop_delay(restarts_++), [this] {
    for (json& status : main_statuses_) status["restartCount"] = restarts_;
    start_main();
  });
}

// --- The end ---

void Kubelet::end(const char* phase) {
  ++step_;
  ++sync_;
  stage_ = Stage::kEnded;
  phase_ = phase;
  ready_ = false;
  tell();
}

void Kubelet::pod_changed() {
  if (stage_ == Stage::kEnded || !config_map_) return;
  around_.timeline.after(some(around_.times.watch_low, around_.times.watch_high),
                         [this, alive = std::weak_ptr<int>(alive_)] {
                           if (!alive.expired()) sync();
                         });
}

void Kubelet::pod_deleted() {
  if (stage_ == Stage::kEnded) return;
  Duration delay =
      some(around_.times.watch_low, around_.times.watch_high) + some(around_.times.stop_low, around_.times.stop_high);
  const ObjectPtr pod = around_.server.get(key_);
  if (const auto stop = pod == nullptr ? std::nullopt : number_in(*pod, kStopSeconds)) {
    if (*stop < 0) return;
    delay += seconds(std::min(*stop, int_at(*pod, {"metadata", "deletionGracePeriodSeconds"}).value_or(0)));
  }
  around_.timeline.after(delay, [this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired() || stage_ == Stage::kEnded) return;
    // A container that is stopped by a signal exits with 143.
    for (json* statuses : {&init_statuses_, &main_statuses_}) {
      for (json& status : *statuses) {
        if (find_path(status, {"state", "running"}) != nullptr) set_terminated(status, 143, false);
      }
    }
    end("Failed");
  });
}

// --- Status ---

void Kubelet::set_running(json& status) {
  status["state"] = {{"running", {{"startedAt", stamp()}}}};
  status["ready"] = true;
  status["started"] = true;
}

void Kubelet::set_terminated(json& status, int exit_code, bool will_restart) {
  const std::string started(string_at(status, {"state", "running", "startedAt"}));
  const json terminated = {{"exitCode", exit_code},
                           {"reason", exit_code == 0 ? "Completed" : "Error"},
                           {"startedAt", started.empty() ? stamp() : started},
                           {"finishedAt", stamp()}};
  status["ready"] = exit_code == 0;
  status["started"] = false;
  if (!will_restart) {
    status["state"] = {{"terminated", terminated}};
    return;
  }
  status["state"] = {
      {"waiting", {{"reason", "CrashLoopBackOff"}, {"message", "back-off restarting failed container"}}}};
  status["lastState"] = {{"terminated", terminated}};
}

void Kubelet::set_waiting(json& status, const char* reason, const char* message) {
  status["state"] = {{"waiting", {{"reason", reason}, {"message", message}}}};
}

void Kubelet::tell() {
  json status = {{"phase", phase_},
                 {"startTime", start_time_},
                 {"conditions", json::array({condition("PodScheduled", true), condition("Initialized", initialized_),
                                             condition("ContainersReady", ready_), condition("Ready", ready_)})},
                 {"containerStatuses", main_statuses_}};
  if (!init_statuses_.empty()) status["initContainerStatuses"] = init_statuses_;
  around_.server.patch_status(key_, {{"metadata", {{"uid", uid_}}}, {"status", std::move(status)}},
                              {.user = "kubelet"});
}

}  // namespace muster::world
