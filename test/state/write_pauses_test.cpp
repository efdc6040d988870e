// How often writes that come to nothing are tried again.
#include "state/write_pauses.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace write_pauses_test {

using namespace muster;
using namespace muster::state;
using namespace std::chrono_literals;
using Answer = WritePauses::Answer;

namespace {

constexpr int kMost = WritePauses::kMostAtOnce;
const ObjectKey kKey{&kJobSets, "team-a", "train"};
const Maker kWorkers{"uid", "workers"};

MonotonicTime at(Duration time) {
  return MonotonicTime(1h) + time;
}

ObjectKey pod(int number) {
  return {&kQueuedPods, "team-a", std::to_string(1000 + number)};
}

// How many of `asked` creates are granted.
int create(WritePauses& pauses, const Maker& maker, int asked, MonotonicTime now) {
  int granted = 0;
  for (int i = 0; i < asked; ++i) granted += pauses.ask_to_create(maker, kKey, now).granted ? 1 : 0;
  return granted;
}

int remove(WritePauses& pauses, const Maker& maker, int asked, MonotonicTime now) {
  int granted = 0;
  pauses.begin_round();
  for (int i = 0; i < asked; ++i) granted += pauses.ask_to_delete(maker, now).granted ? 1 : 0;
  return granted;
}

void answer(WritePauses& pauses, const Maker& maker, int times, Answer answer, MonotonicTime now) {
  for (int i = 0; i < times; ++i) pauses.answered(maker, answer, now);
}

// The most of these in any minute.
int64_t most_in_a_minute(const std::vector<MonotonicTime>& times) {
  int64_t most = 0;
  for (auto first = times.begin(); first != times.end(); ++first)
    most = std::max<int64_t>(most, std::lower_bound(first, times.end(), *first + 1min) - first);
  return most;
}

}  // namespace

TEST_CASE("write pauses: creates that succeed are not slowed down") {
  WritePauses pauses;
  int made = 0;
  for (int rounds = 0; rounds < 60; ++rounds) {
    const int granted = create(pauses, kWorkers, 500, at(rounds * 10ms));
    answer(pauses, kWorkers, granted, Answer::kDone, at(rounds * 10ms));
    made += granted;
  }
  CHECK(made == 60 * kMost);
  CHECK_FALSE(pauses.left(kWorkers, at(1s)));
}

TEST_CASE("write pauses: what is refused is tried once after 1 s, then after twice as long each time up to a minute") {
  WritePauses pauses;
  REQUIRE(create(pauses, kWorkers, 100'000, at(0s)) == kMost);
  answer(pauses, kWorkers, kMost, Answer::kRefused, at(0s));
  MonotonicTime now = at(0s);
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    CHECK(pauses.left(kWorkers, now) == pause);
    CHECK(pauses.room(kWorkers, now) == 0);
    CHECK(create(pauses, kWorkers, 10, now + pause - 1ms) == 0);
    now += pause;
    // Its allowance can be used up.
    while (pauses.left(kWorkers, now)) now += 1s;
    CHECK(pauses.room(kWorkers, now) == 1);
    CHECK(create(pauses, kWorkers, 10, now) == 1);
    pauses.answered(kWorkers, Answer::kRefused, now);
  }
}

TEST_CASE("write pauses: a create that succeeds ends the pause") {
  WritePauses pauses;
  REQUIRE(create(pauses, kWorkers, 1, at(0s)) == 1);
  pauses.answered(kWorkers, Answer::kRefused, at(0s));
  REQUIRE(create(pauses, kWorkers, 9, at(1s)) == 1);
  CHECK(create(pauses, kWorkers, 1, at(1s)) == 0);
  pauses.answered(kWorkers, Answer::kDone, at(1100ms));
  CHECK_FALSE(pauses.left(kWorkers, at(1100ms)));
  CHECK(create(pauses, kWorkers, 1000, at(1100ms)) == kMost - 1);
}

TEST_CASE("write pauses: another template of the object does not pause, and another object is not concerned") {
  WritePauses pauses;
  REQUIRE(create(pauses, kWorkers, 1, at(0s)) == 1);
  pauses.answered(kWorkers, Answer::kRefused, at(0s));
  CHECK_FALSE(pauses.left({"uid", "driver"}, at(0s)));
  CHECK(pauses.room({"uid", "driver"}, at(0s)) == kMost - 1);
  CHECK(pauses.room({"other", "workers"}, at(0s)) == kMost);
}

TEST_CASE("write pauses: an object with a thousand templates is refused at most 120 times a minute") {
  WritePauses pauses;
  std::vector<MonotonicTime> refused;
  for (Duration time{}; time < 10min; time += 100ms) {
    for (int i = 0; i < 1000; ++i) {
      const Maker maker{"uid", std::to_string(i)};
      if (!pauses.ask_to_create(maker, kKey, at(time)).granted) continue;
      pauses.answered(maker, Answer::kRefused, at(time));
      refused.push_back(at(time));
    }
    pauses.take_turns(at(time));
  }
  CHECK(most_in_a_minute(refused) <= 120);
  CHECK(refused.size() > 300);
}

TEST_CASE("write pauses: a template of which every second create is refused is refused at most 120 times a minute") {
  WritePauses pauses;
  std::vector<MonotonicTime> refused;
  int made = 0;
  for (Duration time{}; time < 10min; time += 50ms) {
    const int granted = create(pauses, kWorkers, 500, at(time));
    for (int i = 0; i < granted; ++i) {
      pauses.answered(kWorkers, i % 2 == 1 ? Answer::kDone : Answer::kRefused, at(time));
      if (i % 2 == 0) refused.push_back(at(time));
      made += i % 2;
    }
  }
  CHECK(most_in_a_minute(refused) <= 120);
  CHECK(made > 0);
}

TEST_CASE("write pauses: keys that ask for one object wait for its answers and none is forgotten") {
  WritePauses pauses;
  std::deque<int> under_way;
  std::vector<bool> done(1000);
  const auto ask = [&](int number) {
    const auto turn = pauses.ask_to_create(kWorkers, pod(number), at(0s));
    CHECK_FALSE(turn.again);
    if (turn.granted) under_way.push_back(number);
  };
  for (int i = 0; i < 1000; ++i) ask(i);
  CHECK(under_way.size() == kMost);
  CHECK_FALSE(pauses.next());
  while (!under_way.empty()) {
    const int number = under_way.front();
    under_way.pop_front();
    done[number] = true;
    pauses.answered(kWorkers, Answer::kDone, at(0s));
    REQUIRE((under_way.size() < kMost - 1 || pauses.next().has_value() || pauses.empty()));
    for (const ObjectKey& key : pauses.take_turns(at(0s))) {
      // Some have gone, and need no write.
      const int next = std::stoi(key.name) - 1000;
      if (next % 3 == 0)
        done[next] = true;
      else
        ask(next);
    }
  }
  // Those behind keys that needed none.
  for (int rounds = 0; rounds < 1000 && pauses.next(); ++rounds) {
    for (const ObjectKey& key : pauses.take_turns(at(0s))) done[std::stoi(key.name) - 1000] = true;
  }
  CHECK(std::count(done.begin(), done.end(), false) == 0);
}

TEST_CASE("write pauses: the first deletes are all sent, and those after them ever less often") {
  WritePauses pauses;
  const Maker excess{"pod group team-a/g", "excess pods"};
  std::vector<MonotonicTime> repeated;
  CHECK(remove(pauses, excess, 5000, at(0s)) == 5000);
  int rounds = 0;
  for (Duration time = 100ms; time < 10min; time += 100ms) {
    const int removed = remove(pauses, excess, 5000, at(time));
    rounds += removed > 0 ? 1 : 0;
    repeated.insert(repeated.end(), removed, at(time));
  }
  CHECK(most_in_a_minute(repeated) <= 120);
  CHECK(rounds < 20);
  // Long after the last one it is the first again.
  CHECK(remove(pauses, excess, 5000, at(1h)) == 5000);
}

TEST_CASE("write pauses: what is kept ends after a while, however many objects there were") {
  WritePauses pauses;
  for (int i = 0; i < 5000; ++i) {
    const Maker maker{std::to_string(i), "workers"};
    REQUIRE(pauses.ask_to_create(maker, kKey, at(0s)).granted);
    pauses.answered(maker, Answer::kRefused, at(0s));
    remove(pauses, {std::to_string(i), "excess"}, 1, at(0s));
  }
  CHECK_FALSE(pauses.empty());
  REQUIRE(create(pauses, kWorkers, 1, at(10min)) == 1);
  pauses.answered(kWorkers, Answer::kRefused, at(10min));
  pauses.answered(kWorkers, Answer::kDone, at(20min));
  remove(pauses, kWorkers, 1, at(30min));
  remove(pauses, kWorkers, 1, at(40min));
  pauses.clear();
  CHECK(pauses.empty());
}

TEST_CASE("write pauses: an answer of a time before the last clear() counts nothing twice") {
  WritePauses pauses;
  REQUIRE(create(pauses, kWorkers, 5, at(0s)) == 5);
  pauses.clear();
  REQUIRE(create(pauses, kWorkers, 1, at(1s)) == 1);
  answer(pauses, kWorkers, 5, Answer::kDone, at(1s));
  CHECK(pauses.room(kWorkers, at(1s)) == kMost);
}

}  // namespace write_pauses_test
