// Replicas with separate clocks, one lease, and a network that loses, delays and
// reorders: hours in virtual time. What must hold is checked at every renewal.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "kube/leases/lease_policy.h"

namespace muster::kube::lease_simulation_test {
namespace {

using namespace std::chrono_literals;

struct Faults {
  double lost = 0;           // a request never arrives
  double unanswered = 0;     // it is carried out, and the answer is lost
  double late = 0;           // it takes up to 20 s, and is carried out even if no client waits any more
  double pause = 0;          // the process stands still for up to 40 s before it goes on
  double end = 0;            // the process resigns and another starts in its place
  double crash = 0;          // the same without resigning
  double fastest_clock = 1;  // clocks run between 1 and this
};

class Simulation {
 public:
  Simulation(uint64_t seed, int replicas, LeaseOptions options, Faults faults)
      : random_(seed), options_(options), faults_(faults) {
    for (int i = 0; i < replicas; ++i) {
      replicas_.push_back(std::make_unique<Replica>());
      start(*replicas_.back());
    }
  }

  void run(Duration length) {
    const Duration end = time_ + length;
    while (!agenda_.empty() && agenda_.begin()->first <= end) {
      auto entry = agenda_.extract(agenda_.begin());
      time_ = entry.key();
      entry.mapped()();
    }
    time_ = end;
  }
  void stop_faults() { faults_ = {.fastest_clock = faults_.fastest_clock}; }

  int overlaps() const { return overlaps_; }
  int elections() const { return elections_; }
  int64_t transitions() const { return lease_.transitions; }
  int leaders() const {
    return static_cast<int>(
        std::count_if(replicas_.begin(), replicas_.end(), [&](const auto& r) { return r->claimed_until > time_; }));
  }

 private:
  struct Replica {
    std::unique_ptr<LeasePolicy> policy;
    double rate = 1;
    Duration monotonic_offset{}, wall_offset{};
    Duration claimed_until{};  // by true time: until then it can start writes
    int life = 0;              // counts restarts, so that answers to a former life are dropped
  };

  double draw() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool happens(double chance) { return draw() < chance; }
  Duration up_to(Duration most) { return std::chrono::duration_cast<Duration>(most * draw()); }

  Now local(const Replica& replica) const {
    const Duration elapsed = std::chrono::duration_cast<Duration>(time_ * replica.rate);
    return {TimePoint(replica.wall_offset + elapsed), MonotonicTime(replica.monotonic_offset + elapsed)};
  }
  Duration to_true(const Replica& replica, Duration by_its_clock) const {
    // Rounded up, or a clock that is a nanosecond short would never get there.
    return std::chrono::duration_cast<Duration>(by_its_clock / replica.rate) + 1ns;
  }

  void after(Duration delay, Replica& replica, std::function<void()> act) {
    agenda_.emplace(time_ + delay, [&replica, life = replica.life, act = std::move(act)] {
      if (replica.life == life) act();
    });
  }

  void start(Replica& replica) {
    ++replica.life;
    replica.rate = 1 + (faults_.fastest_clock - 1) * draw();
    replica.monotonic_offset = up_to(1h);
    replica.wall_offset = up_to(20min);
    replica.policy = std::make_unique<LeasePolicy>(options_, "replica-" + std::to_string(++names_));
    after(up_to(2s), replica, [this, &replica] { act(replica); });
  }

  // One turn of the election's thread.
  void act(Replica& replica) {
    if (happens(faults_.crash)) {
      // Its threads end at once, so its claim ends too.
      replica.claimed_until = std::min(replica.claimed_until, time_);
      return start(replica);
    }
    if (happens(faults_.end)) replica.policy->resign();
    const Now now = local(replica);
    publish(replica, now.monotonic);
    const LeaseStep step = replica.policy->next(now, draw());
    if (step.kind == LeaseStep::Kind::kDone) return start(replica);
    if (step.kind == LeaseStep::Kind::kWait) return go_on(replica, to_true(replica, step.time), [] {});
    send(replica, step, now.monotonic);
  }

  // Runs `news` after `delay`, later if the process stands still, and takes its next turn.
  void go_on(Replica& replica, Duration delay, std::function<void()> news) {
    if (happens(faults_.pause)) delay += up_to(40s);
    after(delay, replica, [this, &replica, news = std::move(news)] {
      news();
      act(replica);
    });
  }

  void publish(Replica& replica, MonotonicTime now) {
    const auto until = replica.policy->valid_until(now);
    const bool led = replica.claimed_until > time_;
    replica.claimed_until = until ? time_ + to_true(replica, *until - now) : std::min(replica.claimed_until, time_);
    if (!until) return;
    if (!led) ++elections_;
    for (const auto& other : replicas_) {
      if (other.get() != &replica && other->claimed_until > time_) ++overlaps_;
    }
  }

  void send(Replica& replica, const LeaseStep& step, MonotonicTime sent) {
    const Duration patience = to_true(replica, step.time);
    const Duration there = happens(faults_.late) ? up_to(20s) : up_to(20ms);
    const Duration back = happens(faults_.late) ? up_to(20s) : up_to(20ms);
    auto& policy = replica.policy;
    auto fail = [this, &replica, &policy] { policy->failed(local(replica).monotonic); };
    const bool arrives = !happens(faults_.lost);
    const bool heard = arrives && !happens(faults_.unanswered) && there + back < patience;
    if (!heard) go_on(replica, patience, fail);
    if (!arrives) return;
    // Carried out whether the sender lives or not.
    agenda_.emplace(time_ + there, [this, &replica, life = replica.life, step, sent, back, heard] {
      auto news = carry_out(replica, step, sent);
      if (heard && replica.life == life) go_on(replica, back, std::move(news));
    });
  }

  // The API server's part; the value is what the sender makes of the answer.
  std::function<void()> carry_out(Replica& replica, const LeaseStep& step, MonotonicTime sent) {
    auto& policy = replica.policy;
    if (step.kind == LeaseStep::Kind::kRead) {
      if (lease_.version.empty()) return [&policy] { policy->missing(); };
      return [this, &replica, &policy, seen = lease_] { policy->found(seen, local(replica).monotonic); };
    }
    if (step.record.version != lease_.version) {
      return [this, &replica, &policy] { policy->refused(local(replica).monotonic); };
    }
    lease_ = step.record;
    lease_.version = std::to_string(++versions_);
    return
        [this, &replica, &policy, sent, written = lease_] { policy->written(written, sent, local(replica).monotonic); };
  }

  std::mt19937_64 random_;
  const LeaseOptions options_;
  Faults faults_;
  Duration time_{};
  std::multimap<Duration, std::function<void()>> agenda_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  LeaseRecord lease_;
  int versions_ = 0, names_ = 0, overlaps_ = 0, elections_ = 0;
};

struct Row {
  std::string name;
  Faults faults;
};

const Row kRows[] = {
    {"a quiet network", {}},
    {"clocks that run 1.4 times as fast", {.fastest_clock = 1.4}},
    {"lost requests and answers", {.lost = 0.2, .unanswered = 0.2, .fastest_clock = 1.4}},
    {"requests that come through after their sender gave up", {.unanswered = 0.1, .late = 0.3, .fastest_clock = 1.4}},
    {"processes that stand still", {.unanswered = 0.1, .late = 0.1, .pause = 0.1, .fastest_clock = 1.4}},
    {"rolling restarts", {.unanswered = 0.1, .late = 0.1, .end = 0.05, .fastest_clock = 1.4}},
    {"everything at once",
     {.lost = 0.05, .unanswered = 0.05, .late = 0.1, .pause = 0.05, .end = 0.02, .crash = 0.02, .fastest_clock = 1.4}},
};

TEST_CASE("two leaders never overlap whatever network and clocks do") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    int elections = 0;
    for (uint64_t seed = 1; seed <= 16; ++seed) {
      CAPTURE(seed);
      Simulation simulation(seed, 2 + static_cast<int>(seed % 4), {}, row.faults);
      simulation.run(30min);
      CHECK(simulation.overlaps() == 0);
      elections += simulation.elections();
      // And when the faults end there is a leader again who stays.
      simulation.stop_faults();
      simulation.run(2min);
      CHECK(simulation.leaders() == 1);
      const int64_t transitions = simulation.transitions();
      simulation.run(10min);
      CHECK(simulation.leaders() == 1);
      CHECK(simulation.transitions() == transitions);
    }
    CHECK(elections >= 16);
  }
}

TEST_CASE("without faults leadership does not change hands") {
  Simulation simulation(7, 5, {}, {.fastest_clock = 1.4});
  simulation.run(12h);
  CHECK(simulation.elections() == 1);
  CHECK(simulation.transitions() == 0);
}

TEST_CASE("the simulation finds the overlap of a deadline that is too long for its clocks") {
  int overlaps = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Simulation simulation(seed, 3, {15s, 14s, 2s}, {.lost = 0.3, .pause = 0.05, .fastest_clock = 1.4});
    simulation.run(1h);
    overlaps += simulation.overlaps();
  }
  CHECK(overlaps > 0);
}

}  // namespace
}  // namespace muster::kube::lease_simulation_test
