#include "server/metrics/watch_ages.h"

#include <doctest/doctest.h>
#include <prometheus/metric_family.h>

#include "server/probes.h"
#include "test/support/hand_clock.h"

namespace watch_ages_test {

using namespace muster;
using namespace muster::server;
using namespace std::chrono_literals;
using test::HandClock;

TEST_CASE("watch ages: what was heard of longest ago counts, and grows old") {
  HandClock clock;
  WatchAges ages(clock);
  CHECK(ages.too_old().empty());
  CHECK(ages.Collect().at(0).metric.empty());
  ages.heard("jobs.batch", "");
  ages.heard("customresourcedefinitions.apiextensions.k8s.io", "metadata.name=a");
  ages.heard("customresourcedefinitions.apiextensions.k8s.io", "metadata.name=b");
  clock.pass(5min);
  ages.heard("customresourcedefinitions.apiextensions.k8s.io", "metadata.name=a");
  ages.heard("jobs.batch", "");
  CHECK(ages.too_old().empty());
  CHECK(ages.notes() == std::vector<std::string>{
                            "this answer is from data 300 s old for customresourcedefinitions.apiextensions.k8s.io"});
  const auto families = ages.Collect();
  REQUIRE(families.size() == 1);
  CHECK(families[0].name == "muster_watch_age_seconds");
  REQUIRE(families[0].metric.size() == 2);
  CHECK(families[0].metric[0].gauge.value == doctest::Approx(300));
  CHECK(families[0].metric[1].gauge.value == doctest::Approx(0));
  CHECK(families[0].metric[1].label.at(0).value == "jobs.batch");

  clock.pass(WatchAges::kTooOld - 5min);
  CHECK(ages.too_old() ==
        "nothing was heard from the API server of customresourcedefinitions.apiextensions.k8s.io for 720 s");
}

TEST_CASE("watch ages: muster is unready while a picture is too old") {
  HandClock clock;
  WatchAges ages(clock);
  Readiness readiness(std::vector<std::string>{});
  readiness.add_check("watches", [&] { return ages.too_old(); });
  ages.heard("jobs.batch", "");
  CHECK(readiness.ready());
  clock.pass(WatchAges::kTooOld);
  CHECK_FALSE(readiness.ready());
  CHECK(readiness.report(false).status == 503);
  CHECK(readiness.report(false).body.find("jobs.batch for 720 s") != std::string::npos);
  ages.heard("jobs.batch", "");
  CHECK(readiness.ready());
}

}  // namespace watch_ages_test
