// A watch of LocalQueues on a fake API server that answers by script.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/codec/json.h"
#include "kube/watch.h"
#include "test/kube/client_fixture.h"

namespace muster::kube::test {

using nlohmann::json;

inline const Resource kQueues{"kueue.x-k8s.io", "v1beta2", "localqueues", true, "LocalQueue"};

// Writes down what it gets: "list", "+name", "=version", "ADDED name".
class RecordingSink final : public WatchSink {
 public:
  void on_list_started() override { note("list"); }
  void on_listed(const json& item) override {
    note("+" + std::string(string_at(item, {"metadata", "name"})));
    remember_kind(item);
  }
  void on_replaced(const std::string& version) override { note("=" + version); }
  void on_absent() override { note("absent"); }
  void on_caught_up(uint64_t term) override { note("current " + std::to_string(term)); }
  void on_event(WatchChange change, const json& item) override {
    constexpr const char* kWords[] = {"added ", "modified ", "deleted "};
    note(kWords[static_cast<int>(change)] + std::string(string_at(item, {"metadata", "name"})));
    remember_kind(item);
  }

  std::vector<std::string> notes() const {
    const MutexLock lock(mutex_);
    return notes_;
  }
  bool has(const std::string& text) const {
    const auto all = notes();
    return std::find(all.begin(), all.end(), text) != all.end();
  }
  std::string kind() const {
    const MutexLock lock(mutex_);
    return kind_;
  }
  size_t with_managed_fields() const {
    const MutexLock lock(mutex_);
    return with_managed_fields_;
  }

 private:
  void note(std::string text) {
    const MutexLock lock(mutex_);
    notes_.push_back(std::move(text));
  }
  void remember_kind(const json& item) {
    const MutexLock lock(mutex_);
    kind_ = std::string(string_at(item, {"apiVersion"})) + " " + std::string(string_at(item, {"kind"}));
    with_managed_fields_ += object_at(item, {"metadata"}).contains("managedFields") ? 1 : 0;
  }
  mutable Mutex mutex_;
  std::vector<std::string> notes_ GUARDED_BY(mutex_);
  std::string kind_ GUARDED_BY(mutex_);
  size_t with_managed_fields_ GUARDED_BY(mutex_) = 0;
};

inline json list_of(const std::string& version, std::vector<json> items) {
  return {{"kind", "List"}, {"metadata", {{"resourceVersion", version}}}, {"items", items}};
}

// What /apis and the group's document say, for requests that are no lists.
inline bool answers_discovery(const FakeRequest& request, bool served, FakeExchange& exchange) {
  json groups = json::array({{{"name", "apps"}, {"versions", {{{"version", "v1"}}}}}});
  if (served) groups.push_back({{"name", kQueues.group}, {"versions", {{{"version", kQueues.version}}}}});
  if (request.path == "/apis")
    exchange.respond(200, {{"kind", "APIGroupList"}, {"groups", groups}});
  else if (request.path == "/apis/" + api_version(kQueues))
    exchange.respond(200, {{"kind", "APIResourceList"}, {"resources", {{{"name", kQueues.plural}}}}});
  else
    return false;
  return true;
}

inline bool is_watch(const FakeRequest& request) {
  return request.query.contains("watch");
}

inline std::vector<FakeRequest> watches(const FakeApiServer& server) {
  auto all = server.requests();
  std::erase_if(all, [](const FakeRequest& request) { return !is_watch(request); });
  return all;
}

inline size_t lists(const FakeApiServer& server) {
  return server.requests().size() - watches(server).size();
}

// Answers lists with one object "a" at version 10, and watches as the test says.
using WatchScript = std::function<void(int attempt, const FakeRequest&, FakeExchange&)>;
inline FakeApiServer::Handler scripted(WatchScript script) {
  auto attempt = std::make_shared<std::atomic<int>>(0);
  return [script = std::move(script), attempt](const FakeRequest& request, FakeExchange& exchange) {
    if (!is_watch(request)) return exchange.respond(200, list_of("10", {object("a", "9")}));
    script((*attempt)++, request, exchange);
  };
}

struct TestWatch {
  explicit TestWatch(const FakeApiServer& server, Selection selection = {}, uint64_t term = 0, KindCheck check = {})
      : client(server),
        watch(*client.client, kQueues, std::move(selection), sink, client.observer, client.time.timing(), term,
              std::move(check)) {}
  TestClient client;
  RecordingSink sink;
  Watch watch;
};

}  // namespace muster::kube::test
