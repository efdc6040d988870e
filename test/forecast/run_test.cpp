// The run: what is simulated around the product's decisions.
#include <doctest/doctest.h>

#include "api/cluster_queue.h"
#include "api/workload_conditions.h"
#include "forecast/chance.h"
#include "scheduler/eligibility.h"
#include "test/forecast/scenarios.h"
#include "test/simulation/queues.h"

namespace run_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

struct Played {
  forecast::Scenario scenario;
  forecast::History history;
  const forecast::JobRecord& operator[](const std::string& job) const { return history.jobs[number_of(scenario, job)]; }
};

Played play(const std::vector<json>& objects, const forecast::ScenarioOptions& options = all_kinds()) {
  Played played{.scenario = scenario_of(objects, options), .history = {}};
  played.history = forecast::run(played.scenario);
  return played;
}

json job(const std::string& name, int pods, const std::string& run_time, const std::string& arrival = "0s") {
  json made = queued_job(pods, name);
  annotate(made, "run-time", run_time);
  annotate(made, "arrival", arrival);
  return made;
}

std::vector<json> with(std::vector<json> objects, const std::vector<json>& more) {
  objects.insert(objects.end(), more.begin(), more.end());
  return objects;
}

}  // namespace

TEST_CASE("what-if: a job waits until another one has ended, and its wait is counted") {
  const Played played = play(with(queues(4), {job("a", 4, "10m"), job("b", 2, "5m", "1m")}));
  CHECK(seconds(played["a"].first_start) == 0);
  CHECK(seconds(played["a"].end) == 600);
  CHECK(seconds(played["b"].first_start) == 600);
  CHECK(seconds(played["b"].end) == 900);
  CHECK(played.history.elapsed == 900s);
  const forecast::Summary summary = forecast::summarize(played.scenario, played.history);
  CHECK(summary.waits.most == 540);
  CHECK(summary.finished == 2);
  REQUIRE(summary.flavors.size() == 1);
  CHECK(summary.flavors[0].mean == doctest::Approx((4 * 600 + 2 * 300) * 1000.0 / 900));
  CHECK(summary.flavors[0].nominal == 4000);
}

TEST_CASE("what-if: who runs too long is deactivated, as the engine does it") {
  json greedy = job("greedy", 2, "10h");
  greedy["metadata"]["labels"][std::string(kMaxExecTimeLabel)] = "600";
  const Played played = play(with(queues(2), {greedy, job("next", 2, "1m", "1s")}));
  CHECK(played["greedy"].fate == forecast::Fate::kDeactivated);
  CHECK(seconds(played["greedy"].end) == 610);  // and 10 s to stop
  CHECK(seconds(played["next"].first_start) == 610);
  CHECK(played.history.deactivations.at("DeactivatedDueToMaximumExecutionTimeExceeded") == 1);
}

TEST_CASE("what-if: a job that says its longest time and no run time runs so long, and ends by itself") {
  json bounded = job("bounded", 1, "1m");
  bounded["metadata"]["annotations"].erase("simulate.muster.batch/run-time");
  bounded["metadata"]["labels"][std::string(kMaxExecTimeLabel)] = "600";
  const Played played = play(with(queues(1), {bounded}));
  CHECK(played["bounded"].fate == forecast::Fate::kFinished);
  CHECK(seconds(played["bounded"].end) == 600);
}

TEST_CASE("what-if: a preempted job begins again, or goes on where it was") {
  for (const bool keeps : {false, true}) {
    std::vector<json> objects = two_teams(4);
    json low = job("low", 4, "10m"), high = job("high", 4, "5m", "4m");
    low["metadata"]["labels"] = {{kQueueNameLabel, "red"}, {kPriorityClassLabel, "low"}};
    high["metadata"]["labels"] = {{kQueueNameLabel, "red"}, {kPriorityClassLabel, "high"}};
    if (keeps) annotate(low, "keeps-progress", "true");
    // The other team uses all it has, so nothing can be borrowed.
    json other = job("other", 4, "2h");
    other["metadata"]["labels"] = {{kQueueNameLabel, "blue"}};
    const Played played = play(with(objects, {other, low, high}));
    CHECK(played["low"].preemptions == 1);
    CHECK(seconds(played["high"].first_start) == 250);
    CHECK(played["low"].starts == 2);
    CHECK(seconds(played["low"].end) == (keeps ? 250 + 300 + 360 : 250 + 300 + 600));
    CHECK(played.history.evictions.at("red").at("Preempted/InClusterQueue") == 1);
  }
}

TEST_CASE("what-if: a flavor that fails is left for the next one, by the product's fallback") {
  const std::vector<json> objects = from_yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot, annotations: {simulate.muster.batch/failure-odds: "1"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: steady, annotations: {simulate.muster.batch/startup: 30s}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: spot, resources: [{name: cpu, nominalQuota: 4}]}
    - {name: steady, resources: [{name: cpu, nominalQuota: 4}]}
  flavorFungibility:
    fallbackStrategy:
      rules: [{name: spot, trigger: TimeoutForPodsReadyExceeded, timeout: 2m}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: cluster}
)");
  const ClusterQueuePtr queue = read_cluster_queue(objects[2]);
  REQUIRE(queue->fallback);
  const Played played = play(with(objects, {job("a", 4, "10m")}));
  CHECK(played["a"].fallbacks == 1);
  CHECK(played["a"].fate == forecast::Fate::kFinished);
  CHECK(played.history.flavor_sets[played["a"].flavors] == "steady");
  CHECK(seconds(played["a"].end) == 120 + 10 + 30 + 600);
}

TEST_CASE("what-if: a check is answered after its time, and the quota is held until then") {
  std::vector<json> objects = queues(4);
  objects[1]["spec"]["admissionChecksStrategy"] = {{"admissionChecks", json::array({{{"name", "budget"}}})}};
  json check = {{"apiVersion", kAdmissionChecks.api_version},
                {"kind", "AdmissionCheck"},
                {"metadata", {{"name", "budget"}}},
                {"spec", {{"controllerName", "example.com/budget"}}}};
  annotate(check, "answer-after", "90s");
  const Played played = play(with(objects, {check, job("a", 4, "10m"), job("b", 4, "1m", "30s")}));
  CHECK(seconds(played["a"].first_start) == 90);
  CHECK(seconds(played["b"].first_start) == 90 + 600 + 90);
}

TEST_CASE("what-if: what a cluster holds goes on from there") {
  std::vector<json> objects = queues(4);
  json admitted = from_yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: job-old-1
  namespace: default
  uid: w1
  creationTimestamp: "2026-03-01T08:00:00Z"
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: old, uid: j1, controller: true}]
spec:
  queueName: team
  maximumExecutionTimeSeconds: 3600
  podSets:
  - {name: main, count: 4, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
status:
  admission:
    clusterQueue: cluster
    podSetAssignments: [{name: main, count: 4, flavors: {cpu: default}, resourceUsage: {cpu: "4"}}]
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
  - {type: Admitted, status: "True", reason: Admitted, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
)")
                      .front();
  json owner = queued_job(4, "old");
  owner["metadata"]["uid"] = "j1";
  owner["metadata"]["creationTimestamp"] = "2026-03-01T08:00:00Z";
  json fresh = job("new", 2, "5m");
  fresh["metadata"]["creationTimestamp"] = "2026-03-01T08:20:00Z";
  const Played played = play(with(objects, {admitted, owner, fresh}));
  REQUIRE(played.scenario.arrivals.size() == 2);
  // Twenty minutes of its hour are gone.
  CHECK(seconds(played["old"].end) == 2400);
  CHECK(seconds(played["new"].first_start) == 2400);
  // Who ran before did not wait here.
  CHECK(forecast::summarize(played.scenario, played.history).waits.jobs == 1);
}

TEST_CASE("what-if: until stops the time, and says who holds the quota that others wait for") {
  forecast::ScenarioOptions options = all_kinds();
  options.until = 60s;
  const Played played = play(with(queues(4), {job("a", 4, "10m"), job("b", 2, "5m", "1s")}), options);
  CHECK(played.history.elapsed == 60s);
  CHECK(played["a"].fate == forecast::Fate::kRunning);
  REQUIRE(played.history.waiting.size() == 1);
  CHECK(played.history.waiting[0].reason == "WaitingForQuota");
  CHECK(played.history.waiting[0].message.find("2 more needed") != std::string::npos);
  REQUIRE(played.history.queues_at_end.size() == 1);
  CHECK(played.history.queues_at_end[0].all_holders == 1);
}

TEST_CASE("what-if: a queue that admits nothing is named with the engine's reason") {
  std::vector<json> objects = queues(4);
  objects[1]["spec"]["stopPolicy"] = "Hold";
  const Played held = play(with(objects, {job("a", 1, "1m")}));
  REQUIRE(held.history.waiting.size() == 1);
  CHECK(held.history.waiting[0].message ==
        "ClusterQueue cluster does not admit workloads: Can't admit new workloads: is stopped.");
  objects = queues(4);
  objects.erase(objects.begin());  // the flavor
  const Played missing = play(with(objects, {job("a", 1, "1m")}));
  REQUIRE(missing.history.queues_at_end.size() == 1);
  CHECK_FALSE(missing.history.queues_at_end[0].inactive.empty());
  objects = queues(4);
  objects.pop_back();  // the LocalQueue
  const Played lost = play(with(objects, {job("a", 1, "1m")}));
  REQUIRE(lost.history.waiting.size() == 1);
  CHECK(lost.history.waiting[0].message.find("LocalQueue team doesn't exist") != std::string::npos);
}

TEST_CASE("what-if: jobs whose pods never get ready leave after waitForPodsReady and come again") {
  forecast::ScenarioOptions options = all_kinds();
  options.settings.queues.wait_for_pods_ready =
      WaitForPodsReady{.timeout = 60s, .requeuing = {.backoff_limit_count = 2, .backoff_base_seconds = 30}};
  std::vector<json> objects = queues(4);
  annotate(objects[0], "failure-odds", "1");
  const Played played = play(with(objects, {job("a", 4, "10m")}), options);
  CHECK(played["a"].starts == 3);
  CHECK(played["a"].fate == forecast::Fate::kDeactivated);
  CHECK(played.history.deactivations.at("DeactivatedDueToRequeuingLimitExceeded") == 1);
}

TEST_CASE("what-if: the averages of usage are those of the amounts, however often spans are joined") {
  forecast::UsageTracks tracks;
  const size_t slot = tracks.slot({"q", "f", "cpu"});
  double area = 0;
  int64_t last = 0, amount = 0, most = 0;
  forecast::Chance chance(5);
  for (int i = 0; i < 5000; ++i) {
    const int64_t at = last + static_cast<int64_t>(chance.next() % 300'000'000'000);
    area += static_cast<double>(amount) * seconds(at - last);
    const int64_t by = amount > 50 ? -amount : static_cast<int64_t>(chance.next() % 10);
    tracks.add(slot, at, by);
    last = at;
    amount += by;
    most = std::max(most, amount);
  }
  tracks.close(last);
  CHECK(tracks.track(slot).area() == doctest::Approx(area));
  CHECK(tracks.track(slot).most() == most);
  double sum = 0;
  const std::vector<double> averages = tracks.track(slot).averages(tracks.width(), tracks.end());
  CHECK(averages.size() <= forecast::kMostSpans);
  CHECK(averages.size() > forecast::kMostSpans / 2);
  for (size_t i = 0; i < averages.size(); ++i) {
    const int64_t from = static_cast<int64_t>(i) * tracks.width();
    sum += averages[i] * seconds(std::min(tracks.width(), last - from));
  }
  CHECK(sum == doctest::Approx(area));
}

TEST_CASE("what-if: percentiles are those of the nearest rank") {
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  const forecast::Waits waits = forecast::waits_of(hundred);
  CHECK(waits.p50 == 50);
  CHECK(waits.p99 == 99);
  CHECK(waits.most == 100);
  std::vector<double> one = {7};
  CHECK(forecast::waits_of(one).p50 == 7);
}

}  // namespace run_test
