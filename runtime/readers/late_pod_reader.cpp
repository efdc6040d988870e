#include "runtime/readers/late_pod_reader.h"

#include <algorithm>
#include <exception>
#include <variant>

#include "api/texts/event_reasons.h"
#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/flavor_fallback.h"
#include "reconcilers/workload/late_pods_note.h"
#include "reconcilers/workload/workload_timeouts.h"
#include "runtime/log.h"
#include "runtime/pod_lists.h"

namespace muster::runtime {
namespace {

// A wall clock that is set is noticed by then.
constexpr Duration kLongestSleep = std::chrono::seconds(5);
// One job with many pods, or a slow answer, takes little of the time of others.
constexpr Duration kLongestRead = std::chrono::seconds(8);

bool is_concerned(const TypedObject& object) {
  return std::holds_alternative<WorkloadPtr>(object) || std::holds_alternative<ClusterQueuePtr>(object);
}

}  // namespace

LatePodReader::LatePodReader(const std::optional<WaitForPodsReady>& settings, const Clock& clock, Callbacks callbacks)
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
  // Before the lock: most events are about other kinds.
  if (const auto* changed = std::get_if<engine::ObjectChanged>(&event)) {
    if (!is_concerned(changed->object)) return;
    const MutexLock lock(mutex_);
    put(changed->object);
  } else if (const auto* removed = std::get_if<engine::ObjectRemoved>(&event)) {
    if (!is_concerned(removed->object)) return;
    const ObjectMeta& meta = meta_of(removed->object);
    const MutexLock lock(mutex_);
    if (std::holds_alternative<WorkloadPtr>(removed->object))
      forget({meta.ns, meta.name});
    else if (set_rules(meta.name, std::nullopt))
      find_ends_again(meta.name);
  } else if (const auto* listed = std::get_if<engine::KindListed>(&event)) {
    if (*listed->type != kWorkloads && *listed->type != kClusterQueues) return;
    const MutexLock lock(mutex_);
    put_list(*listed);
  }
}

void LatePodReader::put(const TypedObject& object) {
  if (const auto* workload = std::get_if<WorkloadPtr>(&object))
    put(*workload);
  else if (const auto* queue = std::get_if<ClusterQueuePtr>(&object))
    put(**queue);
}

void LatePodReader::put_list(const engine::KindListed& list) {
  if (*list.type == kClusterQueues) {
    rules_.clear();
    for (const TypedObject& object : list.objects) {
      if (const auto* queue = std::get_if<ClusterQueuePtr>(&object)) set_rules((*queue)->meta.name, (*queue)->fallback);
    }
    return find_ends_again("");
  }
  std::set<Name> gone;
  for (const auto& [name, waiting] : waiting_) gone.insert(name);
  for (const TypedObject& object : list.objects) {
    gone.erase({meta_of(object).ns, meta_of(object).name});
    put(object);
  }
  for (const Name& name : gone) forget(name);
}

// Its status changes often, its rules seldom.
void LatePodReader::put(const ClusterQueue& queue) {
  if (set_rules(queue.meta.name, queue.fallback)) find_ends_again(queue.meta.name);
}

bool LatePodReader::set_rules(const std::string& queue, const std::optional<FallbackStrategy>& rules) {
  const auto found = rules_.find(queue);
  if (!rules || !rules->longest_timeout()) return rules_.erase(queue) > 0;
  if (found == rules_.end()) return rules_.size() < kMostQueues && rules_.emplace(queue, *rules).second;
  if (found->second == *rules) return false;
  found->second = *rules;
  return true;
}

void LatePodReader::find_ends_again(std::string_view queue) {
  for (auto& [name, waiting] : waiting_) {
    const auto& admission = waiting.workload->status.admission;
    if (queue.empty() || (admission && admission->cluster_queue == queue))
      set_ends(name, waiting, ends_of(*waiting.workload));
  }
}

LatePodReader::Ends LatePodReader::ends_of(const Workload& workload) const {
  // Before the admission there are no pods.
  if (!workload.active || workload.evicted() || !workload.has_quota_reserved() || !workload.admitted()) return {};
  Ends ends;
  if (const auto wait =
          settings_ ? reconcilers::pods_ready_wait(workload.status.conditions, *settings_) : std::nullopt) {
    const bool recovers = wait->cause == kWaitForRecoveryReason;
    ends.push_back(
        {wait->end, recovers ? settings_->recovery_timeout.value_or(settings_->timeout) : settings_->timeout});
  }
  const auto& admission = workload.status.admission;
  if (const auto rules = admission ? rules_.find(admission->cluster_queue) : rules_.end(); rules != rules_.end()) {
    for (const reconcilers::FlavorEnd& each : reconcilers::flavor_ends(workload.status, rules->second))
      ends.push_back({each.end, each.time});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at < b.at; });
  return ends;
}

void LatePodReader::put(const WorkloadPtr& workload) {
  const Name name{workload->meta.ns, workload->meta.name};
  if (workload->finished()) return forget(name);
  Ends ends = ends_of(*workload);
  if (!waiting_.contains(name)) {
    // Its queue can get rules later.
    if (ends.empty() && !reconcilers::flavor_clocks_run(workload->status)) return;
    if (waiting_.size() >= kMostWorkloads) return;
  }
  Waiting& known = waiting_[name];
  known.workload = workload;
  set_ends(name, known, std::move(ends));
}

void LatePodReader::set_ends(const Name& name, Waiting& waiting, Ends ends) {
  if (waiting.ends == ends) return;
  waiting.ends = std::move(ends);
  // No second read: only what comes later has changed.
  if (!waiting.ends.empty() && waiting.ends.front().at == waiting.end) return;
  due_.erase({waiting.due, name});
  waiting.end = {};
  waiting.note.clear();
  plan_read(name, waiting, TimePoint::min());
}

void LatePodReader::plan_read(const Name& name, Waiting& waiting, TimePoint after) {
  const auto next =
      std::find_if(waiting.ends.begin(), waiting.ends.end(), [&](const End& end) { return end.at > after; });
  if (next == waiting.ends.end()) return;
  waiting.end = next->at;
  waiting.due = next->at - std::clamp<Duration>(next->time / 4, Duration::zero(), kBefore);
  due_.emplace(waiting.due, name);
  changed_.notify_all();
}

void LatePodReader::forget(const Name& name) {
  const auto found = waiting_.find(name);
  if (found == waiting_.end()) return;
  due_.erase({found->second.due, name});
  waiting_.erase(found);
}

std::optional<engine::Command> LatePodReader::with_reason(const engine::Command& command) const {
  if (!command.write.for_late_pods) return std::nullopt;
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
    Waiting& waiting = waiting_[name];
    if (waiting.end > now.wall) return std::pair(name, waiting.end);
    // Too late for this one: the eviction, if there is one, is written now.
    plan_read(name, waiting, waiting.end);
  }
  return std::nullopt;
}

void LatePodReader::read(const Name& name, TimePoint end, const std::stop_token& stop) {
  const auto job = callbacks_.find({&kWorkloads, name.first, name.second}, end);
  if (!job) {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find(name);
    if (found != waiting_.end() && found->second.end == end) plan_read(name, found->second, end);
    return;
  }
  const Duration time = end - clock_.now().wall;
  const auto reason = time > Duration::zero() ? callbacks_.see(*job, time, stop) : std::nullopt;
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
  callbacks_.record_event(event_about(job->job, EventReason::kPodsNotReady, sentence_of(*reason)));
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

std::optional<PodReason> see_late_pods(kube::KubeApi& api, const explain::LateJob& job, Duration time,
                                       const Clock& clock, std::stop_token stop) {
  const PodListBounds bounds{.timeout = std::chrono::seconds(4),
                             .not_after = clock.now().monotonic + std::min<Duration>(time * 3 / 4, kLongestRead)};
  const SeenPods seen = see_pods(api, job.ns, job.pods, job.question, bounds, std::move(stop));
  for (const std::string* refused : {&seen.pods_refused, &seen.events_refused}) {
    if (!refused->empty())
      log_debug("the reason of late pods may be missing", {{"job", job.ns + "/" + job.job.name}, {"why", *refused}});
  }
  return seen.pods_refused.empty() ? why_pods_are_late(job.question, seen) : std::nullopt;
}

std::unique_ptr<LatePodReader> make_late_pod_reader(const std::optional<WaitForPodsReady>& settings, kube::KubeApi& api,
                                                    std::function<EngineLoop*()> loop,
                                                    std::function<void(ObjectEvent)> record_event, const Clock& clock) {
  const auto find = [settings, loop = std::move(loop)](const ObjectKey& key, TimePoint end) {
    std::optional<explain::LateJob> job;
    EngineLoop* deciding = loop();
    if (deciding == nullptr) return job;
    deciding->ask([&](const engine::Engine& engine) {
      const Workload* workload = engine.leads() ? engine.state().find<Workload>(key.ns, key.name) : nullptr;
      if (workload == nullptr) return;
      const auto wait = settings ? reconcilers::pods_ready_wait(workload->status.conditions, *settings) : std::nullopt;
      if ((wait && wait->end <= end) || reconcilers::falls_back_at(*workload, engine.state(), engine.decisions(), end))
        job = explain::late_job_of(*workload, engine.state());
    });
    return job;
  };
  const auto see = [&api, &clock](const explain::LateJob& job, Duration time, std::stop_token stop) {
    return see_late_pods(api, job, time, clock, std::move(stop));
  };
  return std::make_unique<LatePodReader>(
      settings, clock, LatePodReader::Callbacks{.find = find, .see = see, .record_event = std::move(record_event)});
}

}  // namespace muster::runtime
