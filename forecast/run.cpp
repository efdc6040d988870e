#include "forecast/run.h"

#include <algorithm>
#include <set>

#include "api/meta/constants.h"
#include "forecast/runner.h"
#include "reconcilers/workload/admission.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/explanation.h"
#include "scheduler/views/listing.h"

namespace muster::forecast {
namespace {

// Deadlines of objects that are older than the simulation are before its start.
constexpr MonotonicTime kStart{std::chrono::hours(24 * 365 * 20)};
// A decision for a time in the past must not stop the time.
constexpr int64_t kShortestWait = 100'000'000;
// Limit of passes in one moment. An evicted job needs time to stop, so the passes end long before.
constexpr int kMostRounds = 100'000;
constexpr uint64_t kStepsBetweenWords = 4096;
// Holders of quota that are named for each queue.
constexpr size_t kMostHolders = 5;
// The scheduler gives the reason for this number of pending Workloads, since it counts the Workloads ahead of
// each. The others show the last written reason.
constexpr size_t kMostExplained = 100;

bool counts_nodes(const Scenario& scenario) {
  return scenario.settings.queues.watch_nodes &&
         std::any_of(scenario.objects.begin(), scenario.objects.end(), [](const TypedObject& object) {
           const auto* flavor = std::get_if<ResourceFlavorPtr>(&object);
           return flavor != nullptr && (*flavor)->fits_on_nodes;
         });
}

}  // namespace

History run(const Scenario& scenario, const Watcher& watcher, const Looks& looks) {
  return Runner(scenario, watcher, looks).run();
}

Runner::Runner(const Scenario& scenario, const Watcher& watcher, const Looks& looks)
    : scenario_(scenario),
      watcher_(watcher),
      looks_(looks),
      state_(scenario.settings.queues),
      nodes_(counts_nodes(scenario) ? std::make_unique<scheduler::NodeTable>() : nullptr),
      decisions_(nodes_ == nullptr ? state::SchedulerDriver(scenario.settings.queues)
                                   : state::SchedulerDriver(scenario.settings.queues, *nodes_, state_)),
      reports_(nodes_ == nullptr ? nullptr : std::make_unique<NodeReports>(scenario.nodes, *nodes_)),
      places_(scenario, state_, history_.nodes, reports_.get()) {
  history_.jobs.resize(scenario.arrivals.size());
  for (const TypedObject& object : scenario.objects) version_ = std::max(version_, meta_of(object).resource_version);
  for (const Arrival& arrival : scenario.arrivals) {
    if (arrival.stored) version_ = std::max(version_, arrival.stored->meta.resource_version);
  }
}

Now Runner::now() const {
  return {scenario_.start + Duration(elapsed_), kStart + Duration(elapsed_)};
}

reconcilers::ReconcileContext Runner::context() const {
  return {state_, decisions_, scenario_.settings, now()};
}

void Runner::begin() {
  for (const TypedObject& object : scenario_.objects) {
    if (const auto change = state_.put_watched(object)) decisions_.put(*change->after, state_, now());
  }
}

std::optional<int64_t> Runner::next() const {
  std::optional<int64_t> next;
  const auto consider = [&](int64_t at) {
    if (!next || at < *next) next = at;
  };
  if (come_ < scenario_.arrivals.size()) consider(scenario_.arrivals[come_].at.count());
  if (!timetable_.empty()) consider(timetable_.next());
  if (const auto wake = decisions_.next_wake(); wake && !live_.empty())
    consider(std::max((*wake - kStart).count(), elapsed_ + kShortestWait));
  return next;
}

void Runner::take_arrivals() {
  while (come_ < scenario_.arrivals.size() && scenario_.arrivals[come_].at.count() <= elapsed_)
    come(static_cast<uint32_t>(come_++));
}

void Runner::take_due() {
  while (!timetable_.empty() && timetable_.next() <= elapsed_) take(timetable_.take());
}

void Runner::take(const DueEvent& due) {
  const auto found = live_.find(due.job);
  if (found == live_.end()) return;
  Live& live = *found->second;
  if (due.what == Due::kWake) {
    if (live.wake_at == due.at) {
      live.wake_at = -1;
      changed_.push_back(due.job);
    }
    return;
  }
  if (live.epoch != due.epoch) return;
  switch (due.what) {
    case Due::kReady:
      return get_ready(due.job, live);
    case Due::kEnd:
      return end(due.job, live);
    case Due::kStopped:
      return release(due.job, live);
    case Due::kChecks:
      return answer_checks(due.job, live);
    case Due::kWake:
      break;
  }
}

void Runner::note_preemption(uint32_t victim, const state::PendingDecision& decision) {
  const auto* preempted = std::get_if<scheduler::Preempted>(&decision);
  if (preempted == nullptr) return;
  const auto preemptor = by_path_.find(path_of(preempted->preemptor->meta));
  if (preemptor != by_path_.end())
    history_.preemptions.push_back({.victim = victim, .preemptor = preemptor->second, .at = elapsed_});
}

// Until nothing changes at this time any more.
void Runner::settle() {
  std::vector<ObjectKey> decided;
  for (int round = 0; round < kMostRounds; ++round) {
    fill_nodes();
    while (!changed_.empty()) {
      const uint32_t job = changed_.front();
      changed_.pop_front();
      advance(job);
    }
    decided.clear();
    decisions_.take_nodes(state_, now());
    decisions_.decide(now(), SIZE_MAX, decided);
    if (decided.empty()) return;
    for (const ObjectKey& key : decided) {
      const auto job = by_path_.find(path_of(key.ns, key.name));
      const state::PendingDecision* decision = decisions_.pending_decision_on(key.ns, key.name);
      if (job == by_path_.end() || decision == nullptr) continue;
      Live& live = *live_.at(job->second);
      WorkloadStatus status = reconcilers::status_after(*decision, *live.workload, context());
      if (status == live.workload->status) continue;
      note_preemption(job->second, *decision);
      put_status(job->second, live, std::move(status));
    }
    if (changed_.empty()) return;
  }
  endless_ = true;
}

History Runner::run() {
  begin();
  for (;;) {
    const std::optional<int64_t> at = next();
    if (!at || (scenario_.until && *at > scenario_.until->count())) break;
    elapsed_ = std::max(elapsed_, *at);
    take_arrivals();
    take_due();
    settle();
    ++history_.steps;
    if (looks_.look && elapsed_ >= next_look_) {
      looks_.look(state_, decisions_, now());
      next_look_ = elapsed_ + looks_.every.count();
    }
    if (watcher_ && history_.steps % kStepsBetweenWords == 0) watcher_({Duration(elapsed_), come_, over_});
    if (endless_) {
      history_.notes.push_back("Stopped: Workloads are evicted and admitted again without end.");
      break;
    }
  }
  finish();
  return std::move(history_);
}

void Runner::finish() {
  if (scenario_.until && !endless_) elapsed_ = scenario_.until->count();
  history_.elapsed = Duration(elapsed_);
  history_.usage.close(elapsed_);
  history_.nodes.close(elapsed_);
  history_.without_node = places_.without_node();
  if (elsewhere_ > 0)
    history_.notes.push_back(
        std::to_string(elsewhere_) +
        " pods of jobs that run already have no room on the nodes of the input; they run elsewhere.");
  describe_waiting();
  describe_queues();
}

void Runner::describe_waiting() {
  const scheduler::Scheduler& scheduler = decisions_.scheduler();
  std::vector<uint32_t> jobs;
  for (const auto& [job, live] : live_) {
    history_.jobs[job].fate = live->running ? Fate::kRunning : Fate::kWaiting;
    if (!live->workload->has_quota_reserved()) jobs.push_back(job);
  }
  std::sort(jobs.begin(), jobs.end());
  for (const uint32_t job : jobs) {
    const Workload& workload = *live_.at(job)->workload;
    Waiting waiting{.job = job, .cluster_queue = {}, .reason = {}, .message = {}};
    if (const LocalQueue* local = state_.find<LocalQueue>(workload.meta.ns, workload.queue_name))
      waiting.cluster_queue = local->cluster_queue;
    const bool asks = history_.waiting.size() < kMostExplained;
    if (auto explained =
            asks ? scheduler::explain_pending(scheduler.state(), workload.meta.ns, workload.meta.name) : std::nullopt) {
      waiting.reason = std::move(explained->reason);
      waiting.message = std::move(explained->message);
    }
    const Condition* condition = find_condition(workload.status.conditions, kQuotaReservedCondition);
    if (waiting.message.empty() && condition != nullptr) {
      waiting.reason = condition->reason;
      waiting.message = condition->message;
    }
    history_.waiting.push_back(std::move(waiting));
  }
}

// The Workloads that hold quota in the tree of a queue with pending Workloads.
void Runner::describe_queues() {
  if (history_.waiting.empty()) return;
  std::map<std::string, size_t> pending;
  for (const Waiting& waiting : history_.waiting) ++pending[waiting.cluster_queue];
  const scheduler::Listing listing = scheduler::listing_of(decisions_.scheduler().state());
  std::map<std::string, std::string> parents;
  for (const scheduler::ListedCohort& cohort : listing.cohorts) parents[cohort.name] = cohort.parent;
  const auto root_of = [&](const scheduler::ListedClusterQueue& queue) {
    if (queue.cohort.empty()) return "queue " + queue.object->meta.name;
    std::string name = queue.cohort;
    for (size_t i = 0; i < parents.size() && !parents[name].empty(); ++i) name = parents[name];
    return "cohort " + name;
  };
  std::map<std::string, std::vector<std::string>> holders;
  for (const scheduler::ListedClusterQueue& queue : listing.cluster_queues) {
    if (queue.object == nullptr) continue;
    for (const scheduler::HolderEntry& holder : queue.holders)
      holders[root_of(queue)].push_back(path_of(holder.object->meta));
  }
  for (auto& [root, names] : holders) std::sort(names.begin(), names.end());
  for (const scheduler::ListedClusterQueue& queue : listing.cluster_queues) {
    if (queue.object == nullptr || !pending.contains(queue.object->meta.name)) continue;
    const std::vector<std::string>& all = holders[root_of(queue)];
    QueueAtEnd at_end{.cluster_queue = queue.object->meta.name, .pending = pending[queue.object->meta.name]};
    at_end.inactive = queue.inactive_message;
    at_end.all_holders = all.size();
    at_end.holders.assign(all.begin(), all.begin() + static_cast<long>(std::min(all.size(), kMostHolders)));
    history_.queues_at_end.push_back(std::move(at_end));
  }
}

}  // namespace muster::forecast
