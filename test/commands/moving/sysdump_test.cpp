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
#include "test/support/temporary_file.h"

using namespace muster;
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

}  // namespace

TEST_CASE("sysdump: no planted secret is in any file, and Secrets are not even asked for") {
  test::FakeCluster cluster;
  plant(cluster);
  const test::TemporaryFolder folder;
  SysdumpFlags flags;
  flags.target = folder.path() + "/dump";
  std::istringstream in;
  std::ostringstream out, err;
  REQUIRE(sysdump_of(cluster, flags, {in, out, err}) == 0);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(flags.target)) {
    ++files;
    INFO(entry.path().string());
    CHECK(test::read_file(entry.path()).find(kPlanted) == std::string::npos);
  }
  CHECK(files >= 5);
  CHECK(test::read_file(flags.target + "/Job.batch.yaml").find("PASSWORD") != std::string::npos);
  CHECK(std::filesystem::exists(flags.target + "/log-muster-a.txt"));
  for (const std::string& line : cluster.log) CHECK(line.find("/secrets") == std::string::npos);
  CHECK(sysdump_of(cluster, flags, {in, out, err}) == 1);
  CHECK(err.str().find("is there already") != std::string::npos);
}

TEST_CASE("sysdump: what may not be read is said, and the rest is written") {
  test::FakeCluster cluster;
  plant(cluster);
  cluster.forbidden = {"/workloads"};
  const test::TemporaryFolder folder;
  SysdumpFlags flags;
  flags.target = folder.path() + "/dump";
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(sysdump_of(cluster, flags, {in, out, err}) == 0);
  CHECK(err.str().find("not read: workloads.kueue.x-k8s.io") != std::string::npos);
  CHECK(test::read_file(flags.target + "/not-read.txt").find("workloads") != std::string::npos);
}

TEST_CASE("sysdump: a .tar is one that tar reads") {
  test::FakeCluster cluster;
  plant(cluster);
  const test::TemporaryFolder folder;
  SysdumpFlags flags;
  flags.target = folder.path() + "/dump.tar";
  std::istringstream in;
  std::ostringstream out, err;
  REQUIRE(sysdump_of(cluster, flags, {in, out, err}) == 0);
  const std::string command =
      "tar -xf " + flags.target + " -C " + folder.path() + " && cat " + folder.path() + "/Pod.yaml";
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
