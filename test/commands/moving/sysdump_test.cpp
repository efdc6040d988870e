// muster sysdump: what is in it, and above all what is not.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <sstream>

#include "commands/moving/moving_commands.h"
#include "commands/moving/rules/redact.h"
#include "test/commands/moving/fake_cluster.h"
#include "test/support/files.h"
#include "test/support/temporary_folder.h"

namespace sysdump_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

namespace {

constexpr const char* kPlanted = "hunter2-planted";

json pod_spec() {
  return {{"containers", {{{"name", "c"}, {"env", {{{"name", "PASSWORD"}, {"value", kPlanted}}}}}}}};
}

void plant(test::FakeCluster& cluster) {
  const json labels = {{"app.kubernetes.io/name", "muster"}, {"kueue.x-k8s.io/queue-name", "q"}};
  const json metadata = {{"labels", labels},
                         {"annotations", {{"kubectl.kubernetes.io/last-applied-configuration", kPlanted}}}};
  cluster.put("/api/v1/namespaces/muster-system/secrets/s",
              {{"metadata", metadata}, {"data", {{"tls.key", kPlanted}}}});
  cluster.put("/api/v1/namespaces/muster-system/pods/muster-a", {{"metadata", metadata}, {"spec", pod_spec()}});
  cluster.put("/apis/batch/v1/namespaces/a/jobs/j",
              {{"metadata", metadata}, {"spec", {{"template", {{"spec", pod_spec()}}}}}});
  cluster.put("/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/w",
              {{"metadata", metadata}, {"spec", {{"podSets", {{{"template", {{"spec", pod_spec()}}}}}}}}});
  cluster.put("/api/v1/namespaces/a/configmaps/users", {{"data", {{"password", kPlanted}}}});
}

// A cluster with planted secrets, and `muster sysdump` run on it into a separate folder.
struct Dumped {
  test::FakeCluster cluster;
  test::TemporaryFolder folder;
  SysdumpFlags flags;
  std::istringstream in;
  std::ostringstream out, err;

  explicit Dumped(const std::string& target) {
    plant(cluster);
    flags.target = folder / target;
  }
  int run() { return sysdump_of(cluster, flags, {in, out, err}); }
};

}  // namespace

TEST_CASE("sysdump: no planted secret is in any file, and Secrets are not even asked for") {
  Dumped dumped("dump");
  REQUIRE(dumped.run() == 0);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dumped.flags.target)) {
    ++files;
    INFO(entry.path().string());
    CHECK(test::read_file(entry.path()).find(kPlanted) == std::string::npos);
    CHECK(entry.status().permissions() == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  }
  CHECK(files >= 5);
  CHECK(test::read_file(dumped.flags.target + "/Job.batch.yaml").find("PASSWORD") != std::string::npos);
  CHECK(std::filesystem::exists(dumped.flags.target + "/log-muster-a.txt"));
  for (const std::string& line : dumped.cluster.log) CHECK(line.find("/secrets") == std::string::npos);
  CHECK(dumped.run() == 1);
  CHECK(dumped.err.str().find("is there already") != std::string::npos);
}

namespace {

json condition(const char* type) {
  return {{"type", type}, {"status", "True"}, {"reason", "R"}, {"message", "m"}};
}

// A pod with a secret in every place that a user can fill.
json late_pod(const char* phase) {
  json container = pod_spec()["containers"][0];
  container["image"] = "busybox";
  container["args"] = container["command"] = {"run", kPlanted};
  container["lifecycle"] = {{"preStop", {{"exec", {{"command", {kPlanted}}}}}}};
  const json end = {{"terminated", {{"reason", "Error"}, {"exitCode", 3}, {"message", kPlanted}}}};
  return {{"metadata",
           {{"labels", {{"kueue.x-k8s.io/podset", "main"}}},
            {"annotations", {{"example.com/token", kPlanted}, {"kueue.x-k8s.io/workload", "w"}}}}},
          {"spec",
           {{"containers", {container}},
            {"initContainers", {container}},
            {"nodeName", "n1"},
            {"volumes", {{{"name", "v"}, {"csi", {{"volumeAttributes", {{"password", kPlanted}}}}}}}}}},
          {"status",
           {{"phase", phase},
            {"conditions", {{{"type", "PodScheduled"}, {"status", "False"}, {"message", "0/4 nodes are available"}}}},
            {"containerStatuses", {{{"name", "c"}, {"state", end}, {"lastState", end}}}}}}};
}

}  // namespace

TEST_CASE("sysdump: nodes, definitions without schemas, and the pods of late jobs without what users fill in") {
  Dumped dumped("dump");
  const auto put_workload = [&](const std::string& ns, const json& conditions) {
    dumped.cluster.put("/apis/kueue.x-k8s.io/v1beta2/namespaces/" + ns + "/workloads/w",
                       {{"status", {{"conditions", conditions}}}});
  };
  put_workload("late", json::array({condition("Admitted")}));
  put_workload("ready", {condition("Admitted"), condition("PodsReady")});
  put_workload("ended", {condition("Admitted"), condition("Finished")});
  for (const char* ns : {"late", "ready", "ended"})
    dumped.cluster.put(std::string("/api/v1/namespaces/") + ns + "/pods/of-" + ns, late_pod("Pending"));
  json ready = late_pod("Running");
  ready["status"]["conditions"] = json::array({condition("Ready")});
  dumped.cluster.put("/api/v1/namespaces/late/pods/is-ready", ready);
  dumped.cluster.put("/api/v1/namespaces/late/pods/has-ended", late_pod("Failed"));
  json gated = late_pod("Pending");
  gated["metadata"]["labels"] = {{"kueue.x-k8s.io/managed", "true"}};
  dumped.cluster.put("/api/v1/namespaces/late/pods/of-a-group", gated);
  json of_nobody = late_pod("Pending");
  of_nobody["metadata"].erase("labels");
  dumped.cluster.put("/api/v1/namespaces/late/pods/of-nobody", of_nobody);
  dumped.cluster.put("/api/v1/nodes/n1", {{"status", {{"images", {{{"names", {"large"}}}}}, {"phase", "x"}}}});
  dumped.cluster.put(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workloads.kueue.x-k8s.io",
      {{"spec",
        {{"group", "kueue.x-k8s.io"},
         {"conversion", {{"strategy", "Webhook"}, {"webhook", {{"clientConfig", {{"caBundle", kPlanted}}}}}}},
         {"versions", {{{"name", "v1beta2"}, {"served", true}, {"schema", {{"large", "schema"}}}}}}}},
       {"status", {{"conditions", {condition("Established")}}}}});
  dumped.cluster.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayjobs.ray.io", json::object());
  dumped.cluster.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/others.example.com", json::object());
  REQUIRE(dumped.run() == 0);

  for (const auto& entry : std::filesystem::directory_iterator(dumped.flags.target)) {
    INFO(entry.path().string());
    CHECK(test::read_file(entry.path()).find(kPlanted) == std::string::npos);
  }
  const std::string pods = test::read_file(dumped.flags.target + "/late-pods.yaml");
  for (const char* part : {"name: of-late\n", "name: of-a-group\n", "0/4 nodes are available", "exitCode: 3",
                           "nodeName: n1", "kueue.x-k8s.io/workload: w"})
    CHECK_MESSAGE(pods.find(part) != std::string::npos, part);
  for (const char* part :
       {"of-ready", "of-ended", "is-ready", "has-ended", "of-nobody", "PASSWORD", "example.com", "volumes"})
    CHECK_MESSAGE(pods.find(part) == std::string::npos, part);
  const std::string nodes = test::read_file(dumped.flags.target + "/Node.yaml");
  CHECK(nodes.find("name: n1") != std::string::npos);
  CHECK(nodes.find("images") == std::string::npos);
  const std::string definitions =
      test::read_file(dumped.flags.target + "/CustomResourceDefinition.apiextensions.k8s.io.yaml");
  for (const char* part : {"workloads.kueue.x-k8s.io", "rayjobs.ray.io", "v1beta2", "Established", "strategy: Webhook"})
    CHECK_MESSAGE(definitions.find(part) != std::string::npos, part);
  for (const char* part : {"schema", "others.example.com"})
    CHECK_MESSAGE(definitions.find(part) == std::string::npos, part);
  // Logs and metrics are muster's alone.
  for (const std::string& line : dumped.cluster.log) CHECK(line.find("/of-late/") == std::string::npos);
}

TEST_CASE("sysdump: pods of jobs that may not be read are named, and the rest is written") {
  Dumped dumped("dump");
  dumped.cluster.put("/apis/kueue.x-k8s.io/v1beta2/namespaces/late/workloads/w",
                     {{"status", {{"conditions", {condition("Admitted")}}}}});
  dumped.cluster.forbidden = {"/namespaces/late/pods", "/nodes"};
  CHECK(dumped.run() == 0);
  const std::string why = test::read_file(dumped.flags.target + "/not-read.txt");
  CHECK(why.find("pods of late jobs: you cannot GET /namespaces/late/pods") != std::string::npos);
  CHECK(why.find("nodes: you cannot GET /nodes") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(dumped.flags.target + "/late-pods.yaml"));
}

TEST_CASE("sysdump: what may not be read is said, and the rest is written") {
  Dumped dumped("dump");
  dumped.cluster.forbidden = {"/workloads"};
  CHECK(dumped.run() == 0);
  CHECK(dumped.err.str().find("not read: workloads.kueue.x-k8s.io") != std::string::npos);
  CHECK(test::read_file(dumped.flags.target + "/not-read.txt").find("workloads") != std::string::npos);
}

namespace {

// What the API server's proxy to muster answers, by the token that muster is shown.
void answer_metrics(test::FakeCluster& cluster, const std::string& path) {
  cluster.streams = [path](const kube::KubeRequest& request,
                           const kube::KubeApi::ByteSink& on_bytes) -> Outcome<kube::StatusError> {
    if (request.path.find("/proxy/") == std::string::npos) return Done{};
    const std::vector<std::pair<std::string, std::string>> wanted = {{"X-Muster-Token", "for-muster"}};
    if (request.path != path || request.headers != wanted)
      return fail_with(kube::StatusError{403, "Forbidden", "no metrics for you", {}, std::nullopt, ""});
    on_bytes("muster_leader 1\n");
    return Done{};
  };
}

}  // namespace

TEST_CASE("sysdump: the metrics of each replica come by the API server's proxy, with a token for muster alone") {
  Dumped dumped("dump");
  json pod = *dumped.cluster.find("/api/v1/namespaces/muster-system/pods/muster-a");
  pod["spec"]["containers"][0]["ports"] = json::array({{{"name", "metrics"}, {"containerPort", 9999}}});
  dumped.cluster.put("/api/v1/namespaces/muster-system/pods/muster-a", pod);
  dumped.cluster.put("/api/v1/namespaces/muster-system/pods/muster-b", pod);
  dumped.cluster.token = "for-muster";
  answer_metrics(dumped.cluster, "/api/v1/namespaces/muster-system/pods/https%3Amuster-a%3A9999/proxy/metrics");
  REQUIRE(dumped.run() == 0);
  CHECK(test::read_file(dumped.flags.target + "/metrics-muster-a.txt") == "muster_leader 1\n");
  CHECK(!std::filesystem::exists(dumped.flags.target + "/metrics-muster-b.txt"));
  const std::string why = "metrics of pod muster-b: no metrics for you (asked as muster-system/muster-explain)";
  CHECK(test::read_file(dumped.flags.target + "/not-read.txt").find(why) != std::string::npos);
  CHECK(dumped.err.str().find("not read: " + why) != std::string::npos);
  for (const auto& entry : std::filesystem::directory_iterator(dumped.flags.target))
    CHECK(test::read_file(entry.path()).find("for-muster") == std::string::npos);
}

TEST_CASE("sysdump: without a token there are no metrics, and the dump says why") {
  Dumped dumped("dump");
  dumped.cluster.forbidden = {"/token"};
  REQUIRE(dumped.run() == 0);
  CHECK(test::read_file(dumped.flags.target + "/not-read.txt")
            .find("metrics: there is no token of service account muster-system/muster-explain, which takes the right "
                  "to create ") != std::string::npos);
  for (const std::string& line : dumped.cluster.log) CHECK(line.find("/proxy/") == std::string::npos);
}

TEST_CASE("sysdump: a .tar is one that tar reads") {
  Dumped dumped("dump.tar");
  REQUIRE(dumped.run() == 0);
  const std::string command = "tar -xf " + dumped.flags.target + " -C " + dumped.folder.path().string() + " && cat " +
                              dumped.folder / "Pod.yaml";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe);
  std::array<char, 4096> text{};
  const size_t size = fread(text.data(), 1, text.size(), pipe.get());
  CHECK(std::string(text.data(), size).find("name: muster-a") != std::string::npos);
}

TEST_CASE("sysdump: a Secret becomes its name") {
  const json secret = {
      {"kind", "Secret"}, {"metadata", {{"name", "s"}, {"namespace", "n"}}}, {"data", {{"k", kPlanted}}}};
  CHECK(redacted(secret) == json{{"kind", "Secret"}, {"metadata", {{"name", "s"}, {"namespace", "n"}}}});
}

}  // namespace sysdump_test
