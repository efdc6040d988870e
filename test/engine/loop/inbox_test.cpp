#include "engine/loop/inbox.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace inbox_test {

using namespace muster;
using namespace muster::engine;
using namespace std::chrono_literals;

namespace {

MonotonicTime at(Duration time) {
  return MonotonicTime(1h) + time;
}

Event numbered(uint64_t id) {
  return WriteFinished{.id = id, .outcome = reconcilers::WriteOutcome::kDone};
}

// The numbers of a batch; 0: a tick.
std::vector<uint64_t> numbers(const std::optional<std::deque<Event>>& batch) {
  std::vector<uint64_t> found;
  if (!batch) return found;
  for (const Event& event : *batch) {
    const auto* finished = std::get_if<WriteFinished>(&event);
    found.push_back(finished == nullptr ? 0 : finished->id);
  }
  return found;
}

}  // namespace

TEST_CASE("inbox: all events that wait are one batch, in the order of their posting") {
  Inbox inbox;
  CHECK_FALSE(inbox.take(std::nullopt, at(0s)));
  CHECK_FALSE(inbox.next_batch(std::nullopt));
  for (uint64_t id = 1; id <= 5; ++id) inbox.post(numbered(id));
  REQUIRE(inbox.next_batch(std::nullopt));
  CHECK(*inbox.next_batch(std::nullopt) <= at(0s));
  CHECK(numbers(inbox.take(std::nullopt, at(0s))) == std::vector<uint64_t>{1, 2, 3, 4, 5});
  CHECK(inbox.empty());
  CHECK_FALSE(inbox.take(std::nullopt, at(0s)));
}

TEST_CASE("inbox: after a batch events wait until the rest is over, and are one batch then") {
  Inbox inbox;
  inbox.post(numbered(1));
  CHECK(numbers(inbox.take(std::nullopt, at(0s))) == std::vector<uint64_t>{1});
  inbox.rest(at(3ms));
  inbox.post(numbered(2));
  CHECK(inbox.next_batch(std::nullopt) == at(3ms + Inbox::kRest));
  CHECK_FALSE(inbox.take(std::nullopt, at(4ms)));
  inbox.post(numbered(3));
  CHECK_FALSE(inbox.take(std::nullopt, at(3ms + Inbox::kRest - 1ns)));
  CHECK(numbers(inbox.take(std::nullopt, at(3ms + Inbox::kRest))) == std::vector<uint64_t>{2, 3});
}

TEST_CASE("inbox: a tick is a batch when its time has come and nothing else waits") {
  Inbox inbox;
  const auto tick = at(50ms);
  CHECK(inbox.next_batch(tick) == tick);
  CHECK_FALSE(inbox.take(tick, at(49ms)));
  CHECK(numbers(inbox.take(tick, at(50ms))) == std::vector<uint64_t>{0});
  // What waits comes before, and needs no tick: the engine plans after each batch.
  inbox.post(numbered(7));
  CHECK(numbers(inbox.take(tick, at(50ms))) == std::vector<uint64_t>{7});
  // A tick that is due all the time does not take the rest away.
  inbox.rest(at(50ms));
  CHECK(inbox.next_batch(tick) == at(50ms + Inbox::kRest));
  CHECK_FALSE(inbox.take(tick, at(51ms)));
  CHECK(numbers(inbox.take(tick, at(60ms))) == std::vector<uint64_t>{0});
}

TEST_CASE("inbox: watches have no room beyond the bound, and answers to writes always come in") {
  Inbox inbox;
  for (size_t i = 0; i < Inbox::kMostWaiting; ++i) {
    REQUIRE(inbox.has_room());
    inbox.post(Tick{});
  }
  CHECK_FALSE(inbox.has_room());
  inbox.post(numbered(1));
  const auto batch = inbox.take(std::nullopt, at(0s));
  REQUIRE(batch);
  CHECK(batch->size() == Inbox::kMostWaiting + 1);
  CHECK(inbox.has_room());
}

}  // namespace inbox_test
