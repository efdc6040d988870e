#include "runtime/cluster.h"

#include <doctest/doctest.h>

#include "test/support/hand_clock.h"
#include "test/support/temporary_folder.h"

namespace cluster_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;

namespace {

// To an address where no server listens. How long this many requests take, by a real clock.
Duration took(kube::KubeApi& api, int requests) {
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < requests; ++i) {
    kube::KubeRequest request;
    request.path = "/version";
    request.once = true;
    CHECK_FALSE(api.send(request, {}).ok());
  }
  return std::chrono::steady_clock::now() - begun;
}

}  // namespace

TEST_CASE("cluster: questions that strangers can cause have a limit of their own") {
  const test::TemporaryFile kubeconfig(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
      "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\nusers: [{name: u, user: {}}]\n");
  const test::HandClock clock;  // stands still, so that no token comes back while the test runs
  const auto cluster = Cluster::connect({.kubeconfig = kubeconfig.path(), .context = "", .qps = -1}, clock);
  REQUIRE(cluster.ok());
  // 40 at once, and 20 a second: the four more wait for 50, 100, 150 and 200 ms.
  CHECK(took((*cluster)->review_api(), 44) >= 500ms);
  // With that limit these would take three minutes.
  CHECK(took((*cluster)->api(), 120) < 60s);
  CHECK(took((*cluster)->lease_api(), 120) < 60s);
}

}  // namespace cluster_test
