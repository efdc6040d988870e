// muster status: which parts of an installation are missing, and the cause after a wait.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "api/meta/time.h"
#include "commands/moving/moving_commands.h"
#include "test/commands/moving/fake_cluster.h"

namespace status_test {

using namespace muster;
using namespace muster::commands;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr const char* kDeployment = "/apis/apps/v1/namespaces/muster-system/deployments/muster";
constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/c1f6bfd2.kueue.x-k8s.io";
constexpr const char* kPod = "/api/v1/namespaces/muster-system/pods/muster-a";
const std::string kHooks = "/apis/admissionregistration.k8s.io/v1/";

// Time passes only while the command sleeps, and something can be done at each wake.
class Hands final : public Clock, public kube::Sleeper {
 public:
  Now now() const override { return now_; }
  void sleep(Duration duration, std::stop_token) override {
    now_.wall += duration;
    now_.monotonic += duration;
    ++slept;
    if (at_wake) at_wake(slept);
  }
  int slept = 0;
  std::function<void(int slept)> at_wake;

 private:
  Now now_{to_time_point(*parse_rfc3339("2026-06-01T12:00:00Z")), MonotonicTime{}};
};

// A cluster with a muster that works.
struct Installed {
  Installed() {
    cluster.put(
        kDeployment,
        {{"metadata", {{"generation", 2}}},
         {"spec", {{"replicas", 2}}},
         {"status", {{"observedGeneration", 2}, {"replicas", 2}, {"updatedReplicas", 2}, {"readyReplicas", 2}}}});
    cluster.put(kLease, {{"spec",
                          {{"holderIdentity", "muster-a_0123456789abcdef0123456789abcdef"},
                           {"leaseDurationSeconds", 15},
                           {"renewTime", "2026-06-01T11:59:58.000000Z"}}}});
    for (const char* kind : {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"})
      cluster.put(kHooks + kind + "/muster", {{"webhooks", {{{"name", "a"}}}}});
    cluster.review = [](const json&) { return json{{"metadata", {{"creationTimestamp", "2026-06-01T12:00:00Z"}}}}; };
    cluster.dry_run = [](const json& object) -> kube::KubeApi::Answer {
      json made = object;
      made["metadata"]["finalizers"] = {"kueue.x-k8s.io/resource-in-use"};
      return made;
    };
  }
  json& at(const std::string& path) {
    REQUIRE(cluster.objects.contains(path));
    return cluster.objects[path];
  }
  int run(bool wait = false) {
    std::istringstream in;
    out.str("");
    StatusFlags flags;
    flags.wait = wait;
    flags.timeout = 30s;
    return status_of(cluster, flags, {hands, hands, [] { return 0.5; }}, {in, out, err});
  }

  test::FakeCluster cluster;
  Hands hands;
  std::ostringstream out, err;
};

kube::KubeApi::Answer refuse(int code, const char* reason, const char* message) {
  return fail_with(kube::StatusError{code, reason, message, {}, std::nullopt, ""});
}

}  // namespace

TEST_CASE("status: muster works, and nothing is written for the answer") {
  Installed muster;
  CHECK(muster.run() == 0);
  CHECK(muster.out.str() ==
        "muster works in namespace muster-system: 2 of 2 replicas are ready, the webhooks answer, muster-a leads\n");
  CHECK(muster.cluster.writes == 0);
  CHECK(muster.hands.slept == 0);
}

TEST_CASE("status: each missing part is a line") {
  struct Row {
    std::function<void(Installed&)> harm;
    const char* line;
  };
  const auto counts = [](const char* field, int count) {
    return [=](Installed& m) { m.at(kDeployment)["status"][field] = count; };
  };
  const Row rows[] = {
      {[](Installed& m) { m.cluster.objects.erase(kDeployment); },
       "not installed: there is no Deployment muster in namespace muster-system"},
      {[](Installed& m) { m.at(kDeployment)["spec"]["replicas"] = 0; }, "not ready: muster has no replica"},
      {counts("readyReplicas", 0), "not ready: 0 of 2 replicas are ready"},
      {counts("readyReplicas", 1), "not ready: 1 of 2 replicas are ready"},
      {counts("updatedReplicas", 1), "not ready: 1 of 2 replicas have the present version"},
      {counts("replicas", 3), "not ready: a replica of the version before has not ended"},
      {counts("observedGeneration", 1), "not ready: the Deployment has changed"},
      {[](Installed& m) { m.cluster.objects.erase(kHooks + "validatingwebhookconfigurations/muster"); },
       "no webhooks: there is no ValidatingWebhookConfiguration muster"},
      {[](Installed& m) { m.at(kHooks + "mutatingwebhookconfigurations/muster")["webhooks"] = json::array(); },
       "no webhooks: there is no MutatingWebhookConfiguration muster"},
      {[](Installed& m) { m.cluster.dry_run = nullptr; },
       "webhooks do not answer: the API server did not send a dry run of a ResourceFlavor to muster"},
      {[](Installed& m) {
         m.cluster.dry_run = [](const json&) {
           return refuse(500, "InternalError", "failed calling webhook\n\"own.mutate.muster.batch\"");
         };
       },
       "webhooks do not answer: failed calling webhook\\x0a\"own.mutate.muster.batch\"\n"},
      {[](Installed& m) {
         m.cluster.dry_run = [](const json&) { return refuse(403, "Forbidden", "User \"a\" cannot create"); };
       },
       "webhooks were not asked: a dry run of a ResourceFlavor was refused: User \"a\" cannot create"},
      {[](Installed& m) { m.cluster.dry_run = [](const json&) { return refuse(404, "NotFound", "page not found"); }; },
       "webhooks were not asked: the API server does not serve ResourceFlavors"},
      {[](Installed& m) { m.cluster.objects.erase(kLease); }, "no replica of muster leads"},
      {[](Installed& m) { m.at(kLease)["spec"]["holderIdentity"] = "kueue_1-2"; },
       "muster does not lead: kueue_1-2 holds its Lease"},
      {[](Installed& m) { m.at(kLease)["spec"]["renewTime"] = "2026-06-01T11:50:00.000000Z"; },
       "muster is down since 2026-06-01T11:50:00Z: nothing is admitted or evicted"},
      {[](Installed& m) { m.cluster.forbidden = {"/leases"}; }, "not known: leases.coordination.k8s.io cannot be read"},
      {[](Installed& m) { m.cluster.ill = true; }, "not known: deployments.apps cannot be listed: ill"},
  };
  for (const Row& row : rows) {
    Installed muster;
    row.harm(muster);
    CAPTURE(row.line);
    CHECK(muster.run() == 1);
    INFO(muster.out.str());
    CHECK(muster.out.str().find(row.line) != std::string::npos);
    CHECK(muster.out.str().ends_with("muster doctor names the cause\n"));
    const std::string text = muster.out.str();
    CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  }
}

TEST_CASE("status: --wait ends as soon as muster works") {
  Installed muster;
  muster.at(kDeployment)["status"]["readyReplicas"] = 0;
  muster.hands.at_wake = [&](int slept) {
    if (slept == 7) muster.at(kDeployment)["status"]["readyReplicas"] = 2;
  };
  CHECK(muster.run(true) == 0);
  CHECK(muster.hands.slept == 7);
}

TEST_CASE("status: after --timeout the first cause of doctor is printed") {
  Installed muster;
  muster.at(kDeployment)["status"]["readyReplicas"] = 0;
  muster.cluster.objects.erase(kLease);
  muster.cluster.dry_run = [](const json&) { return refuse(500, "InternalError", "no endpoints available"); };
  muster.cluster.put(kPod, {{"metadata", {{"labels", {{"app.kubernetes.io/name", "muster"}}}}},
                            {"status",
                             {{"containerStatuses",
                               {{{"name", "muster"},
                                 {"image", "r/muster:0.1.0"},
                                 {"state", {{"waiting", {{"reason", "ImagePullBackOff"}}}}}}}}}}});
  CHECK(muster.run(true) == 1);
  CHECK(muster.hands.slept == 30);
  const std::string text = muster.out.str();
  INFO(text);
  CHECK(
      text.starts_with("not ready: 0 of 2 replicas are ready\n"
                       "webhooks do not answer: no endpoints available\n"
                       "no leader: Lease muster-system/c1f6bfd2.kueue.x-k8s.io: no replica of muster leads: nothing is "
                       "admitted or evicted\n"
                       "The cause, by muster doctor:\n"
                       "Blocker  Pod muster-system/muster-a\n"
                       "         its image r/muster:0.1.0 cannot be pulled (ImagePullBackOff)\n"
                       "         -> push the image there (docs/install.md)"));
}

}  // namespace status_test
