#include "kube/watch_policy.h"

#include <doctest/doctest.h>

#include "kube/watch_frames.h"

namespace muster::kube::watch_policy_test {
namespace {

using namespace std::chrono_literals;

struct Step {
  WatchEnd end;
  Duration lasted;
  bool delivered;
  bool relist;
  Duration delay;
};

TEST_CASE("what follows each end of a watch") {
  struct Row {
    std::string name;
    std::vector<Step> steps;
  };
  const Row rows[] = {
      {"a watch that the server closes after minutes resumes at once", {{WatchEnd::kClosed, 7min, true, false, 0s}}},
      {"so does a quiet one", {{WatchEnd::kClosed, 7min, false, false, 0s}}},
      {"watches that are closed at once without news are held back more and more up to 30 s",
       {{WatchEnd::kClosed, 0s, false, false, 800ms},
        {WatchEnd::kClosed, 0s, false, false, 1600ms},
        {WatchEnd::kClosed, 0s, false, false, 3200ms},
        {WatchEnd::kClosed, 0s, false, false, 6400ms},
        {WatchEnd::kClosed, 0s, false, false, 12800ms},
        {WatchEnd::kClosed, 0s, false, false, 25600ms},
        {WatchEnd::kClosed, 0s, false, false, 30s},
        {WatchEnd::kClosed, 0s, false, false, 30s}}},
      {"watches that are closed at once with news keep a steady distance",
       {{WatchEnd::kClosed, 0s, true, false, 800ms}, {WatchEnd::kClosed, 0s, true, false, 800ms}}},
      {"a broken watch resumes where it was after a growing delay",
       {{WatchEnd::kBroken, 0s, false, false, 800ms}, {WatchEnd::kBroken, 0s, false, false, 1600ms}}},
      {"a watch that worked in between starts the delays anew",
       {{WatchEnd::kBroken, 0s, false, false, 800ms},
        {WatchEnd::kBroken, 0s, false, false, 1600ms},
        {WatchEnd::kBroken, 2min, true, false, 800ms}}},
      {"410 lists again at once", {{WatchEnd::kExpired, 5s, false, true, 0s}}},
      {"a server that forgets every version at once is kept at a distance from the third time",
       {{WatchEnd::kExpired, 0s, false, true, 0s},
        {WatchEnd::kExpired, 0s, false, true, 0s},
        {WatchEnd::kExpired, 0s, false, true, 800ms},
        {WatchEnd::kExpired, 0s, false, true, 1600ms}}},
      {"an unusable watch lists again after a delay", {{WatchEnd::kUnusable, 5s, true, true, 800ms}}},
      {"a kind that is not served is looked for every 30 s",
       {{WatchEnd::kAbsent, 0s, false, true, 30s},
        {WatchEnd::kAbsent, 0s, false, true, 30s},
        {WatchEnd::kObjected, 0s, false, true, 30s}}},
      {"a missing right is tried for less and less often",
       {{WatchEnd::kForbidden, 0s, false, true, 800ms}, {WatchEnd::kForbidden, 0s, false, true, 1600ms}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    WatchPolicy policy;
    for (const Step& step : row.steps) {
      const WatchNext next =
          policy.after({.end = step.end, .lasted = step.lasted, .delivered = step.delivered}, MonotonicTime(1h), 0.0);
      CHECK(next.relist == step.relist);
      CHECK(next.delay == step.delay);
    }
  }
}

TEST_CASE("delays are spread by chance up to twice their length and never past the longest") {
  WatchPolicy policy;
  const WatchAttempt broken{.end = WatchEnd::kBroken};
  CHECK(policy.after(broken, MonotonicTime(1h), 0.5).delay == 1200ms);
  CHECK(policy.after(broken, MonotonicTime(1h), 0.999).delay > 3100ms);
  for (int i = 0; i < 2000; ++i) CHECK(policy.after(broken, MonotonicTime(1h), 0.999).delay <= 30s);
}

TEST_CASE("lists keep a second between them") {
  WatchPolicy policy;
  const MonotonicTime start(1h);
  policy.list_started(start);
  CHECK(policy.after({.end = WatchEnd::kExpired, .lasted = 300ms}, start + 400ms, 0.0).delay == 600ms);
  CHECK(policy.after({.end = WatchEnd::kExpired, .lasted = 5s}, start + 5s, 0.0).delay == 0s);
  CHECK(policy.after({.end = WatchEnd::kBroken, .listing = true}, start, 0.0).delay == 1s);
}

TEST_CASE("a server that names a time to stay away gets it within reason") {
  WatchPolicy policy;
  CHECK(policy.after({.end = WatchEnd::kBroken, .retry_after = 5s}, MonotonicTime(1h), 0.0).delay == 5s);
  CHECK(policy.after({.end = WatchEnd::kBroken, .retry_after = 24h}, MonotonicTime(1h), 0.0).delay == 60s);
}

TEST_CASE("a server that starts and turns watches away again and again is asked when it said") {
  WatchPolicy policy;
  CHECK(policy.after({.end = WatchEnd::kBroken}, MonotonicTime(1h), 0.0).delay == 800ms);
  for (int refusal = 0; refusal < 5; ++refusal) {
    CHECK(policy.after({.end = WatchEnd::kBroken, .retry_after = 1s}, MonotonicTime(1h), 0.0).delay == 1s);
    CHECK(policy.after({.end = WatchEnd::kBroken, .retry_after = 1s}, MonotonicTime(1h), 0.5).delay == 1200ms);
  }
  CHECK(policy.after({.end = WatchEnd::kBroken}, MonotonicTime(1h), 0.0).delay == 1600ms);
}

TEST_CASE("frames come out whole wherever the bytes are cut") {
  const std::string stream = "{\"a\":1}\n\n{\"b\":\"zwei\"}\n{}\n{\"unfinished\":";
  for (size_t first = 0; first <= stream.size(); ++first) {
    for (size_t second = first; second <= stream.size(); second += 3) {
      WatchFrames frames;
      std::vector<std::string> seen;
      const auto take = [&](std::string_view frame) {
        seen.emplace_back(frame);
        return true;
      };
      REQUIRE(frames.feed(stream.substr(0, first), take).ok());
      REQUIRE(frames.feed(stream.substr(first, second - first), take).ok());
      REQUIRE(frames.feed(stream.substr(second), take).ok());
      CHECK(seen == std::vector<std::string>{"{\"a\":1}", "{\"b\":\"zwei\"}", "{}"});
    }
  }
}

TEST_CASE("a frame past the bound is an error in one piece and in many") {
  const auto take = [](std::string_view) { return true; };
  WatchFrames whole(8);
  CHECK(whole.feed("12345678\n", take).ok());
  CHECK_FALSE(whole.feed("123456789\n", take).ok());
  WatchFrames pieces(8);
  CHECK(pieces.feed("12345", take).ok());
  CHECK_FALSE(pieces.feed("6789", take).ok());
}

TEST_CASE("nothing follows a frame that ends the watch") {
  WatchFrames frames;
  int seen = 0;
  REQUIRE(frames.feed("1\n2\n3\n", [&](std::string_view) { return ++seen < 2; }).ok());
  CHECK(seen == 2);
}

}  // namespace
}  // namespace muster::kube::watch_policy_test
