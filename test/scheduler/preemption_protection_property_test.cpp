// Protection from preemption (scheduler/preemption/protection.h) over random queues, classes and Workloads.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>

#include "test/scheduler/protected_cluster.h"

namespace preemption_protection_property_test {

using namespace muster;
using namespace std::chrono_literals;
using test::cluster_queue;
using test::of_class;
using test::ProtectedCluster;
using test::protecting;
using test::workload;

// Two queues of a cohort that protect each other as long as they can. Victims leave at once, and others try to take
// their place.
TEST_CASE("protection: whatever two queues grant each other every preemptor is served in finite time") {
  CHECK(rc::check("served", [] {
    const auto length = [] { return std::optional<Duration>(std::chrono::seconds(*rc::gen::inRange(0, 100))); };
    ProtectedCluster cluster;
    for (const char* name : {"a", "b"}) {
      PreemptionProtection protection{.in_queue = length(), .reclaim = length()};
      if (*rc::gen::arbitrary<bool>()) protection.limit = length();
      cluster.put(protecting(cluster_queue(name, "all", {{.nominal = 6}}), protection));
    }
    int64_t now = 0;
    // What was decided; nothing is left of the victims.
    const auto run = [&] {
      std::string decided = cluster.run(now);
      std::istringstream words(decided);
      for (std::string word; words >> word;) {
        if (word.starts_with("-")) cluster.finish(word.c_str() + 1);
      }
      return decided;
    };
    for (int i = 0; i < 8; ++i) {
      cluster.add(workload("low" + std::to_string(i), i % 2 == 0 ? "a" : "b", 0, now), *rc::gen::inRange(1, 7), now);
      run();
      now += *rc::gen::inRange(0, 40);
    }
    cluster.add(workload("urgent", "a", 100, now), 6, now);
    const int64_t begun = now;
    bool served = run().find("+urgent") != std::string::npos;
    for (int i = 0; !served && i < 300; ++i) {
      if (i % 5 == 0) cluster.add(workload("new" + std::to_string(i), "b", 0, now), 1, now);
      ++now;
      served = run().find("+urgent") != std::string::npos;
    }
    RC_ASSERT(served);
    RC_ASSERT(now - begun <= 102);
  }));
}

// The same events with and without protection: what is not protected at all is decided in the same way.
TEST_CASE("protection: annotations of other queues and of no length change no decision") {
  CHECK(rc::check("unchanged", [] {
    ProtectedCluster plain, annotated;
    annotated.put(protecting(cluster_queue("elsewhere", "", {{.nominal = 1}}), {.in_queue = 1h, .limit = 1h}));
    annotated.put_class("gold", {.in_queue = 1h, .reclaim = 1h});
    for (const char* name : {"a", "b"}) {
      plain.put(protecting(cluster_queue(name, "all", {{.nominal = 6}}), {}));
      annotated.put(protecting(cluster_queue(name, "all", {{.nominal = 6}}), {.in_queue = 0s, .limit = 0s}));
    }
    for (int i = 0; i < 20; ++i) {
      Workload made = workload("w" + std::to_string(i), *rc::gen::element("a", "b"), *rc::gen::inRange(0, 4), i);
      const int64_t cores = *rc::gen::inRange(1, 8);
      plain.add(made, cores, i);
      annotated.add(of_class(made, "gold"), cores, i);
      RC_ASSERT(plain.run(i) == annotated.run(i));
    }
    RC_ASSERT(!annotated.scheduler.next_wake());
  }));
}

}  // namespace preemption_protection_property_test
