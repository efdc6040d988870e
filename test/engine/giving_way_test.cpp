// Writes that only say why something waits, and what they leave to others.
#include "engine/giving_way.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "test/engine/served_engine.h"

namespace giving_way_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

ObjectKey workload(int number) {
  return {&kWorkloads, "team-a", "w-" + std::to_string(number)};
}
MonotonicTime at(Duration time) {
  return MonotonicTime(std::chrono::hours(1)) + time;
}

void start_all(GivingWay& writes) {
  for (size_t i = 0; i < GivingWay::kAtATime; ++i) {
    REQUIRE(writes.go_or_queue(workload(static_cast<int>(i)), at({})));
    writes.started();
  }
}

bool is_of_workload(const Command& command) {
  return *command.write.target.type == kWorkloads;
}

// Those of the writes under way to Workloads that give way, or do not.
size_t count(const ServedEngine& served, bool gives_way) {
  return static_cast<size_t>(std::count_if(served.writes.begin(), served.writes.end(), [&](const Command& command) {
    return is_of_workload(command) && command.write.gives_way == gives_way;
  }));
}

Command take(ServedEngine& served, bool gives_way) {
  const auto found = std::find_if(served.writes.begin(), served.writes.end(), [&](const Command& command) {
    return is_of_workload(command) && command.write.gives_way == gives_way;
  });
  REQUIRE(found != served.writes.end());
  Command command = *found;
  served.writes.erase(found);
  return command;
}

// `waiting` Workloads that do not fit, no two alike, wait for a second, so that each must get a reason.
void put_waiting(ServedEngine& served, int waiting) {
  served.put_queues("8");
  for (int i = 0; i < waiting; ++i) served.put_workload("large-" + std::to_string(i), std::to_string(9 + i).c_str());
  for (int i = 0; i < waiting; ++i) served.plan();
  CHECK(count(served, true) == 0);
  served.pass(seconds(2));
}

void settle_in_time(ServedEngine& served) {
  for (int i = 0; i < 20; ++i) {
    served.settle();
    served.pass(seconds(1));
  }
}

}  // namespace

TEST_CASE("giving way: few at a time, and the others in line, first come first served") {
  GivingWay writes;
  start_all(writes);
  for (int i = 100; i < 103; ++i) CHECK_FALSE(writes.go_or_queue(workload(i), at({})));
  CHECK_FALSE(writes.go_or_queue(workload(100), at({})));  // it is in line already
  CHECK(writes.waiting() == 3);
  CHECK(writes.take_turns(at({})).empty());
  CHECK_FALSE(writes.next());
  writes.finished(milliseconds(5), false, at(milliseconds(5)));
  writes.finished(milliseconds(5), false, at(milliseconds(5)));
  const auto turns = writes.take_turns(at(milliseconds(5)));
  REQUIRE(turns.size() == 2);
  CHECK(turns[0].name == "w-100");
  CHECK(turns[1].name == "w-101");
  CHECK(writes.waiting() == 1);
}

TEST_CASE("giving way: beside other writes each is followed by a pause of nine times its length") {
  GivingWay writes;
  start_all(writes);
  CHECK_FALSE(writes.go_or_queue(workload(100), at({})));
  writes.finished(milliseconds(10), true, at(milliseconds(10)));
  CHECK(writes.next() == at(milliseconds(100)));
  CHECK(writes.take_turns(at(milliseconds(99))).empty());
  CHECK(writes.take_turns(at(milliseconds(100))).size() == 1);
  CHECK(writes.go_or_queue(workload(100), at(milliseconds(100))));
}

TEST_CASE("giving way: slow answers mean trouble, quick ones in a quiet cluster do not") {
  GivingWay writes;
  start_all(writes);
  Duration took{};
  bool pauses = false;
  SUBCASE("quick") {
    took = GivingWay::kQuick;
  }
  SUBCASE("slow") {
    took = GivingWay::kQuick + milliseconds(1);
    pauses = true;
  }
  writes.finished(took, false, at(took));
  CHECK(writes.go_or_queue(workload(100), at(took)) != pauses);
  CHECK(writes.go_or_queue(workload(100), at(took + GivingWay::kPause * took)));
}

TEST_CASE("giving way: with a tenth of the time an API server under load gets few such writes") {
  GivingWay writes;
  size_t written = 0;
  const auto length = milliseconds(100);
  std::multimap<MonotonicTime, int> answers;
  for (Duration time{}; time < seconds(60); time += milliseconds(10)) {
    for (auto end = answers.upper_bound(at(time)); answers.begin() != end;) {
      answers.erase(answers.begin());
      writes.finished(length, true, at(time));
    }
    while (writes.go_or_queue(workload(static_cast<int>(written)), at(time))) {
      writes.started();
      answers.emplace(at(time + length), 0);
      ++written;
    }
  }
  CHECK(written <= 60 * GivingWay::kAtATime + GivingWay::kAtATime);
  CHECK(written >= 50 * GivingWay::kAtATime);
}

TEST_CASE("giving way: a new term begins without a line") {
  GivingWay writes;
  start_all(writes);
  CHECK_FALSE(writes.go_or_queue(workload(100), at({})));
  writes.clear();
  CHECK(writes.waiting() == 0);
  CHECK_FALSE(writes.go_or_queue(workload(101), at({})));  // what is under way still is
}

TEST_CASE("giving way: in a quiet cluster all are told why they wait, some at a time") {
  ServedEngine served;
  put_waiting(served, 40);
  served.plan();
  CHECK(count(served, true) == GivingWay::kAtATime);
  settle_in_time(served);
  for (int i = 0; i < 40; ++i)
    CHECK(served.condition_of("large-" + std::to_string(i), "QuotaReserved") == "False ExceedsMaxQuota");
}

TEST_CASE("giving way: admissions are not held up by those who are told why they wait") {
  ServedEngine served;
  put_waiting(served, 40);
  served.plan();
  REQUIRE(count(served, true) == GivingWay::kAtATime);
  for (int i = 0; i < 8; ++i) served.put_workload("small-" + std::to_string(i), "1");
  served.plan();
  CHECK(count(served, false) == 8);
  // A slow answer to one of them, beside the admissions: the next one waits.
  served.pass(milliseconds(50));
  served.answer(take(served, true));
  served.plan();
  CHECK(count(served, true) == GivingWay::kAtATime - 1);
  REQUIRE(served.engine.next_tick());
  CHECK(*served.engine.next_tick() <= served.now().monotonic + GivingWay::kPause * milliseconds(50));
  served.pass(GivingWay::kPause * milliseconds(50));
  served.plan();
  CHECK(count(served, true) == GivingWay::kAtATime);
}

TEST_CASE("giving way: who waits in line to be told is admitted at once when there is room") {
  ServedEngine served;
  put_waiting(served, 40);
  served.plan();
  REQUIRE(count(served, true) == GivingWay::kAtATime);
  served.put_cluster_queue("cq", "10000");
  served.plan();
  // The eight are being written; the others are admitted without another word, as many as can be at a time.
  CHECK(count(served, false) >= 20);
  CHECK(count(served, true) == GivingWay::kAtATime);
  settle_in_time(served);
  for (int i = 0; i < 40; ++i) CHECK(served.condition_of("large-" + std::to_string(i), "Admitted") == "True Admitted");
}

TEST_CASE("giving way: an eviction and the end of a reservation do not") {
  ServedEngine served;
  served.put_queues("2", {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  served.put_workload("low", "2");
  served.settle();
  served.put_workload("high", "2", {{"priority", 10}});
  served.plan();
  REQUIRE(served.writes.size() >= 1);
  CHECK(count(served, true) == 0);
}

}  // namespace giving_way_test
