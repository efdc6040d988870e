#include "commands/engine_loop.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <utility>

#include "api/watched_kinds.h"

using namespace muster;
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

json configuration(const char* kind) {
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", kind},
          {"metadata", {{"name", "muster"}, {"resourceVersion", "7"}}},
          {"webhooks", json::array()}};
}

}  // namespace

TEST_CASE("engine loop: the view appears when every kind was listed and follows events") {
  std::atomic<int> synced = 0;
  EngineLoop loop(
      {}, system_clock(),
      {.write = [](const PatchObject&) { return true; }, .bundles_seen = nullptr, .synced = [&] { ++synced; }});
  CHECK(loop.view() == nullptr);
  CHECK(synced == 0);
  for (const WatchedKind& kind : watched_kinds()) {
    loop.post(KindAbsent{std::string(kind.api_version), std::string(kind.kind)});
  }
  REQUIRE(eventually([&] { return loop.view() != nullptr; }));
  loop.post(ObjectChanged{{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "late"}}}}});
  CHECK(eventually([&] { return loop.view()->namespace_labels("late") != nullptr; }));
  CHECK(synced == 1);
}

TEST_CASE("engine loop: commands reach the writer and the loop ends while idle") {
  std::promise<std::string> written;
  {
    auto write = [&, done = false](const PatchObject& command) mutable {
      if (!std::exchange(done, true)) written.set_value(command.target);
      return true;
    };
    EngineLoop loop({}, system_clock(), {.write = write, .bundles_seen = nullptr, .synced = nullptr});
    for (const WatchedKind& kind : watched_kinds()) {
      loop.post(KindAbsent{std::string(kind.api_version), std::string(kind.kind)});
    }
    loop.post(CaBundleIssued{"-----BEGIN CERTIFICATE-----"});
    loop.post(ObjectChanged{configuration("MutatingWebhookConfiguration")});
    auto target = written.get_future();
    REQUIRE(target.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    CHECK(target.get() == "mutatingwebhookconfigurations/muster");
  }
}
