#include "runtime/engine_watch.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <thread>

#include "kinds/watched_kinds.h"
#include "runtime/engine_loop.h"
#include "test/runtime/loop_host.h"
#include "test/support/hand_clock.h"

namespace engine_watch_test {

using namespace muster;
using namespace muster::runtime;
using muster::test::TestHost;
using namespace std::chrono_literals;

namespace {

template <class F>
bool eventually(F done) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

}  // namespace

TEST_CASE("engine watch: a slow step is told with its object and its time") {
  test::HandClock clock;
  std::vector<std::string> told;
  EngineWatch watch(clock, [&](const std::string& step, Duration took) {
    told.push_back(step + " " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  });
  const ObjectKey key{&kJobs, "team", "train"};
  for (const auto took : {249ms, 250ms}) {
    const engine::WatchedStep step(&watch, "reconciling", &key);
    CHECK(watch.present().has_value());
    CHECK(watch.text() == "reconciling jobs/team/train");
    clock.time.monotonic += took;
  }
  CHECK_FALSE(watch.present().has_value());
  CHECK(watch.text().empty());
  CHECK(told == std::vector<std::string>{"reconciling jobs/team/train 250"});
}

TEST_CASE("engine watch: a stuck engine is told of, and that it goes on") {
  EngineWatch watch(system_clock(), nullptr);
  engine::EngineSettings settings;
  settings.watch = &watch;
  TestHost host;
  EngineLoop loop(std::move(settings), 1, system_clock(), host);
  for (const WatchedKind& kind : watched_kinds()) loop.post(engine::KindListed{.type = kind.type, .objects = {}});
  REQUIRE(eventually([&] { return loop.view() != nullptr; }));

  std::mutex mutex;
  std::string stuck_in;
  std::atomic<bool> stuck = false, goes_on = false;
  const EngineGuard guard(watch, system_clock(),
                          {.stuck =
                               [&](const std::string& step) {
                                 const std::lock_guard lock(mutex);
                                 stuck_in = step;
                                 stuck = true;
                               },
                           .goes_on = [&] { goes_on = true; }},
                          200ms, 10ms);
  std::promise<void> release;
  std::thread asker([&] { loop.ask([&](const engine::Engine&) { release.get_future().wait(); }); });
  CHECK(eventually([&] { return stuck.load(); }));
  {
    const std::lock_guard lock(mutex);
    CHECK(stuck_in == "answering a question");
  }
  CHECK_FALSE(goes_on);
  release.set_value();
  asker.join();
  CHECK(eventually([&] { return goes_on.load(); }));
}

TEST_CASE("engine loop: a question that breaks is not answered, and the loop goes on") {
  std::atomic<int> broke = 0;
  TestHost host;
  host.on_broke = [&](const engine::Breakage& breakage) { broke += breakage.what == "no answer" ? 1 : 100; };
  EngineLoop loop({}, 1, system_clock(), host);
  for (const WatchedKind& kind : watched_kinds()) loop.post(engine::KindListed{.type = kind.type, .objects = {}});
  REQUIRE(eventually([&] { return loop.view() != nullptr; }));
  CHECK_FALSE(loop.ask([](const engine::Engine&) { throw std::runtime_error("no answer"); }));
  CHECK(broke == 1);
  CHECK(loop.ask([](const engine::Engine&) {}));
}

}  // namespace engine_watch_test
