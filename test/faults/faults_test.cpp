// Whether the invariants would notice. Each deliberate fault of faults.cmake is chosen in turn, and lives with fixed
// seeds run until one breaks an invariant; without a fault the same lives break none. Each row of the table says
// by what a fault was caught; `build/test/faults_test` prints all of them.

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "test/faults/chosen_fault.h"
#include "test/faults/lives.h"
#include "test/support/soak.h"

namespace faults_test {

using namespace muster::test;

namespace {

constexpr uint64_t kSeeds = 6;
constexpr uint64_t kNewSeeds = 2;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Each life with the first seed, then each with the second: most faults are found early.
void expect_caught(int number, const char* name, const char* says) {
  chosen_fault = number;
  fault_visits = 0;
  uint64_t steps = 0;
  bool caught = false;
  for (uint64_t seed = 1; seed <= kSeeds && !caught; ++seed) {
    for (const Life life : kLives) {
      const Outcome outcome = live({.life = life, .seed = seed});
      steps += outcome.steps;
      if (outcome.violation.empty()) continue;
      std::printf("%-40s %-9s seed %llu, %8llu steps  %s\n", name, std::string(to_text(life)).c_str(),
                  static_cast<unsigned long long>(seed), static_cast<unsigned long long>(steps),
                  first_line(outcome.violation).c_str());
      caught = true;
      break;
    }
  }
  chosen_fault = 0;
  if (!caught)
    FAIL("the fault \"" << std::string(says) << "\" is not noticed by any invariant in " << steps
                        << " steps; its place was visited " << fault_visits << " times");
}

int number_of(std::string_view fault) {
#define FAULT_ROW(number, name, says) \
  if (fault == name) return number;
#include "faults_table.inc"
#undef FAULT_ROW
  return 0;
}

// What a person has chosen: a scene as Scene::text() has it, and a fault by its name.
const char* chosen_scene() {
  return std::getenv("MUSTER_SCENE");
}

}  // namespace

#define FAULT_ROW(number, name, says)       \
  TEST_CASE("faults: " name " is caught") { \
    expect_caught(number, name, says);      \
  }
#include "faults_table.inc"
#undef FAULT_ROW

TEST_CASE("lives: without a fault no invariant breaks") {
  uint64_t steps = 0;
  const std::clock_t begin = std::clock();
  const uint64_t last = soak_seeds(static_cast<int>(kSeeds), 500);
  for (uint64_t seed = 1; seed <= last; ++seed) {
    for (const Life life : kLives) {
      const Scene scene{.life = life, .seed = seed};
      const Outcome outcome = live(scene);
      steps += outcome.steps;
      if (!outcome.violation.empty()) FAIL(explain(shrink(scene)));
    }
  }
  // Of CPU: tests run beside each other.
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("figure lives: %llu steps in %.1f s of CPU, %.0f steps/s\n", static_cast<unsigned long long>(steps),
              seconds, static_cast<double>(steps) / seconds);
}

// `./check` takes the first one from the commit, so that the seeds do not wear out.
TEST_CASE("lives: new seeds break no invariant either") {
  const char* first = std::getenv("MUSTER_NEW_SEED");
  if (first == nullptr) {
    MESSAGE("[skipped] MUSTER_NEW_SEED is not set");
    return;
  }
  for (uint64_t seed = std::stoull(first), last = seed + seeds(kNewSeeds); seed < last; ++seed) {
    for (const Life life : kLives) {
      const Scene scene{.life = life, .seed = seed};
      if (!live(scene).violation.empty()) FAIL(explain(shrink(scene)));
    }
  }
}

TEST_CASE("lives: a failing life is shrunk to one that still fails, and its command runs it again") {
  chosen_fault = number_of("barrier-opens-early");
  const Scene scene{.life = Life::kGangs, .seed = 1};
  const Scene less = shrink(scene);
  CHECK(less.jobs < scene.jobs);
  CHECK(less.replicas == 1);
  const Scene again = Scene::read(less.text());
  CHECK(again.text() == less.text());
  CHECK_FALSE(live(again).violation.empty());
  CHECK(explain(less).find("MUSTER_SCENE='gangs seed=1 ") != std::string::npos);
  chosen_fault = 0;
  CHECK(live(again).violation.empty());
}

// Without a scene it is no test, so ctest does not list it.
TEST_CASE("lives: one chosen by MUSTER_SCENE" * doctest::skip(chosen_scene() == nullptr)) {
  REQUIRE(chosen_scene() != nullptr);
  const char* fault = std::getenv("MUSTER_FAULT");
  chosen_fault = fault == nullptr ? 0 : number_of(fault);
  const Scene scene = Scene::read(chosen_scene());
  const std::string found = live(scene).violation.empty() ? "" : explain(scene);
  chosen_fault = 0;
  CHECK_MESSAGE(found.empty(), found);
}

}  // namespace faults_test
