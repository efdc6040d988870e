// Whole histories in virtual time: three replicas with clocks that differ, one
// Secret, webhook configurations that are injected by whoever notices, and API
// servers that act on what those configurations were up to some time ago. At every
// instant each leaf that any replica serves must verify against every bundle that any
// API server can hold.
#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <random>
#include <set>

#include "certs/manager.h"
#include "test/certs/memory_store.h"

namespace rotation_test {

using namespace muster;
using namespace muster::certs;
using namespace std::chrono_literals;
using muster::test::MemoryStore;

namespace {

const TimePoint kEpoch{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};
const ServingNames kNames{{"muster-webhook.muster-system.svc"}, {}};

struct Scene {
  std::string name;
  Lifetimes lives;
  Duration step;       // of virtual time
  Duration length;     // of the history
  Duration api_delay;  // how old a bundle an API server can still use
  Duration skew;       // largest difference of a replica's clock from the true one
  double restarts;     // chance of a replica restart per step
  double outages;      // chance per step that the store is away for a sixth of a leaf's life
  int switches;        // at least this many CA renewals must have happened
};

struct Replica {
  std::unique_ptr<CertificateManager> manager;
  Duration skew{};
  TimePoint next_tick{};
};

class History {
 public:
  History(const Scene& scene, unsigned seed) : scene_(scene), random_(seed) {
    for (Replica& replica : replicas_) {
      replica.skew = Duration(std::uniform_int_distribution<int64_t>(-scene.skew.count(), scene.skew.count())(random_));
      start(replica);
    }
    for (Replica& replica : replicas_) tick(replica, kEpoch);
    // Before the first injection no client can trust a server; the history begins after it.
    for (auto& history : injected_) history.push_back({kEpoch - 1000h, replicas_[0].manager->current()->bundle});
  }

  void run() {
    for (TimePoint now = kEpoch; now < kEpoch + scene_.length; now += scene_.step) {
      if (now >= outage_until_ && chance(scene_.outages)) outage_until_ = now + scene_.lives.leaf / 6;
      store_.reachable = now >= outage_until_;
      for (Replica& replica : replicas_) {
        if (chance(scene_.restarts)) {
          start(replica);
          replica.next_tick = now;
        }
        if (now >= replica.next_tick) tick(replica, now);
        if (chance(0.7)) inject(replica, now);
      }
      check(now);
    }
  }

  int authorities() const { return authorities_; }
  const MemoryStore& store() const { return store_; }

 private:
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  Now clock(const Replica& replica, TimePoint now) const {
    return {now + replica.skew, MonotonicTime{now.time_since_epoch() - kEpoch.time_since_epoch()}};
  }

  void start(Replica& replica) {
    replica.manager = std::make_unique<CertificateManager>(store_, CertificateSettings{kNames, scene_.lives, false},
                                                           [](const ServingCertificate&) {});
  }

  void tick(Replica& replica, TimePoint now) {
    const auto tick = replica.manager->tick(clock(replica, now));
    REQUIRE(tick.again_in > 0s);
    replica.next_tick = now + tick.again_in;
    if (!store_.state.authority.certificate.empty() && store_.state.authority.certificate != authority_) {
      authority_ = store_.state.authority.certificate;
      ++authorities_;
    }
  }

  // As an injector does it: look, and write only with the version that was seen. The
  // two webhook configurations are written one after the other.
  void inject(Replica& replica, TimePoint now) {
    std::vector<std::string> seen{injected_[0].back().bundle, injected_[1].back().bundle};
    if (!replica.manager->injected(seen, clock(replica, now))) return;
    const size_t which = seen[0] == replica.manager->current()->bundle ? 1 : 0;
    injected_[which].push_back({now, replica.manager->current()->bundle});
  }

  void check(TimePoint now) {
    for (auto& history : injected_) {
      while (history.size() > 1 && history[1].since <= now - scene_.api_delay) history.pop_front();
      for (const Injected& injected : history) {
        for (const Replica& replica : replicas_) {
          const auto& served = replica.manager->current();
          if (!served) continue;  // not ready, so the Service does not name it
          REQUIRE(now < served->expires);
          if (!verified_.insert({served->chain, injected.bundle}).second) continue;
          const auto verdict = verify_chain(served->chain, injected.bundle, now, kNames.dns.front());
          INFO("after ", std::chrono::duration_cast<std::chrono::seconds>(now - kEpoch).count(), " s");
          INFO((verdict ? std::string() : verdict.error().message));
          REQUIRE(verdict.ok());
        }
      }
    }
  }

  struct Injected {
    TimePoint since;
    std::string bundle;
  };

  const Scene& scene_;
  std::mt19937 random_;
  MemoryStore store_;
  Replica replicas_[3];
  std::deque<Injected> injected_[2];
  // Pairs of chain and bundle that fit; no leaf outlives its CA, so they do until the leaf expires.
  std::set<std::pair<std::string, std::string>> verified_;
  TimePoint outage_until_ = kEpoch;
  std::string authority_;
  int authorities_ = 0;
};

}  // namespace

TEST_CASE("every leaf that is served verifies against every bundle that may be in use") {
  const Scene scenes[] = {
      {"certificates of minutes, as in the soak test", {10min, 5min, 20s}, 2s, 40min, 15s, 0s, 0, 0, 4},
      {"certificates that live seconds", {30s, 10s, 60s}, 200ms, 100s, 2s, 0s, 0, 0, 3},
      {"clocks that differ by minutes", {24h, 8h, 60s}, 30s, 24h * 3, 50s, 5min, 0, 0, 3},
      {"replicas that restart all the time", {10min, 5min, 20s}, 2s, 30min, 15s, 0s, 0.01, 0, 3},
      {"a store that is away at times", {60min, 30min, 20s}, 5s, 3h, 15s, 10s, 0.001, 0.005, 3},
  };
  for (const Scene& scene : scenes) {
    for (unsigned seed = 1; seed <= 2; ++seed) {
      INFO(scene.name);
      INFO("seed ", seed);
      History history(scene, seed);
      history.run();
      CHECK(history.authorities() > scene.switches);
      CHECK(history.store().writes < 60 * scene.switches);
    }
  }
}

}  // namespace rotation_test
