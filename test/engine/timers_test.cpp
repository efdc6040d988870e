#include "engine/timers.h"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

namespace timers_test {

using namespace muster;
using namespace muster::engine;
using std::chrono::milliseconds;

namespace {

MonotonicTime at(int64_t ms) {
  return MonotonicTime(milliseconds(ms));
}

struct Owner {
  int id = 0;
  Timer timer{};
};

std::vector<int> fired(Timers<Owner*>& timers, MonotonicTime now) {
  std::vector<int> ids;
  timers.take_due(now, [&](const Owner* owner) { ids.push_back(owner->id); });
  return ids;
}

using Ids = std::vector<int>;

}  // namespace

TEST_CASE("timers: they go off by time and those of one instant as they were set") {
  Timers<Owner*> timers;
  std::deque<Owner> owners;
  for (const int ms : {70, 10, 9, 10, 1'000'000, -5}) {
    Owner& owner = owners.emplace_back(Owner{.id = static_cast<int>(owners.size())});
    timers.set(owner.timer, at(ms), &owner);
  }
  CHECK(timers.next() == at(-5));
  CHECK(fired(timers, at(-6)).empty());
  CHECK(fired(timers, at(9)) == Ids{5, 2});
  CHECK_FALSE(owners[2].timer.pending());
  CHECK(timers.next() == at(10));
  CHECK(fired(timers, at(999'999)) == Ids{1, 3, 0});
  CHECK(owners[4].timer.pending());
  CHECK(timers.next() == at(1'000'000));
  CHECK(fired(timers, at(1'000'000)) == Ids{4});
  CHECK_FALSE(timers.next().has_value());
}

TEST_CASE("timers: what goes off may set itself anew and waits again") {
  Timers<Owner*> timers;
  Owner owner{.id = 1};
  timers.set(owner.timer, at(5), &owner);
  int times = 0;
  timers.take_due(at(8), [&](Owner* one) {
    if (++times < 3) timers.set(one->timer, at(6 + times), one);
  });
  CHECK(times == 3);
  CHECK_FALSE(timers.next().has_value());
}

TEST_CASE("timers: whatever is set and dropped they agree with a sorted list") {
  std::mt19937_64 random(11);
  Timers<Owner*> timers;
  std::deque<Owner> owners;
  for (int id = 0; id < 300; ++id) owners.push_back({.id = id});
  std::map<std::pair<int64_t, int>, int> sorted;  // by time and order of setting
  std::map<int, std::pair<int64_t, int>> places;
  int64_t now = 0;
  int order = 0;
  for (int step = 0; step < 20'000; ++step) {
    Owner& owner = owners[random() % owners.size()];
    if (const auto known = places.find(owner.id); known != places.end()) {
      sorted.erase(known->second);
      places.erase(known);
      timers.drop(owner.timer);
    } else {
      // Many at the same instants, some in the past, some far away.
      const int64_t time = now - 20 + static_cast<int64_t>(random() % (step % 7 == 0 ? 5000 : 40)) / 5 * 5;
      timers.set(owner.timer, at(time), &owner);
      sorted.emplace(places[owner.id] = {time, order++}, owner.id);
    }
    if (random() % 10 == 0) now += static_cast<int64_t>(random() % 30);
    Ids expected;
    while (random() % 3 == 0 && !sorted.empty() && sorted.begin()->first.first <= now) {
      // take_due() takes all.
      while (!sorted.empty() && sorted.begin()->first.first <= now) {
        expected.push_back(sorted.begin()->second);
        places.erase(sorted.begin()->second);
        sorted.erase(sorted.begin());
      }
    }
    if (!expected.empty()) REQUIRE(fired(timers, at(now)) == expected);
    REQUIRE(timers.next() == (sorted.empty() ? std::nullopt : std::optional(at(sorted.begin()->first.first))));
  }
}

}  // namespace timers_test
