// Whatever happens, in whatever order: quota is never exceeded, nothing is lost, turns end.
// The reference is a recount of all that holds quota, by name, in plain maps.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "scheduler/eligibility.h"
#include "test/scheduler/scheduler_fixture.h"

namespace scheduler_properties_test {

using namespace muster;
using namespace muster::scheduler;
using test::at;

namespace {

constexpr int kQueues = 4;
constexpr const char* kNames[kQueues] = {"a", "b", "c", "d"};

struct Running {
  Admitted admitted;
  int64_t cores;
  bool evicted = false;
};

class World {
 public:
  explicit World(SchedulerSettings settings) : cluster_(std::move(settings)) {
    for (const char* name : kNames) {
      limits_[name] = {.nominal = *rc::gen::inRange(0, 8)};
      if (*rc::gen::arbitrary<bool>()) limits_[name].borrowing = *rc::gen::inRange(0, 8);
      if (*rc::gen::arbitrary<bool>()) limits_[name].lending = *rc::gen::inRange<int64_t>(0, limits_[name].nominal + 1);
      ClusterQueue queue = test::cluster_queue(name, "team", {limits_[name]});
      const auto policy = [] {
        return *rc::gen::element(PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority, PreemptionPolicy::kAny);
      };
      queue.preemption.within_cluster_queue =
          *rc::gen::element(PreemptionPolicy::kNever, PreemptionPolicy::kLowerOrNewerEqualPriority);
      queue.preemption.reclaim_within_cohort = policy();
      queue.preemption.borrow_within_cohort =
          *rc::gen::element(PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority);
      queue.queueing_strategy = *rc::gen::element(QueueingStrategy::kStrictFifo, QueueingStrategy::kBestEffortFifo);
      cluster_.put(queue);
    }
  }

  void step(int kind) {
    ++time_;
    if (kind == 0) arrive();
    if (kind == 1) finish();
    if (kind == 2) release_evicted();
    if (kind == 3) fail_a_write();
    drain(true);
    check();
    // Nothing was left asleep that has room: a change of anything wakes all.
    cluster_.scheduler.put_namespace("other", {{"step", std::to_string(time_)}});
    drain(false);
  }

 private:
  void arrive() {
    const std::string name = "w" + std::to_string(next_++);
    const int64_t cores = *rc::gen::inRange(1, 10);
    waiting_[name] = cores;
    cluster_.put(test::workload(name, kNames[*rc::gen::inRange(0, kQueues)], *rc::gen::inRange(0, 3), time_), cores,
                 time_);
  }
  void finish() {
    if (running_.empty()) return;
    cluster_.scheduler.remove_workload("team", running_.begin()->first);
    running_.erase(running_.begin());
  }
  void release_evicted() {
    for (auto it = running_.begin(); it != running_.end();) {
      if (!it->second.evicted) {
        ++it;
        continue;
      }
      // Its admission was written before its eviction was.
      if (unconfirmed_.erase(it->first) > 0) cluster_.confirm(it->second.admitted, it->second.cores, time_);
      Workload released = *it->second.admitted.workload;
      released.status = {};
      waiting_[it->first] = it->second.cores;
      cluster_.put(released, it->second.cores, time_);
      it = running_.erase(it);
    }
  }
  // Of what was decided last and not confirmed: only a roll-back tells that it did not happen.
  void fail_a_write() {
    if (unconfirmed_.empty()) return;
    const std::string name = *unconfirmed_.begin();
    unconfirmed_.erase(name);
    waiting_[name] = running_.at(name).cores;
    running_.erase(name);
    cluster_.scheduler.roll_back("team", name, at(time_));
  }
  void drain(bool may_admit) {
    for (const std::string& name : unconfirmed_) {
      const auto it = running_.find(name);
      if (it != running_.end()) cluster_.confirm(it->second.admitted, it->second.cores, time_);
    }
    unconfirmed_.clear();
    for (const Decision& decision : cluster_.scheduler.drain(at(time_))) {
      if (const auto* admitted = std::get_if<Admitted>(&decision)) {
        const std::string& name = admitted->workload->meta.name;
        RC_ASSERT(may_admit);
        RC_ASSERT(waiting_.contains(name));
        running_[name] = {*admitted, waiting_[name]};
        waiting_.erase(name);
        unconfirmed_.insert(name);
      } else if (const auto* preempted = std::get_if<Preempted>(&decision)) {
        const std::string& name = preempted->workload->meta.name;
        RC_ASSERT(running_.contains(name));
        running_[name].evicted = true;
      }
    }
  }
  void check() const {
    std::map<std::string, int64_t> used;
    int64_t sum = 0, quota = 0;
    for (const auto& [name, running] : running_) {
      used[running.admitted.admission.cluster_queue] += running.cores;
      sum += running.cores;
    }
    for (const auto& [name, limits] : limits_) {
      const auto it = used.find(name);
      const int64_t its = it == used.end() ? 0 : it->second;
      RC_ASSERT(test::usage_of(cluster_.scheduler, name, "default", "cpu") == its * 1000);
      if (limits.borrowing) RC_ASSERT(its <= limits.nominal + *limits.borrowing);
      quota += limits.nominal;
    }
    RC_ASSERT(sum <= quota);
    for (const auto& [name, cores] : waiting_)
      RC_ASSERT(position_of(cluster_.scheduler.state(), "team", name) != QueuePosition::kNowhere);
  }

  test::Cluster cluster_;
  std::map<std::string, test::Limits> limits_;
  std::map<std::string, int64_t> waiting_;
  std::map<std::string, Running> running_;
  std::set<std::string> unconfirmed_;
  int64_t time_ = 0;
  int next_ = 0;
};

}  // namespace

TEST_CASE("scheduler: any history stays within quota and loses no Workload") {
  for (const bool fair : {false, true}) {
    INFO(fair);
    const bool holds = rc::check([fair] {
      SchedulerSettings settings;
      if (fair)
        settings.fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare, FairStrategy::kLessThanInitialShare};
      World world(settings);
      for (const int kind : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4))) world.step(kind);
    });
    CHECK(holds);
  }
}

}  // namespace scheduler_properties_test
