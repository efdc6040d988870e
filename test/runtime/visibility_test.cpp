// The aggregated visibility API in the process: who is believed, and what a flood does to reviews.
#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/serving.h"
#include "runtime/visibility/front_proxy_keeper.h"
#include "test/kube/virtual_time.h"
#include "test/server/test_server.h"

namespace visibility_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;
using muster::test::eventually;
using muster::test::TestAuthority;
using muster::test::TestCertificate;
using muster::test::TestClient;
using muster::test::Wire;
using nlohmann::json;

namespace {

json config_map(const std::string& front_proxy_ca, const std::string& client_ca,
                const std::string& names = R"(["front-proxy-client"])") {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", "extension-apiserver-authentication"}, {"namespace", "kube-system"}}},
          {"data",
           {{"client-ca-file", client_ca},
            {"requestheader-client-ca-file", front_proxy_ca},
            {"requestheader-allowed-names", names},
            {"requestheader-username-headers", R"(["X-Remote-User"])"},
            {"requestheader-group-headers", R"(["X-Remote-Group"])"}}}};
}

// Lists the ConfigMap and then tells each change that a test makes of it.
class FakeCluster final : public kube::KubeApi {
 public:
  explicit FakeCluster(json first) : listed_(std::move(first)) {}

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    CHECK(request.path == "/api/v1/namespaces/kube-system/configmaps");
    bool by_name = false;
    for (const auto& [key, value] : request.query)
      by_name = by_name || (key == "fieldSelector" && value == "metadata.name=extension-apiserver-authentication");
    CHECK(by_name);
    return json{{"kind", "ConfigMapList"},
                {"metadata", {{"resourceVersion", "1"}}},
                {"items", listed_.is_null() ? json::array() : json::array({listed_})}};
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink& on_bytes, std::stop_token stop) override {
    while (!stop.stop_requested()) {
      MutexLock lock(mutex_);
      while (!events_.empty()) {
        const std::string line = events_.front();
        events_.erase(events_.begin());
        if (!on_bytes(line)) return Done{};
      }
      changed_.wait_until(mutex_, std::chrono::steady_clock::now() + 10ms);
    }
    return Done{};
  }
  void tell(const char* type, json object) {
    MutexLock lock(mutex_);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    events_.push_back(json{{"type", type}, {"object", std::move(object)}}.dump() + "\n");
    changed_.notify_all();
  }

 private:
  const json listed_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> events_ GUARDED_BY(mutex_);
  int version_ GUARDED_BY(mutex_) = 1;
};

kube::Timing real_time() {
  return {system_clock(), kube::system_sleeper(), [] { return 0.5; }};
}

}  // namespace

TEST_CASE("front proxy: a ConfigMap that would let every client name anybody is of no use") {
  const std::string proxy = TestAuthority("front-proxy-ca").pem(), clients = TestAuthority("clients").pem();
  CHECK(read_front_proxy(config_map(proxy, clients)).ok());
  CHECK(read_front_proxy(config_map(proxy, clients, "[]")).ok());
  // One authority for both is safe only with names.
  CHECK(read_front_proxy(config_map(clients, clients)).ok());
  for (const std::string& both : {clients, proxy + clients, "a comment\n" + clients}) {
    for (const char* names : {"[]", ""}) {
      const auto refused = read_front_proxy(config_map(both, clients + TestAuthority("more").pem(), names));
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().message.find("every client of the cluster could impersonate every user") !=
            std::string::npos);
    }
  }
  CHECK_FALSE(read_front_proxy(config_map("no certificate", clients)).ok());
  CHECK_FALSE(read_front_proxy(config_map("", clients)).ok());
}

TEST_CASE("front proxy: the ConfigMap is followed, and what cannot be used takes the belief away") {
  const TestAuthority first("first"), second("second");
  FakeCluster cluster(config_map(first.pem(), ""));
  FrontProxyKeeper keeper(cluster, real_time());
  const auto trusts = [&](const std::string& pem) {
    return eventually([&] { return keeper.current() && keeper.current()->settings.client_ca == pem; });
  };
  CHECK(trusts(first.pem()));
  cluster.tell("MODIFIED", config_map(second.pem(), ""));
  CHECK(trusts(second.pem()));
  cluster.tell("MODIFIED", config_map("damaged", ""));
  CHECK(eventually([&] { return keeper.current() == nullptr; }));
  cluster.tell("MODIFIED", config_map(first.pem(), ""));
  CHECK(trusts(first.pem()));
  cluster.tell("DELETED", config_map(first.pem(), ""));
  cluster.tell("ADDED", config_map(second.pem(), ""));
  CHECK(trusts(second.pem()));
}

TEST_CASE("serving: a flood of questions to the visibility API delays no review") {
  const TestAuthority authority("front-proxy-ca");
  const TestCertificate own = authority.issue("front-proxy-client");
  const auto proxy = *read_front_proxy(config_map(authority.pem(), ""));
  std::atomic<bool> released{false};
  std::atomic<int> asked{0};
  auto made = Serving::make({.addresses = {"127.0.0.1:0", "0", "0", "127.0.0.1:0"},
                             .tls = {},
                             .workers = 1,
                             .rules = [] { return std::make_shared<const RuleSettings>(); },
                             .view = []() -> ClusterViewPtr { return std::make_shared<const ClusterView>(); },
                             .metrics_access = {},
                             .visibility = server::VisibilityApi{.front_proxy = [proxy] { return proxy; },
                                                                 // An API server that does not answer.
                                                                 .authorize =
                                                                     [&](const auto&, const auto&) {
                                                                       ++asked;
                                                                       released.wait(false);
                                                                       return server::AuthDecision::kForbidden;
                                                                     },
                                                                 .snapshot = [] { return nullptr; }}});
  REQUIRE(made.ok());
  Serving& serving = **made;
  const TestCertificate certificate = muster::test::make_certificate("muster");
  serving.set_certificate(certificate.chain_pem, certificate.key_pem, TimePoint{});
  REQUIRE(serving.start().ok());

  const std::string question = muster::test::get(
      "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads", "X-Remote-User: alice\r\n");
  std::vector<std::unique_ptr<TestClient>> flood;
  for (int i = 0; i < 40; ++i) {
    flood.push_back(std::make_unique<TestClient>(serving.visibility_port(), Wire::kTls, 0, &own));
    REQUIRE(flood.back()->send(question));
  }
  REQUIRE(eventually([&] { return asked >= 2; }));
  // The only worker of the webhooks is free, and a review needs no certificate.
  for (int i = 0; i < 20; ++i) {
    TestClient reviewer(serving.webhook_port());
    const auto answer = reviewer.exchange(muster::test::post("/validate", "{}"));
    REQUIRE(answer);
    CHECK(answer->status == 400);
  }
  CHECK(asked <= 4);
  released = true;
  released.notify_all();
  for (const auto& client : flood) CHECK(client->receive()->status == 403);
}

}  // namespace visibility_test
