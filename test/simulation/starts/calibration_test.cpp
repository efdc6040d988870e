// How often estimates are right, on replayed days.
#include <doctest/doctest.h>

#include "test/simulation/starts/replayed_day.h"

using namespace muster::test;

TEST_CASE("starts: on replayed days the true start lies in the range for 70 to 90 percent of the jobs") {
  double jobs = 0, estimates = 0;
  constexpr int kDays = 4;
  for (int seed = 1; seed <= kDays; ++seed) {
    const DayResult result = ReplayedDay(static_cast<uint64_t>(seed)).play();
    print(result);
    REQUIRE(result.first_of_each.estimates > 300);
    jobs += result.first_of_each.share() / kDays;
    estimates += result.by_queue.at("").share() / kDays;
  }
  CHECK(jobs >= 0.7);
  CHECK(jobs <= 0.9);
  CHECK(estimates >= 0.65);
  CHECK(estimates <= 0.9);
}
