// A client of a fake API server, and what its observer got.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kube/client.h"
#include "test/kube/fake_api_server.h"
#include "test/kube/virtual_time.h"

namespace muster::kube::test {

class RecordingObserver final : public KubeObserver {
 public:
  void request_done(std::string_view method, std::string_view host, std::string_view code, Duration) override {
    const MutexLock lock(mutex_);
    ++done_[std::string(method) + " " + std::string(host) + " " + std::string(code)];
  }
  void retrying(std::string_view, std::string_view, const std::string& why, Duration) override {
    note("retry: " + why);
  }
  void warned(std::string_view method, std::string_view, const std::string& text) override {
    note("warned: " + std::string(method) + ": " + text);
  }
  void throttled(std::string_view, std::string_view, Duration) override { note("throttled"); }
  void credentials_stale(const std::string& why) override { note("stale: " + why); }
  void listing(const Resource&, const std::string& why) override { note("list: " + why); }
  void reconnecting(const Resource&, const std::string& why, Duration) override { note("reconnect: " + why); }
  void absent(const Resource&) override { note("absent"); }
  void objected(const Resource&, const std::string& why) override { note("objected: " + why); }
  void forbidden(const Resource&, const std::string& message) override { note("forbidden: " + message); }
  void lease_failed(const std::string& lease, const std::string& why) override { note("lease: " + lease + ": " + why); }
  void event_done(EventOutcome outcome, const std::string& why) override {
    note("event: " + std::string(label_of(outcome)) + (why.empty() ? "" : ": " + why));
  }

  std::vector<std::string> notes() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return notes_;
  }
  // Requests of this "METHOD host:port code" that have been answered, or not ("<error>").
  size_t done(const std::string& request) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = done_.find(request);
    return found == done_.end() ? 0 : found->second;
  }
  size_t count(std::string_view prefix) const {
    size_t found = 0;
    for (const auto& text : notes()) found += text.starts_with(prefix) ? 1 : 0;
    return found;
  }

 private:
  void note(std::string text) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    notes_.push_back(std::move(text));
  }
  mutable Mutex mutex_;
  std::vector<std::string> notes_ GUARDED_BY(mutex_);
  std::map<std::string, size_t> done_ GUARDED_BY(mutex_);
};

inline ClusterAccess access_to(const FakeApiServer& server) {
  ClusterAccess access;
  access.source = "the test";
  access.server = server.url();
  return access;
}

inline ClientOptions test_options() {
  ClientOptions options;
  options.user_agent = "muster/test";
  return options;
}

inline std::unique_ptr<KubeClient> make_client(ClusterAccess access, ClientOptions options, Timing timing,
                                               KubeObserver& observer) {
  auto client = KubeClient::make(std::move(access), std::move(options), std::move(timing), observer);
  REQUIRE_MESSAGE(client.ok(), client.error().message);
  return std::move(*client);
}

// A client that runs in virtual time.
struct TestClient {
  explicit TestClient(const FakeApiServer& server, ClientOptions options = test_options())
      : client(make_client(access_to(server), std::move(options), time.timing(), observer)) {}
  KubeClient* operator->() const { return client.get(); }

  VirtualTime time;
  RecordingObserver observer;
  std::unique_ptr<KubeClient> client;
};

inline nlohmann::json status_body(int code, const std::string& reason, const std::string& message) {
  nlohmann::json body = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                         {"code", code},     {"reason", reason},   {"message", message}};
  if (reason == "NotFound") body["details"] = {{"name", "a"}};
  return body;
}

inline nlohmann::json object(const std::string& name, const std::string& version) {
  return {{"metadata", {{"name", name}, {"resourceVersion", version}}}};
}

inline const Resource kJobs{"batch", "v1", "jobs", true, "Job"};

// Answers every request with an object of its path.
inline const FakeApiServer::Handler kEcho = [](const FakeRequest& request, FakeExchange& exchange) {
  exchange.respond(200, object(request.path, "1"));
};

}  // namespace muster::kube::test
