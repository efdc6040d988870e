// The simulated waiter: when it lets its pod go and when it gives up.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "api/pod.h"
#include "test/simulation/controllers_fixture.h"
#include "test/simulation/manifests.h"

namespace waiter_test {

using namespace muster;
using namespace muster::world;
using muster::test::Cluster;
using muster::test::job_key;
using muster::test::job_of;
using muster::test::with_spec;
using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// A waiter and its volume, as muster's webhook puts them in.
json with_barrier(json job, int timeout_seconds) {
  auto field = [](const char* name, const char* path) {
    return json{{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
  };
  json& pod_template = job["spec"]["template"];
  pod_template["metadata"]["annotations"]["muster.batch/group-scheduling-epoch"] = "e1";
  pod_template["spec"]["initContainers"] = json::array(
      {{{"name", "group-scheduling-init"},
        {"args", json::array({"--timeout-seconds=" + std::to_string(timeout_seconds)})},
        {"env", json::array({field("MUSTER_OWNER_UID", "metadata.labels['batch.kubernetes.io/controller-uid']"),
                             {{"name", "MUSTER_RESTART_ATTEMPT"}, {"value", "0"}},
                             field("MUSTER_EPOCH", "metadata.annotations['muster.batch/group-scheduling-epoch']")})}}});
  pod_template["spec"]["volumes"] =
      json::array({{{"name", "group-scheduling"}, {"configMap", {{"name", "gate"}, {"optional", true}}}}});
  return job;
}

int waiters_in(const Cluster& cluster, WaiterState state) {
  int number = 0;
  for (const json& pod : cluster.pods()) number += read_pod(pod)->waiter == state;
  return number;
}

// Writes a verdict on the Job's only run.
void decide(Cluster& cluster, const char* key, const std::string& epoch = "e1") {
  const std::string token(string_at(*cluster.server.get(job_key()), {"metadata", "uid"}));
  cluster.create({{"apiVersion", "v1"},
                  {"kind", "ConfigMap"},
                  {"metadata", {{"name", "gate"}, {"namespace", "default"}}},
                  {"data", {{key, token + "/0/" + epoch + "\n"}}}});
}

}  // namespace

TEST_CASE("waiter: it holds its pod until its token is listed") {
  const struct {
    const char* name;
    const char* key;
    const char* epoch;
    WaiterState state;
  } kRows[] = {
      {"started lets it pass", "started", "e1", WaiterState::kPassed},
      {"expired fails it", "expired", "e1", WaiterState::kFailed},
      {"another run's token is nothing to it", "started", "e2", WaiterState::kWaiting},
  };
  for (const auto& row : kRows) {
    INFO(std::string(row.name));
    Cluster cluster;
    cluster.create(with_barrier(with_spec(job_of(1), {{"backoffLimit", 0}}), 600));
    REQUIRE(cluster.run_until([&] { return waiters_in(cluster, WaiterState::kWaiting) == 1; }, minutes(1)));
    decide(cluster, row.key, row.epoch);
    const MonotonicTime decided = cluster.timeline.time();
    cluster.run_until([&] { return waiters_in(cluster, WaiterState::kWaiting) == 0; }, minutes(3));
    CHECK(waiters_in(cluster, row.state) == 1);
    // Without a nudge: it took until the kubelet looked by itself.
    if (row.state != WaiterState::kWaiting) CHECK(cluster.timeline.time() - decided <= seconds(92));
    CHECK(cluster.running() == 0);
    if (row.state != WaiterState::kPassed) continue;
    CHECK(cluster.run_until([&] { return cluster.running() == 1; }, seconds(10)));
  }
}

TEST_CASE("waiter: a nudge brings the news within seconds but may lose the race against it") {
  int at_once = 0, late = 0;
  for (int i = 0; i < 40; ++i) {
    Cluster cluster;
    // Another draw of the delays each time.
    cluster.create(with_barrier(job_of(1 + i % 7), 600));
    REQUIRE(cluster.run_until([&] { return waiters_in(cluster, WaiterState::kWaiting) == 1 + i % 7; }, minutes(1)));
    cluster.run(seconds(2 + i));
    decide(cluster, "started");
    for (const json& pod : cluster.pods()) {
      cluster.server.patch(key_of(kPods, pod), {{"metadata", {{"annotations", {{"nudge", "1"}}}}}});
    }
    cluster.run(seconds(3));
    at_once += waiters_in(cluster, WaiterState::kPassed);
    late += waiters_in(cluster, WaiterState::kWaiting);
    cluster.run(seconds(95));
    CHECK(waiters_in(cluster, WaiterState::kWaiting) == 0);
  }
  CHECK(at_once > 10);
  CHECK(late > 10);
}

TEST_CASE("waiter: it gives up by itself only long after the group's timeout") {
  Cluster cluster;
  cluster.create(with_barrier(with_spec(job_of(1), {{"backoffLimit", 0}}), 60));
  REQUIRE(cluster.run_until([&] { return waiters_in(cluster, WaiterState::kWaiting) == 1; }, minutes(1)));
  const MonotonicTime begin = cluster.timeline.time();
  REQUIRE(cluster.run_until([&] { return cluster.has("Failed"); }, minutes(10)));
  CHECK(cluster.timeline.time() - begin >= seconds(180));
  CHECK(cluster.timeline.time() - begin <= seconds(190));
}

TEST_CASE("waiter: with an empty part of its token it exits with 2 and is restarted with backoff") {
  Cluster cluster;
  json job = with_barrier(with_spec(job_of(1), {{"template", {{"spec", {{"restartPolicy", "OnFailure"}}}}}}), 60);
  job["spec"]["template"]["metadata"].erase("annotations");
  cluster.create(with_spec(job, {{"backoffLimit", 3}}));
  REQUIRE(cluster.run_until([&] { return waiters_in(cluster, WaiterState::kFailed) == 1; }, minutes(1)));
  CHECK(read_pod(cluster.pods().front())->waiter_exit_code == 2);
  const MonotonicTime begin = cluster.timeline.time();
  REQUIRE(cluster.run_until([&] { return cluster.has("Failed"); }, minutes(10)));
  // The third restart comes after 200 ms, 10 s and 20 s.
  CHECK(cluster.timeline.time() - begin >= seconds(30));
}

}  // namespace waiter_test
