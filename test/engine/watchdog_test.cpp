#include "engine/watchdog.h"

#include <doctest/doctest.h>

namespace watchdog_test {

using namespace muster;
using namespace muster::engine;
using namespace std::chrono_literals;

namespace {

struct Kennel {
  Watchdog dog{20s};
  MonotonicTime now{1h};
  void look(std::optional<uint64_t> step, Duration later = 1s) {
    now += later;
    dog.look(step, now);
  }
};

}  // namespace

TEST_CASE("watchdog: one step that does not end is a stuck engine") {
  Kennel kennel;
  for (int i = 0; i < 20; ++i) {
    kennel.look(7);
    CHECK_FALSE(kennel.dog.stuck());
  }
  kennel.look(7);
  CHECK(kennel.dog.stuck());
  kennel.look(8);
  CHECK_FALSE(kennel.dog.stuck());
}

TEST_CASE("watchdog: many steps, and no step at all, are well for as long as they like") {
  Kennel kennel;
  for (uint64_t i = 0; i < 100; ++i) {
    kennel.look(i % 3 == 0 ? std::nullopt : std::optional(i));
    CHECK_FALSE(kennel.dog.stuck());
  }
  for (int i = 0; i < 100; ++i) kennel.look(std::nullopt);
  CHECK_FALSE(kennel.dog.stuck());
}

TEST_CASE("watchdog: a machine that was paused is not the engine's fault") {
  Kennel kennel;
  kennel.look(7);
  kennel.look(7, 1h);
  CHECK_FALSE(kennel.dog.stuck());
  // The pause counts as the longest time between two looks.
  for (int i = 0; i < 17; ++i) kennel.look(7);
  CHECK_FALSE(kennel.dog.stuck());
  kennel.look(7);
  CHECK(kennel.dog.stuck());
}

}  // namespace watchdog_test
