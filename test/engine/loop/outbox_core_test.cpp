#include "engine/loop/outbox_core.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace outbox_core_test {

using namespace muster;
using namespace muster::engine;
using namespace std::chrono_literals;

namespace {

MonotonicTime at(Duration time) {
  return MonotonicTime(1h) + time;
}

Command command(uint64_t id, bool needs_leadership = true, const std::string& name = "train") {
  return {id, {.verb = reconcilers::Verb::kPatch, .target = {&kJobs, "team-a", name}}, needs_leadership};
}

Command command_in(const std::string& ns, uint64_t id, const ResourceType& type = kJobs) {
  return {id, {.verb = reconcilers::Verb::kPatch, .target = {&type, ns, "train"}}};
}

// All that can be taken now.
std::vector<uint64_t> take_all(OutboxCore& outbox) {
  std::vector<uint64_t> ids;
  while (const auto taken = outbox.take()) ids.push_back(taken->id);
  return ids;
}

using Ids = std::vector<uint64_t>;

}  // namespace

TEST_CASE("outbox core: first come, first sent, and no more at once than there are connections") {
  OutboxCore outbox(2);
  for (uint64_t id = 1; id <= 4; ++id) outbox.post(command(id));
  CHECK(take_all(outbox) == Ids{1, 2});
  CHECK(outbox.under_way() == 2);
  CHECK(outbox.waiting() == 2);
  CHECK(outbox.finish(2));
  CHECK(take_all(outbox) == Ids{3});
  CHECK(outbox.finish(1));
  CHECK(outbox.finish(3));
  CHECK(take_all(outbox) == Ids{4});
  CHECK(outbox.finish(4));
  CHECK(outbox.under_way() == 0);
}

TEST_CASE("outbox core: in any order of answers each write begins once, after those that were posted before it") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const size_t connections = 1 + random() % 4;
    OutboxCore outbox(connections);
    Ids begun, under_way;
    // By namespace, of Workloads or not; last those that need no leadership.
    std::array<Ids, 7> in_order;
    std::map<uint64_t, size_t> place;
    uint64_t posted = 0;
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 == 0) {
        const size_t line = random() % in_order.size();
        Command next = command_in("team-" + std::to_string(line / 2), ++posted, line % 2 == 0 ? kJobs : kWorkloads);
        next.needs_leadership = line != 6;
        place[posted] = line;
        outbox.post(std::move(next));
      }
      if (const auto taken = outbox.take()) {
        begun.push_back(taken->id);
        in_order[place[taken->id]].push_back(taken->id);
        under_way.push_back(taken->id);
      }
      CHECK(outbox.under_way() == under_way.size());
      CHECK(under_way.size() <= connections);
      if (!under_way.empty() && random() % 2 == 0) {
        const auto answered = under_way.begin() + static_cast<std::ptrdiff_t>(random() % under_way.size());
        CHECK(outbox.finish(*answered));
        under_way.erase(answered);
      }
    }
    for (const Ids& ids : in_order) CHECK(std::is_sorted(ids.begin(), ids.end()));
    CHECK(std::set(begun.begin(), begun.end()).size() == begun.size());
    CHECK(begun.size() + outbox.waiting() == posted);
  }
}

TEST_CASE("outbox core: namespaces take turns, and so do the Workloads of each and what has no namespace") {
  OutboxCore outbox(100);
  for (uint64_t id = 1; id <= 6; ++id) outbox.post(command_in("noisy", id));
  outbox.post(command_in("quiet", 7));
  outbox.post(command_in("quiet", 8));
  outbox.post(command_in("noisy", 9, kWorkloads));
  outbox.post(command_in("", 10, kClusterQueues));
  CHECK(take_all(outbox) == Ids{1, 7, 9, 10, 2, 8, 3, 4, 5, 6});
}

TEST_CASE("outbox core: a user waits for one write of each other one, however many there are") {
  OutboxCore outbox(1);
  for (uint64_t id = 1; id <= 10'000; ++id) outbox.post(command_in("noisy", id));
  REQUIRE(outbox.take());
  outbox.post(command_in("quiet", 10'001));
  CHECK(outbox.finish(1));
  REQUIRE(outbox.take()->id == 2);
  CHECK(outbox.finish(2));
  CHECK(outbox.take()->id == 10'001);
}

TEST_CASE("outbox core: what needs no leadership is sent first") {
  OutboxCore outbox(10);
  outbox.post(command(1));
  outbox.post(command(2, false));
  CHECK(take_all(outbox) == Ids{2, 1});
}

TEST_CASE("outbox core: what needs leadership is sent until the lease runs out, and the rest at any time") {
  struct Row {
    const char* name;
    bool needs_leadership;
    std::optional<MonotonicTime> leads_until;
    std::optional<MonotonicTime> expected;
  };
  const Row rows[] = {
      {"a leader", true, at(10s), at(10s)},
      {"a leader at the end of its lease", true, at(0s), std::nullopt},
      {"a leader whose lease has run out", true, at(-1ns), std::nullopt},
      {"a follower", true, std::nullopt, std::nullopt},
      {"a write of every replica, by a follower", false, std::nullopt, MonotonicTime::max()},
      {"a write of every replica, by a leader", false, at(10s), MonotonicTime::max()},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    CHECK(OutboxCore::can_send_until(command(1, row.needs_leadership), row.leads_until, at(0s)) == row.expected);
  }
}

TEST_CASE("outbox core: the end of leadership drops what waits and needs it, and names what is under way") {
  OutboxCore outbox(3);
  outbox.post(command(1));
  outbox.post(command(2, false));
  outbox.post(command(3));
  outbox.post(command(4));
  outbox.post(command(5, false));
  outbox.post(command(6));
  REQUIRE(take_all(outbox) == Ids{2, 5, 1});
  CHECK(outbox.leader_writes_under_way() == 1);
  outbox.post(command(7, false));
  const auto ended = outbox.end_leadership();
  CHECK(ended.dropped == Ids{3, 4, 6});
  CHECK(ended.under_way == Ids{1});
  // A request has its connection until it has ended.
  CHECK(take_all(outbox).empty());
  CHECK(outbox.leader_writes_under_way() == 1);
  CHECK(outbox.finish(1));
  CHECK(outbox.leader_writes_under_way() == 0);
  CHECK(take_all(outbox) == Ids{7});
  CHECK(outbox.leader_writes_under_way() == 0);
}

TEST_CASE("outbox core: what the engine still hands out after the end of leadership is taken, to be answered unsent") {
  OutboxCore outbox(1);
  outbox.end_leadership();
  outbox.post(command(9));
  const auto taken = outbox.take();
  REQUIRE(taken);
  CHECK(outbox.leader_writes_under_way() == 1);
  CHECK_FALSE(OutboxCore::can_send_until(*taken, std::nullopt, at(0s)));
  CHECK(outbox.finish(9));
  CHECK(outbox.leader_writes_under_way() == 0);
}

TEST_CASE("outbox core: an answer counts once, and late ones count no more") {
  OutboxCore outbox(1);
  outbox.post(command(1));
  CHECK_FALSE(outbox.finish(1));  // it was not sent
  REQUIRE(outbox.take());
  CHECK(outbox.is_under_way(1));
  CHECK(outbox.end_leadership().under_way == Ids{1});
  CHECK(outbox.finish(1));  // its request was ended
  CHECK_FALSE(outbox.is_under_way(1));
  CHECK_FALSE(outbox.finish(1));  // and then the API server answered
  outbox.post(command(2));
  CHECK(take_all(outbox) == Ids{2});
  CHECK_FALSE(outbox.finish(1));
  CHECK(outbox.under_way() == 1);
}

TEST_CASE("outbox core: at the end of the process nothing more is sent, and what is under way ends") {
  OutboxCore outbox(1);
  outbox.post(command(1, false));
  outbox.post(command(2, false));
  REQUIRE(outbox.take());
  outbox.stop();
  CHECK(outbox.stopped());
  CHECK(outbox.waiting() == 0);
  CHECK(outbox.is_under_way(1));
  CHECK(outbox.finish(1));
  outbox.post(command(3, false));
  CHECK_FALSE(outbox.take());
}

}  // namespace outbox_core_test
