// What an estimate says in words, in a table and on the wire.
#include "api/start_estimate.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "test/support/files.h"

namespace start_estimate_test {

using namespace muster;
using nlohmann::json;

namespace {

const Timestamp kNow = *parse_rfc3339("2026-01-01T12:00:00Z");

Timestamp in(int64_t seconds) {
  return {kNow.seconds + seconds, 0};
}

StartEstimate range(int64_t from, int64_t to) {
  return {.outcome = StartOutcome::kRange,
          .earliest = in(from),
          .latest = in(to),
          .basis = {.finished = 37, .history = true, .maximum_times = true, .annotations = false}};
}

}  // namespace

TEST_CASE("start estimate: sentences say the range and its basis, and promise nothing") {
  CHECK(to_sentence(range(600, 1500), kNow) ==
        "in 10m to 25m (p10 to p90; from 37 finished Workloads of this LocalQueue, maximum execution times; "
        "an estimate, no promise)");
  CHECK(to_sentence(range(-5, 90), kNow).starts_with("in at most 90s (p10 to p90; from "));
  CHECK(to_sentence(range(-50, -5), kNow).starts_with("at any moment (from "));
  StartEstimate open = range(7300, 0);
  open.outcome = StartOutcome::kNotBefore;
  CHECK(to_sentence(open, kNow).starts_with("in 2h or later (from "));
  open.outcome = StartOutcome::kBeyondHorizon;
  CHECK(to_sentence(open, kNow).starts_with("not within 2h (from "));
  for (const StartOutcome outcome :
       {StartOutcome::kRunTimesUnknown, StartOutcome::kNoStart, StartOutcome::kNotSimulated}) {
    CHECK_FALSE(to_sentence({.outcome = outcome}, kNow).empty());
    CHECK(short_text({.outcome = outcome}, kNow) == "-");
  }
}

// The same table is read by the test of the dashboard's page (commands/dashboard/page/test).
TEST_CASE("start estimate: spans are rounded as on the dashboard's page") {
  const json table = json::parse(test::read_file(std::string(MUSTER_SOURCE_DIR) + "/test/api/rough_spans.json"));
  CHECK(table.size() >= 20);
  for (const json& row : table) CHECK(rough_span(row[0].get<int64_t>()) == row[1].get<std::string>());
}

TEST_CASE("start estimate: cells of a table") {
  CHECK(short_text(range(30, 110), kNow) == "30s-110s");
  CHECK(short_text(range(600, 1500), kNow) == "10m-25m");
  CHECK(short_text(range(9000, 50'000), kNow) == "2h30m-14h");
  CHECK(short_text(range(-5, 60), kNow) == "0s-60s");
  CHECK(short_text(range(-5, -1), kNow) == "now");
  StartEstimate open = range(7 * 86'400, 0);
  open.outcome = StartOutcome::kBeyondHorizon;
  CHECK(short_text(open, kNow) == ">7d");
}

TEST_CASE("start estimate: the basis of other queues is named without a count") {
  CHECK(to_words({.finished = 0, .history = true}) == "finished Workloads of other queues");
  CHECK(to_words({.finished = 1, .history = true}) == "1 finished Workload of this LocalQueue");
  CHECK(to_words({.annotations = true}) == "annotations");
  CHECK(to_words({}).empty());
}

TEST_CASE("start estimate: it is read as it was written, and what is no estimate is none") {
  StartEstimate open = range(100, 0);
  open.outcome = StartOutcome::kNotBefore;
  open.latest = {};
  for (const StartEstimate& estimate : {range(600, 1500), open, StartEstimate{.outcome = StartOutcome::kNoStart}}) {
    const auto read = read_start_estimate(to_json(estimate, kNow));
    REQUIRE(read);
    CHECK(*read == estimate);
  }
  CHECK(to_json(range(600, 1500), kNow)["at"] == "2026-01-01T12:00:00Z");
  CHECK_FALSE(read_start_estimate(json::object()));
  CHECK_FALSE(read_start_estimate(json()));
  CHECK_FALSE(read_start_estimate({{"outcome", "Later"}}));
  CHECK_FALSE(read_start_estimate({{"outcome", "Range"}, {"earliest", "2026-01-01T12:00:00Z"}}));
  CHECK_FALSE(read_start_estimate({{"outcome", "Range"}, {"earliest", 5}, {"latest", json::array()}}));
}

}  // namespace start_estimate_test
