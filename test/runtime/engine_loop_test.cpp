#include "runtime/engine_loop.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kinds/watched_kinds.h"
#include "test/runtime/loop_host.h"

namespace engine_loop_test {

using namespace muster;
using namespace muster::runtime;
using muster::test::TestHost;
using nlohmann::json;

namespace {

// Waits, with a deadline, until `done` holds.
template <class F>
bool eventually(F done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TypedObject configuration() {
  return read_object(kMutatingWebhookConfigurations, {{"apiVersion", "admissionregistration.k8s.io/v1"},
                                                      {"kind", "MutatingWebhookConfiguration"},
                                                      {"metadata", {{"name", "muster"}, {"resourceVersion", "7"}}},
                                                      {"webhooks", json::array()}});
}

}  // namespace

TEST_CASE("engine loop: the view appears when every kind was listed and follows events") {
  std::atomic<int> synced = 0;
  TestHost host;
  host.on_report = [&](const engine::LoopActions& actions) { synced += actions.synced_now ? 1 : 0; };
  EngineLoop loop({}, 1, system_clock(), host);
  CHECK(loop.view() == nullptr);
  CHECK(synced == 0);
  for (const WatchedKind& kind : watched_kinds()) {
    loop.post(engine::KindListed{kind.type, {}});
  }
  REQUIRE(eventually([&] { return loop.view() != nullptr; }));
  loop.post(engine::ObjectChanged{
      read_object(kNamespaces, {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "late"}}}})});
  CHECK(eventually([&] { return loop.view()->namespace_labels("late") != nullptr; }));
  CHECK(synced == 1);
}

TEST_CASE("engine loop: commands reach the writer and the loop ends while idle") {
  std::promise<std::string> written;
  {
    TestHost host;
    host.on_write = [&, told = false](const engine::Command& command, MonotonicTime,
                                      const std::stop_token&) mutable -> engine::WriteFinished {
      if (!std::exchange(told, true)) written.set_value(to_text(command.write.target));
      return {command.id, reconcilers::WriteOutcome::kDone};
    };
    EngineLoop loop({}, 1, system_clock(), host);
    for (const WatchedKind& kind : watched_kinds()) {
      loop.post(engine::KindListed{kind.type, {}});
    }
    loop.post(engine::CaBundleIssued{"-----BEGIN CERTIFICATE-----"});
    loop.post(engine::ObjectChanged{configuration()});
    auto target = written.get_future();
    REQUIRE(target.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    CHECK(target.get() == "mutatingwebhookconfigurations/muster");
  }
}

TEST_CASE("engine loop: a question is asked of the engine as it is and never before the first lists") {
  TestHost host;
  EngineLoop loop({}, 1, system_clock(), host);
  CHECK_FALSE(loop.ask([](const engine::Engine&) { FAIL_CHECK("it was asked"); }));
  for (const WatchedKind& kind : watched_kinds()) loop.post(engine::KindListed{kind.type, {}});
  loop.post(engine::ObjectChanged{
      read_object(kNamespaces, {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "here"}}}})});
  bool found = false;
  // What was posted before is in the answer.
  CHECK(
      loop.ask([&](const engine::Engine& engine) { found = engine.state().find(kNamespaces, "", "here") != nullptr; }));
  CHECK(found);
}

TEST_CASE("engine loop: questions from many threads are all answered") {
  TestHost host;
  EngineLoop loop({}, 1, system_clock(), host);
  for (const WatchedKind& kind : watched_kinds()) loop.post(engine::KindListed{kind.type, {}});
  int answers = 0;  // of the engine's thread alone
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> askers;
    for (int i = 0; i < 8; ++i) {
      askers.emplace_back([&] {
        for (int n = 0; n < 50; ++n) answered += loop.ask([&](const engine::Engine&) { ++answers; });
      });
    }
  }
  CHECK(answered == 400);
  CHECK(answers == 400);
}

TEST_CASE("engine loop: what happened is handed out to be counted and an attempt bears its time") {
  std::promise<Measurement> attempted;
  bool told = false;  // of the engine's thread
  TestHost host;
  host.on_report = [&](const engine::LoopActions& actions) {
    for (const Measurement& measurement : actions.commands.measurements) {
      const bool attempt = measurement.what == Measured::kAdmissionAttempt;
      if (attempt && !std::exchange(told, true)) attempted.set_value(measurement);
    }
  };
  EngineLoop loop({}, 1, system_clock(), host);
  const auto post = [&](const ResourceType& type, const char* ns, const char* name, json spec) {
    json object = {{"metadata", {{"name", name}, {"resourceVersion", "7"}}}, {"spec", std::move(spec)}};
    if (*ns != '\0') object["metadata"]["namespace"] = ns;
    loop.post(engine::ObjectChanged{read_object(type, object)});
  };
  loop.begin_leadership(1);
  for (const WatchedKind& kind : watched_kinds()) loop.post(engine::KindCaughtUp{kind.type, 1});
  post(kNamespaces, "", "team", json::object());
  post(kClusterQueues, "", "cq", {{"namespaceSelector", json::object()}});
  post(kLocalQueues, "team", "lq", {{"clusterQueue", "cq"}});
  post(kWorkloads, "team", "wl", {{"queueName", "lq"}, {"podSets", json::array()}});
  for (const WatchedKind& kind : watched_kinds()) {
    if (kind.type->group != kWorkloads.group && kind.type->kind != kNamespaces.kind)
      loop.post(engine::KindListed{kind.type, {}});
  }
  for (const ResourceType* type : {&kCohorts, &kResourceFlavors, &kAdmissionChecks, &kWorkloadPriorityClasses})
    loop.post(engine::KindListed{type, {}});
  for (const ResourceType* type : {&kNamespaces, &kClusterQueues, &kLocalQueues, &kWorkloads})
    loop.post(engine::KindListed{type, {}, 1});
  auto attempt = attempted.get_future();
  REQUIRE(attempt.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
  CHECK(attempt.get().seconds > 0);
}

TEST_CASE("engine loop: a watch waits while too much waits to be taken in") {
  std::atomic<bool> busy = false, may_go_on = false;
  TestHost host;
  host.on_report = [&](const engine::LoopActions& actions) {
    if (!actions.synced_now) return;
    busy = true;
    while (!may_go_on) std::this_thread::yield();
  };
  EngineLoop loop({}, 1, system_clock(), host);
  for (const WatchedKind& kind : watched_kinds()) loop.post(engine::KindListed{kind.type, {}});
  REQUIRE(eventually([&] { return busy.load(); }));
  std::atomic<size_t> posted = 0;
  constexpr size_t kAll = 3 * engine::Inbox::kMostWaiting;
  std::jthread watch([&] {
    for (size_t i = 0; i < kAll; ++i) {
      loop.post_when_room(engine::ObjectChanged{read_object(
          kNamespaces, {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", std::to_string(i)}}}})});
      ++posted;
    }
  });
  REQUIRE(eventually([&] { return posted >= engine::Inbox::kMostWaiting; }));
  // Others are not held up.
  loop.post(engine::Tick{});
  CHECK(posted <= engine::Inbox::kMostWaiting);
  may_go_on = true;
  CHECK(eventually([&] { return posted == kAll; }));
  CHECK(eventually([&] { return loop.view() && loop.view()->namespace_labels(std::to_string(kAll - 1)) != nullptr; }));
}

TEST_CASE("engine loop: which kinds are missing is told when that changes") {
  std::mutex mutex;
  std::vector<std::string> told;
  TestHost host;
  host.on_report = [&](const engine::LoopActions& actions) {
    if (!actions.missing_kinds) return;
    const std::lock_guard lock(mutex);
    std::string text = actions.view != nullptr ? "synced:" : "not synced:";
    for (const std::string& kind : *actions.missing_kinds) text += " " + kind;
    told.push_back(text);
  };
  EngineLoop loop({}, 1, system_clock(), host);
  const auto tells = [&](size_t count, const std::string& text) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return told.size() == count && told.back() == text;
    });
  };
  loop.post(engine::KindAbsent{&kWorkloads});
  CHECK(tells(1, "not synced: workloads.kueue.x-k8s.io"));
  for (const WatchedKind& kind : watched_kinds()) loop.post(engine::KindListed{kind.type, {}});
  CHECK(tells(2, "synced:"));
  loop.post(engine::KindAbsent{&kWorkloads});
  loop.post(engine::KindAbsent{&kNamespaces});
  CHECK(eventually([&] {
    const std::lock_guard lock(mutex);
    return told.back() == "synced: namespaces workloads.kueue.x-k8s.io";
  }));
}

TEST_CASE("engine loop: webhook configurations that are missing are told of, and that they are there again") {
  std::mutex mutex;
  std::vector<size_t> told;
  const auto told_is = [&](std::vector<size_t> expected) {
    return eventually([&] {
      const std::scoped_lock lock(mutex);
      return told == expected;
    });
  };
  TestHost host;
  host.on_report = [&](const engine::LoopActions& actions) {
    if (!actions.webhooks_missing) return;
    const std::scoped_lock lock(mutex);
    told.push_back(actions.webhooks_missing->size());
  };
  EngineLoop loop({}, 1, system_clock(), host);
  loop.post(engine::KindListed{&kMutatingWebhookConfigurations, {configuration()}});
  loop.post(engine::ObjectRemoved{configuration()});
  CHECK(told_is({1}));
  loop.post(engine::ObjectChanged{configuration()});
  CHECK(told_is({1, 0}));
}

TEST_CASE("engine loop: after its end nothing is called and nothing is answered") {
  std::atomic<int> calls = 0;
  TestHost host;
  host.on_report = [&](const engine::LoopActions&) { ++calls; };
  EngineLoop loop({}, 1, system_clock(), host);
  loop.stop();
  loop.stop();
  for (const WatchedKind& kind : watched_kinds()) loop.post_when_room(engine::KindListed{kind.type, {}});
  loop.post(engine::ObjectChanged{configuration()});
  CHECK_FALSE(loop.ask([](const engine::Engine&) { FAIL_CHECK("it was asked"); }));
  CHECK(loop.view() == nullptr);
  CHECK(calls == 0);
}

}  // namespace engine_loop_test
