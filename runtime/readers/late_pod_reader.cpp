#include "runtime/readers/late_pod_reader.h"

#include <algorithm>
#include <exception>
#include <variant>

#include "reconcilers/workload/late_pods_note.h"
#include "reconcilers/workload/workload_timeouts.h"
#include "runtime/log.h"
#include "runtime/pod_lists.h"

namespace muster::runtime {
namespace {

// A wall clock that is set is noticed by then.
constexpr Duration kLongestSleep = std::chrono::seconds(5);

}  // namespace

LatePodReader::LatePodReader(const WaitForPodsReady& settings, const Clock& clock, Callbacks callbacks)
    : settings_(settings), clock_(clock), callbacks_(std::move(callbacks)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void LatePodReader::stop() {
  thread_.request_stop();
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LatePodReader::take_in(const engine::Event& event) {
  const auto workload_of = [](const TypedObject& object) { return std::get_if<WorkloadPtr>(&object); };
  if (const auto* changed = std::get_if<engine::ObjectChanged>(&event)) {
    const WorkloadPtr* workload = workload_of(changed->object);
    if (workload == nullptr) return;
    const MutexLock lock(mutex_);
    put(**workload);
  } else if (const auto* removed = std::get_if<engine::ObjectRemoved>(&event)) {
    const WorkloadPtr* workload = workload_of(removed->object);
    if (workload == nullptr) return;
    const MutexLock lock(mutex_);
    forget({(*workload)->meta.ns, (*workload)->meta.name});
  } else if (const auto* listed = std::get_if<engine::KindListed>(&event)) {
    if (listed->type->plural != kWorkloads.plural) return;
    const MutexLock lock(mutex_);
    std::set<Name> gone;
    for (const auto& [name, waiting] : waiting_) gone.insert(name);
    for (const TypedObject& object : listed->objects) {
      const WorkloadPtr* workload = workload_of(object);
      if (workload == nullptr) continue;
      gone.erase({(*workload)->meta.ns, (*workload)->meta.name});
      put(**workload);
    }
    for (const Name& name : gone) forget(name);
  }
}

void LatePodReader::put(const Workload& workload) {
  const Name name{workload.meta.ns, workload.meta.name};
  if (workload.finished()) return forget(name);
  const bool runs = workload.active && !workload.evicted() && workload.has_quota_reserved();
  const auto wait = runs ? reconcilers::pods_ready_wait(workload.status.conditions, settings_) : std::nullopt;
  const auto found = waiting_.find(name);
  if (!wait && found == waiting_.end()) return;
  const TimePoint end = wait ? wait->end : TimePoint{};
  if (found == waiting_.end() && waiting_.size() >= kMostWorkloads) return;
  Waiting& known = waiting_[name];
  if (known.end == end) return;
  due_.erase({known.due, name});
  known.end = end;
  known.note.clear();
  if (!wait) return;
  const Duration time = wait->cause == kWaitForRecoveryReason ? settings_.recovery_timeout.value_or(settings_.timeout)
                                                              : settings_.timeout;
  known.due = end - std::min<Duration>(kBefore, time / 4);
  due_.emplace(known.due, name);
  changed_.notify_all();
}

void LatePodReader::forget(const Name& name) {
  const auto found = waiting_.find(name);
  if (found == waiting_.end()) return;
  due_.erase({found->second.due, name});
  waiting_.erase(found);
}

std::optional<engine::Command> LatePodReader::with_reason(const engine::Command& command) const {
  if (!reconcilers::evicts_late_pods(command.write)) return std::nullopt;
  std::string note;
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find({command.write.target.ns, command.write.target.name});
    if (found == waiting_.end() || found->second.note.empty()) return std::nullopt;
    note = found->second.note;
  }
  engine::Command made = command;
  reconcilers::add_pod_reason(note, made.write);
  return made;
}

std::optional<std::pair<LatePodReader::Name, TimePoint>> LatePodReader::next(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  while (!ending_ && !stop.stop_requested()) {
    const Now now = clock_.now();
    if (due_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    const auto [due, name] = *due_.begin();
    if (due > now.wall) {
      changed_.wait_until(mutex_, now.monotonic + std::min<Duration>(due - now.wall, kLongestSleep));
      continue;
    }
    due_.erase(due_.begin());
    const TimePoint end = waiting_[name].end;
    // Too late: the eviction is written now.
    if (end > now.wall) return std::pair(name, end);
  }
  return std::nullopt;
}

void LatePodReader::read(const Name& name, TimePoint end, const std::stop_token& stop) {
  const auto job = callbacks_.find({&kWorkloads, name.first, name.second});
  if (!job) return;
  const auto reason = callbacks_.see(*job, stop);
  if (!reason) return;
  bool news = false;
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find(name);
    if (found == waiting_.end() || found->second.end != end) return;
    found->second.note = readable_text(sentence_of(*reason), kMostNote);
    news = std::exchange(found->second.told, reason->token) != reason->token;
  }
  if (!news || job->job.name.empty()) return;
  callbacks_.tell({.regarding = job->job,
                   .type = std::string(kWarningEvent),
                   .reason = "PodsNotReady",
                   .note = sentence_of(*reason)});
}

void LatePodReader::run(const std::stop_token& stop) {
  while (const auto late = next(stop)) {
    try {
      read(late->first, late->second, stop);
    } catch (const std::exception& thrown) {
      log_error("the reason of late pods is not known; everything else continues",
                {{"workload", late->first.first + "/" + late->first.second}, {"why", thrown.what()}});
    }
  }
}

std::unique_ptr<LatePodReader> make_late_pod_reader(const WaitForPodsReady& settings, kube::KubeApi& api,
                                                    std::function<EngineLoop*()> loop,
                                                    std::function<void(ObjectEvent)> tell, const Clock& clock) {
  const auto find = [loop = std::move(loop)](const ObjectKey& key) {
    std::optional<explain::LateJob> job;
    EngineLoop* deciding = loop();
    if (deciding == nullptr) return job;
    deciding->ask([&](const engine::Engine& engine) {
      const Workload* workload = engine.leads() ? engine.state().workload(key.ns, key.name) : nullptr;
      if (workload != nullptr) job = explain::late_job_of(*workload, engine.state());
    });
    return job;
  };
  const auto see = [&api](const explain::LateJob& job, std::stop_token stop) {
    const PodListBounds bounds{.pages = 1, .timeout = std::chrono::seconds(4)};
    const SeenPods seen = see_pods(api, job.ns, job.pods, job.question, bounds, std::move(stop));
    for (const std::string* refused : {&seen.pods_refused, &seen.events_refused}) {
      if (!refused->empty())
        log_debug("the reason of late pods may be missing", {{"job", job.ns + "/" + job.job.name}, {"why", *refused}});
    }
    return seen.pods_refused.empty() ? why_pods_are_late(job.question, seen.pods, seen.events) : std::nullopt;
  };
  return std::make_unique<LatePodReader>(settings, clock,
                                         LatePodReader::Callbacks{.find = find, .see = see, .tell = std::move(tell)});
}

}  // namespace muster::runtime
