#include "forecast/starts/start_course.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>

#include "base/overloaded.h"
#include "scheduler/nodes/node_capacity.h"
#include "scheduler/scheduler.h"

namespace muster::starts {
namespace {

// From an eviction until the quota is free.
constexpr int64_t kStopTime = 10'000'000'000;
// If many Workloads run, groups of them end together, in this number: the turns of the scheduler are the cost
// of a course. A Workload that starts at such an end uses the time of this end as its start, so that errors do
// not add up.
constexpr size_t kEndsOfRunning = 64;
constexpr int kEventsBetweenQuestions = 32;
constexpr double kMostSeconds = 1e9;
// Arrivals in one course: the number of pending Workloads, and this number more.
constexpr size_t kComingBesides = 1000;

class CourseRun {
 public:
  CourseRun(const PreparedScene& prepared, uint64_t seed, uint64_t number, const CourseLimits& limits)
      : prepared_(prepared),
        limits_(limits),
        chance_(seed, number),
        nodes_(prepared.scene().nodes.value_or(scheduler::NodeLoads{})),
        scheduler_(prepared.settings(), capacities()),
        live_(prepared.members().size()) {
    course_.starts.assign(prepared.members().size(), kNoStart);
  }

  Course run() {
    put_all();
    for (uint32_t i = 0; i < prepared_.streams().size(); ++i) plan_arrival(i, 0);
    most_coming_ = waiting_ + kComingBesides;
    decide();
    while (waiting_ > 0) {
      if (++events_ % kEventsBetweenQuestions == 0 && limits_.may_go_on && !limits_.may_go_on()) return stop(false);
      const auto at = next();
      if (!at) return stop(true);
      if (*at > limits_.horizon.count()) {
        elapsed_ = limits_.horizon.count();
        return stop(false);
      }
      take_events();
      decide();
    }
    return stop(true);
  }

 private:
  enum class What : uint8_t { kEnd, kStopped, kComes, kArrives };
  struct Event {
    int64_t at;
    uint32_t member;  // kArrives: the stream
    uint32_t epoch;
    What what;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : member > other.member; }
  };
  struct Live {
    uint32_t epoch = 0;
    bool assumed = false;  // admitted in this course
  };

  // The pods of holders are placed again: as many as there is room for.
  scheduler::FurtherCapacities capacities() {
    scheduler::FurtherCapacities further;
    if (!prepared_.scene().nodes) return further;
    auto capacity = state::node_capacity(nodes_, prepared_.defaults());
    for (const TypedObject& object : prepared_.scene().objects) {
      if (const auto* flavor = std::get_if<ResourceFlavorPtr>(&object)) capacity->put(*flavor);
    }
    further.push_back(std::move(capacity));
    return further;
  }

  Now now() const {
    return {prepared_.scene().now.wall + Duration(elapsed_), prepared_.scene().now.monotonic + Duration(elapsed_)};
  }

  Course stop(bool ended) {
    course_.ended = ended;
    course_.reached = ended ? limits_.horizon : Duration(elapsed_);
    return std::move(course_);
  }

  void put_all() {
    for (const TypedObject& object : prepared_.scene().objects) put_basic(object);
    for (uint32_t i = 0; i < live_.size(); ++i) {
      const PreparedScene::Member& member = prepared_.members()[i];
      members_.emplace(member.workload->meta.uid, i);
      if (!member.holds) {
        ++waiting_;
        if (member.comes_after > 0)
          plan(member.comes_after, i, What::kComes);
        else
          put(i, member.workload);
        continue;
      }
      put(i, member.workload);
      if (member.leaves)
        plan(kStopTime, i, What::kStopped);
      else
        plan_end(i, 0, member.gone);
    }
  }

  void put_basic(const TypedObject& object) {
    std::visit(Overloaded{[&](const ClusterQueuePtr& queue) { scheduler_.put(queue); },
                          [&](const LocalQueuePtr& queue) { scheduler_.put(queue); },
                          [&](const CohortPtr& cohort) { scheduler_.put(cohort); },
                          [&](const ResourceFlavorPtr& flavor) { scheduler_.put(flavor); },
                          [&](const AdmissionCheckPtr& check) { scheduler_.put(check); },
                          [&](const PriorityClassPtr& priority_class) { scheduler_.put(priority_class); },
                          [&](const PlainObjectPtr& plain) {
                            if (plain->type->kind == kNamespaces.kind)
                              scheduler_.put_namespace(plain->meta.name, plain->meta.labels);
                          },
                          [](const auto&) {}},
               object);
  }

  bool is_new(uint32_t index) const { return index >= prepared_.members().size(); }
  const PreparedScene::Stream& stream_of(uint32_t index) const {
    return prepared_.streams()[come_[index - prepared_.members().size()].stream];
  }
  const WorkloadPtr& workload_of(uint32_t index) const {
    return is_new(index) ? come_[index - prepared_.members().size()].workload : prepared_.members()[index].workload;
  }

  void put(uint32_t index, const WorkloadPtr& workload) {
    const state::QuotaDemand& demand = is_new(index) ? stream_of(index).demand : prepared_.members()[index].demand;
    scheduler_.put(workload, demand.per_pod, now(), demand.misconfigured, demand.can_be_stopped);
  }

  void plan(int64_t at, uint32_t member, What what) { events_due_.push({at, member, live_[member].epoch, what}); }

  void plan_end(uint32_t index, int64_t started, double gone) {
    ++running_;
    const RunTimeGuess& guess = is_new(index) ? stream_of(index).run_time : prepared_.members()[index].run_time;
    const auto left = guess.remaining(gone, chance_.share(), stretch_of(guess.observed));
    if (left) plan(started + static_cast<int64_t>(std::min(*left, kMostSeconds) * 1e9), index, What::kEnd);
  }

  // A short history is uncertain: each course uses longer or shorter times than the history, within the
  // possible error.
  double stretch_of(const Sample* observed) {
    if (observed == nullptr) return 1;
    const auto [known, is_new] = stretches_.try_emplace(observed, 1.0);
    if (is_new) known->second = std::exp(observed->uncertainty() * chance_.normal());
    return known->second;
  }

  void plan_arrival(uint32_t stream, int64_t from) {
    const double wait = chance_.exponential(1 / prepared_.streams()[stream].per_second);
    events_due_.push({from + static_cast<int64_t>(std::min(wait, kMostSeconds) * 1e9), stream, 0, What::kArrives});
  }

  void arrive(uint32_t stream, int64_t at) {
    if (come_.size() >= most_coming_) return;
    const auto index = static_cast<uint32_t>(live_.size());
    Workload workload = *prepared_.streams()[stream].example;
    workload.meta.name = "(coming)-" + std::to_string(index);
    workload.meta.uid = workload.meta.name;
    workload.meta.created = to_timestamp(now().wall);
    come_.push_back({stream, std::make_shared<const Workload>(std::move(workload))});
    live_.emplace_back();
    members_.emplace(come_.back().workload->meta.uid, index);
    put(index, come_.back().workload);
    plan_arrival(stream, at);
  }

  bool is_over(const Event& event) const {
    return event.what != What::kArrives && event.epoch != live_[event.member].epoch;
  }

  std::optional<int64_t> next() {
    while (!events_due_.empty() && is_over(events_due_.top())) events_due_.pop();
    std::optional<int64_t> at;
    if (!events_due_.empty()) at = events_due_.top().at;
    if (const auto wake = scheduler_.next_wake()) {
      const int64_t wakes = std::max((*wake - prepared_.scene().now.monotonic).count(), elapsed_ + 1'000'000'000);
      if (!at || wakes < *at) at = wakes;
    }
    return at;
  }

  void take_events() {
    ends_.clear();
    elapsed_ = std::max(elapsed_, *next());
    const size_t most = std::max<size_t>(1, running_ / kEndsOfRunning);
    while (ends_.size() < most) {
      const auto at = next();
      if (events_due_.empty() || !at || events_due_.top().at > std::max(*at, elapsed_)) break;
      const Event event = events_due_.top();
      events_due_.pop();
      elapsed_ = std::max(elapsed_, event.at);
      if (event.what == What::kArrives) {
        // Its own time counts as the start of Workloads that start because of it.
        arrive(event.member, event.at);
        break;
      }
      ends_.push_back(event.at);
      take(event);
    }
    if (ends_.empty()) ends_.push_back(elapsed_);
  }

  void take(const Event& event) {
    Live& live = live_[event.member];
    const ObjectMeta& meta = workload_of(event.member)->meta;
    ++live.epoch;
    switch (event.what) {
      case What::kComes:
        return put(event.member, workload_of(event.member));
      case What::kEnd:
        --running_;
        return scheduler_.remove_workload(meta.ns, meta.name);
      case What::kStopped:
        return take_stopped(event.member);
      case What::kArrives:
        break;
    }
  }

  // It waits again, unless it was deactivated.
  void take_stopped(uint32_t index) {
    Live& live = live_[index];
    const ObjectMeta& meta = workload_of(index)->meta;
    if (live.assumed) {
      live.assumed = false;
      return scheduler_.roll_back(meta.ns, meta.name, now());
    }
    const PreparedScene::Member& member = prepared_.members()[index];
    if (!member.workload->active || member.workload->meta.deleting) {
      return scheduler_.remove_workload(meta.ns, meta.name);
    }
    put(index, prepared_.release(index).released);
  }

  void decide() {
    std::vector<uint32_t> admitted;
    for (const scheduler::Decision& decision : scheduler_.drain(now())) {
      if (const auto* one = std::get_if<scheduler::Admitted>(&decision)) {
        admitted.push_back(members_.at(one->workload->meta.uid));
      } else if (const auto* victim = std::get_if<scheduler::Preempted>(&decision)) {
        preempt(members_.at(victim->workload->meta.uid), admitted);
      }
    }
    scheduler_.take_left();
    for (size_t i = 0; i < admitted.size(); ++i) start(admitted[i], time_of(i, admitted.size()));
  }

  // The i-th of the Workloads that start has waited for the i-th part of the ends.
  int64_t time_of(size_t i, size_t count) const {
    if (ends_.empty()) return 0;
    return ends_[((i + 1) * ends_.size() + count - 1) / count - 1];
  }

  void preempt(uint32_t index, std::vector<uint32_t>& admitted) {
    Live& live = live_[index];
    ++live.epoch;
    // Admitted in the same moment: it was never started.
    const auto now_admitted = std::find(admitted.begin(), admitted.end(), index);
    if (now_admitted != admitted.end()) {
      admitted.erase(now_admitted);
      live.assumed = true;
    } else {
      --running_;
    }
    events_due_.push({elapsed_ + kStopTime, index, live.epoch, What::kStopped});
  }

  void start(uint32_t index, int64_t at) {
    live_[index].assumed = true;
    if (!is_new(index) && !prepared_.members()[index].holds && course_.starts[index] == kNoStart) {
      course_.starts[index] = at;
      --waiting_;
    }
    plan_end(index, at, 0);
  }

  const PreparedScene& prepared_;
  const CourseLimits& limits_;
  forecast::Chance chance_;
  scheduler::NodeTable nodes_;  // of the scheduler, if the scene has nodes
  scheduler::Scheduler scheduler_;
  std::vector<Live> live_;
  std::unordered_map<std::string_view, uint32_t> members_;  // by uid
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_due_;
  std::vector<int64_t> ends_;  // of the last moment
  struct Come {
    uint32_t stream;
    WorkloadPtr workload;
  };
  std::deque<Come> come_;  // after the members of the scene
  std::unordered_map<const Sample*, double> stretches_;
  size_t most_coming_ = 0;
  Course course_;
  size_t waiting_ = 0;
  size_t running_ = 0;
  int64_t elapsed_ = 0;
  int events_ = 0;
};

}  // namespace

Course run_course(const PreparedScene& prepared, uint64_t seed, uint64_t number, const CourseLimits& limits) {
  return CourseRun(prepared, seed, number, limits).run();
}

}  // namespace muster::starts
