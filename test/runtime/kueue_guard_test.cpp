#include "runtime/kueue/kueue_guard.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/kube/virtual_time.h"

namespace kueue_guard_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// A cluster with Leases and webhook configurations, in which the accounts of some namespaces can admit.
class FakeCluster final : public kube::KubeApi {
 public:
  explicit FakeCluster(const Clock& clock) : clock_(clock) {}

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    if (ill) return fail_with(kube::StatusError{503, "ServiceUnavailable", "ill", {}, std::nullopt, ""});
    if (request.path.ends_with("/subjectaccessreviews")) {
      ++reviews;
      const json review = json::parse(request.body);
      CHECK(
          review["spec"]["resourceAttributes"] ==
          json{{"verb", "update"}, {"group", "kueue.x-k8s.io"}, {"resource", "workloads"}, {"subresource", "status"}});
      return json{{"status", {{"allowed", review["spec"]["user"] == admitter}}}};
    }
    if (request.path.find("webhookconfigurations/") != std::string::npos) {
      if (!webhooks.is_null() &&
          request.path.ends_with("mutatingwebhookconfigurations/kueue-mutating-webhook-configuration"))
        return webhooks;
      return fail_with(kube::StatusError{404, "NotFound", "none", {}, std::nullopt, "it"});
    }
    CHECK(request.path == "/apis/coordination.k8s.io/v1/leases");
    CHECK(request.query.front() ==
          std::pair<std::string, std::string>("fieldSelector", "metadata.name=c1f6bfd2.kueue.x-k8s.io"));
    if (renews) lease["spec"]["renewTime"] = std::to_string(clock_.now().monotonic.time_since_epoch().count());
    return json{{"items", lease.is_null() ? json::array() : json::array({lease})}};
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return Done{};
  }

  static json lease_of(const std::string& ns, const std::string& holder) {
    return {{"metadata", {{"namespace", ns}}},
            {"spec", {{"holderIdentity", holder}, {"leaseDurationSeconds", 15}, {"renewTime", "t"}}}};
  }

  bool ill = false, renews = false;
  json lease, webhooks;
  std::string admitter = "system:serviceaccount:kueue-system:kueue-controller-manager";
  int reviews = 0;

 private:
  const Clock& clock_;
};

constexpr const char* kKueuesHolder = "kueue-controller-manager-5d9c7b6f-x2v4w_8a0f3c1e-1111-2222-3333-444455556666";

// What the guard says, in order, each once in a row: "wait" or "go on".
struct Told {
  std::vector<std::string> words;
  int times = 0;
  void say(const std::string& word) {
    ++times;
    if (words.empty() || words.back() != word) words.push_back(word);
  }
};

}  // namespace

TEST_CASE("kueue guard: muster waits while Kueue lives and goes on by itself when it is gone") {
  kube::test::VirtualTime time;
  FakeCluster cluster(time);
  cluster.lease = FakeCluster::lease_of("kueue-system", kKueuesHolder);
  cluster.renews = true;
  Told told;
  std::stop_source stop;
  run_kueue_guard(cluster, time.timing(),
                  {.wait =
                       [&](const std::string& why) {
                         CHECK(why.find("kueue-system") != std::string::npos);
                         told.say("wait");
                         if (told.times == 10) cluster.renews = false;         // it is scaled to none
                         if (told.words.size() == 3) cluster.lease = nullptr;  // and removed
                       },
                   .go_on =
                       [&] {
                         told.say("go on");
                         if (told.words.size() == 2) cluster.renews = true;  // it comes back
                         if (told.words.size() == 4) stop.request_stop();
                       }},
                  stop.get_token());
  CHECK(told.words == std::vector<std::string>{"wait", "go on", "wait", "go on"});
  CHECK(cluster.reviews < 5);
}

TEST_CASE("kueue guard: a Lease of Kueue's name that anybody can make does not stop muster") {
  kube::test::VirtualTime time;
  struct Row {
    const char *ns, *holder;
  };
  for (const Row& row : {Row{"team-a", kKueuesHolder}, Row{"kueue-system", "muster-1_0123456789abcdef0123456789abcdef"},
                         Row{"kueue-system", ""}}) {
    CAPTURE(std::string(row.holder));
    FakeCluster cluster(time);
    cluster.lease = FakeCluster::lease_of(row.ns, row.holder);
    cluster.renews = true;
    KueueTraceReader reader(cluster);
    const auto traces = reader.read(time.now().monotonic, {});
    REQUIRE(traces.ok());
    CHECK(traces->leases.empty());
  }
}

TEST_CASE("kueue guard: a Helm release of another name is known by its pod's account") {
  kube::test::VirtualTime time;
  FakeCluster cluster(time);
  cluster.admitter = "system:serviceaccount:batch:prod-kueue-controller-manager";
  cluster.lease = FakeCluster::lease_of("batch", "prod-kueue-controller-manager-5d9c7b6f-x2v4w_u");
  KueueTraceReader reader(cluster);
  const auto traces = reader.read(time.now().monotonic, {});
  REQUIRE(traces.ok());
  CHECK(traces->leases.size() == 1);
}

TEST_CASE("kueue guard: webhook configurations of Kueue count unless they are empty") {
  kube::test::VirtualTime time;
  FakeCluster cluster(time);
  KueueTraceReader reader(cluster);
  cluster.webhooks = {{"webhooks", json::array()}};
  CHECK(reader.read(time.now().monotonic, {})->webhooks.empty());
  cluster.webhooks = {{"webhooks", {{{"name", "mjob.kb.io"}}}}};
  CHECK(reader.read(time.now().monotonic, {})->webhooks ==
        std::vector<std::string>{"kueue-mutating-webhook-configuration"});
}

TEST_CASE("kueue guard: what an ill API server hides keeps muster waiting at the start and changes nothing later") {
  kube::test::VirtualTime time;
  FakeCluster cluster(time);
  cluster.ill = true;
  Told told;
  std::stop_source stop;
  const auto timing = time.timing();
  const MonotonicTime start = time.now().monotonic;
  run_kueue_guard(cluster, timing,
                  {.wait =
                       [&](const std::string& why) {
                         CHECK(why.find("not known") != std::string::npos);
                         told.say("wait");
                         if (time.now().monotonic - start > 10min) cluster.ill = false;
                       },
                   .go_on =
                       [&] {
                         told.say("go on");
                         cluster.ill = true;
                         stop.request_stop();
                       }},
                  stop.get_token());
  CHECK(told.words == std::vector<std::string>{"wait", "go on"});
}

}  // namespace kueue_guard_test
