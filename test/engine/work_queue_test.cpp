#include "engine/work_queue.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace work_queue_test {

using namespace muster;
using namespace muster::engine;
using std::chrono::milliseconds;

namespace {

MonotonicTime at(int ms) {
  return MonotonicTime(milliseconds(ms));
}

ObjectKey key(const char* name) {
  return {&kJobs, "team-a", name};
}

std::vector<std::string> names(const std::vector<ObjectKey>& keys) {
  std::vector<std::string> found;
  for (const ObjectKey& one : keys) found.push_back(one.name);
  return found;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("work queue: keys come in the order in which they were wanted and each once") {
  WorkQueue queue;
  for (const char* name : {"b", "a", "b"}) queue.enqueue(key(name));
  CHECK(names(queue.take_ready(at(0))) == Names{"b", "a"});
  CHECK(queue.take_ready(at(0)).empty());
  CHECK_FALSE(queue.next().has_value());
}

TEST_CASE("work queue: namespaces take turns") {
  WorkQueue queue;
  for (const char* name : {"a", "b", "c"}) queue.enqueue(key(name));
  queue.enqueue({&kJobs, "team-b", "d"});
  queue.enqueue({&kClusterQueues, "", "e"});
  CHECK(names(queue.take_ready(at(0))) == Names{"a", "d", "e", "b", "c"});
}

TEST_CASE("work queue: a namespace whose keys may not be taken holds up no other one") {
  WorkQueue queue;
  for (const char* name : {"a", "b", "c"}) queue.enqueue(key(name));
  queue.enqueue({&kJobs, "team-b", "d"});
  const auto but_one_of_team_a = [](const WorkQueue::Taken& taken) {
    return taken.ns != "team-a" || taken.of_namespace < 1;
  };
  CHECK(names(queue.take_ready(at(0), but_one_of_team_a)) == Names{"a", "d"});
  CHECK(names(queue.take_ready(at(0), but_one_of_team_a)) == Names{"b"});
  CHECK(queue.take_ready(at(0), [](const WorkQueue::Taken&) { return false; }).empty());
  CHECK(names(queue.take_ready(at(0))) == Names{"c"});
}

TEST_CASE("work queue: keys of one name in many namespaces are told apart by their hashes") {
  std::set<size_t> hashes;
  for (int i = 0; i < 1000; ++i)
    hashes.insert(ObjectKeyHash{}({&kLocalQueues, "team-" + std::to_string(i), "default"}));
  CHECK(hashes.size() == 1000);
}

TEST_CASE("work queue: a timer wants its key when it is due and the earlier of two holds") {
  WorkQueue queue;
  queue.enqueue_at(key("a"), at(50));
  queue.enqueue_at(key("a"), at(20));
  queue.enqueue_at(key("a"), at(90));
  REQUIRE(queue.next() == at(20));
  CHECK(queue.take_ready(at(19)).empty());
  CHECK(names(queue.take_ready(at(20))) == Names{"a"});
  CHECK_FALSE(queue.next().has_value());
}

TEST_CASE("work queue: a key that is reconciled forgets its timer") {
  WorkQueue queue;
  queue.enqueue_at(key("a"), at(50));
  queue.enqueue(key("a"));
  CHECK(names(queue.take_ready(at(0))) == Names{"a"});
  CHECK_FALSE(queue.next().has_value());
}

TEST_CASE("work queue: a key waits for all of its writes and is then wanted again") {
  WorkQueue queue;
  queue.write_started(key("a"));
  queue.write_started(key("a"));
  queue.enqueue(key("a"));
  CHECK(queue.take_ready(at(0)).empty());
  queue.write_finished(key("a"), WorkQueue::Result::kDone, at(1));
  CHECK(queue.take_ready(at(1)).empty());
  queue.write_finished(key("a"), WorkQueue::Result::kDone, at(2));
  CHECK(names(queue.take_ready(at(2))) == Names{"a"});
}

TEST_CASE("work queue: after each failure in a row a key waits twice as long and at most a minute") {
  WorkQueue queue;
  MonotonicTime now = at(0);
  for (int failures = 1; failures <= 14; ++failures) {
    queue.write_started(key("a"));
    queue.write_finished(key("a"), WorkQueue::Result::kFailed, now);
    const Duration expected = failures <= 11 ? Duration(milliseconds(50 << (failures - 1))) : std::chrono::seconds(60);
    const MonotonicTime due = now + std::min<Duration>(expected, std::chrono::seconds(60));
    INFO("failure " << failures);
    CHECK(queue.take_ready(due - milliseconds(1)).empty());
    REQUIRE(queue.next() == due);
    CHECK(names(queue.take_ready(due)) == Names{"a"});
    now = due;
  }
  queue.write_started(key("a"));
  queue.write_finished(key("a"), WorkQueue::Result::kDone, now);
  CHECK(names(queue.take_ready(now)) == Names{"a"});
}

TEST_CASE("work queue: a key that rests is asked again when the rest is over whatever it wants") {
  WorkQueue queue;
  queue.enqueue(key("a"));
  CHECK(queue.take_ready(at(0)).size() == 1);
  queue.write_started(key("a"));
  queue.hold_until(key("a"), at(10));
  queue.write_finished(key("a"), WorkQueue::Result::kDone, at(1));
  queue.enqueue(key("a"));
  CHECK(queue.take_ready(at(2)).empty());
  CHECK(queue.next() == at(10));
  CHECK(queue.take_ready(at(10)).size() == 1);
  CHECK(queue.take_ready(at(11)).empty());
}

TEST_CASE("work queue: other keys do not wait for one that has failed") {
  WorkQueue queue;
  queue.write_started(key("a"));
  queue.write_finished(key("a"), WorkQueue::Result::kFailed, at(0));
  queue.enqueue(key("b"));
  CHECK(names(queue.take_ready(at(0))) == Names{"b"});
}

TEST_CASE("work queue: what is outdated waits for a change or a second") {
  WorkQueue queue;
  queue.write_started(key("a"));
  queue.write_finished(key("a"), WorkQueue::Result::kOutdated, at(0));
  CHECK(queue.take_ready(at(900)).empty());
  SUBCASE("the watch shows a newer version") {
    queue.enqueue(key("a"));
    CHECK(queue.take_ready(at(901)).size() == 1);
  }
  SUBCASE("nothing comes") {
    CHECK(queue.take_ready(at(999)).empty());
    CHECK(queue.take_ready(at(1000)).size() == 1);
  }
}

}  // namespace work_queue_test
