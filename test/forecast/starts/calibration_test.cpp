// How often estimates are right, on replayed days.
#include <doctest/doctest.h>

#include <initializer_list>

#include "test/forecast/starts/replayed_day.h"

namespace calibration_test {

using namespace muster::test;

namespace {

// Two days of each, since one is not enough and four in one test are long on a busy machine.
void check_days(std::initializer_list<uint64_t> seeds, size_t courses = 19, double least = 0.7, double most = 0.9) {
  double jobs = 0, estimates = 0;
  const auto days = static_cast<double>(seeds.size());
  for (const uint64_t seed : seeds) {
    const DayResult result = ReplayedDay(seed, 1, courses).play();
    print(result);
    REQUIRE(result.first_of_each.estimates > 300);
    jobs += result.first_of_each.share() / days;
    estimates += result.by_queue.at("").share() / days;
  }
  CHECK(jobs >= least);
  CHECK(jobs <= most);
  CHECK(estimates >= least - 0.05);
  CHECK(estimates <= most);
}

}  // namespace

TEST_CASE("starts: on replayed days the true start lies in the range for 70 to 90 percent of the jobs") {
  check_days({1, 2});
}

TEST_CASE("starts: on other replayed days the true start lies in the range as often") {
  check_days({3, 4});
}

// With many Workloads there is time for few courses, and the range is computed from their spread: less certain.
TEST_CASE("starts: with three courses the true start still lies in the range for most of the jobs") {
  check_days({1}, 3, 0.6, 0.97);
}

TEST_CASE("starts: with six courses the true start still lies in the range for most of the jobs") {
  check_days({3}, 6, 0.65, 0.95);
}

}  // namespace calibration_test
