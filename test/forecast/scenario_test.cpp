// What is read: jobs of every kind, annotations, tables, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "api/workload.h"
#include "test/forecast/scenarios.h"
#include "test/simulation/queues.h"

namespace scenario_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

std::vector<json> with(std::vector<json> objects, const std::vector<json>& more) {
  objects.insert(objects.end(), more.begin(), more.end());
  return objects;
}

const json kPodSpec = {
    {"containers", json::array({{{"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}})},
    {"restartPolicy", "Never"}};

}  // namespace

TEST_CASE("what-if: jobs of all kinds are read through their own kinds") {
  const std::vector<json> jobs = from_yaml(R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: set, namespace: default, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  replicatedJobs:
  - name: driver
    replicas: 1
    template: {spec: {parallelism: 1, completions: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}}
  - name: worker
    replicas: 2
    template: {spec: {parallelism: 3, completions: 3, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: ray, namespace: default, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  suspend: true
  rayClusterSpec:
    headGroupSpec: {template: {spec: {containers: [{name: h, resources: {requests: {cpu: "1"}}}]}}}
    workerGroupSpecs:
    - {groupName: w, replicas: 2, template: {spec: {containers: [{name: w, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch, namespace: default, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, resources: {requests: {cpu: "1"}}}]}}}
    Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, resources: {requests: {cpu: "1"}}}]}}}
)");
  std::vector<json> pods;
  for (const char* name : {"p0", "p1"}) {
    pods.push_back({{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata",
                     {{"name", name},
                      {"namespace", "default"},
                      {"labels",
                       {{"kueue.x-k8s.io/queue-name", "team"},
                        {"kueue.x-k8s.io/managed", "true"},
                        {"kueue.x-k8s.io/pod-group-name", "group"}}},
                      {"annotations", {{"kueue.x-k8s.io/pod-group-total-count", "2"}}}}},
                    {"spec", kPodSpec}});
  }
  const json in_queue = {{"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
  json deployment = {{"apiVersion", "apps/v1"},
                     {"kind", "Deployment"},
                     {"metadata", {{"name", "web"}, {"namespace", "default"}}},
                     {"spec", {{"replicas", 3}, {"template", {{"metadata", in_queue}, {"spec", kPodSpec}}}}}};
  json stateful = deployment;
  stateful["kind"] = "StatefulSet";
  stateful["metadata"]["name"] = "db";
  json leaders = {
      {"apiVersion", "leaderworkerset.x-k8s.io/v1"},
      {"kind", "LeaderWorkerSet"},
      {"metadata", {{"name", "lws"}, {"namespace", "default"}}},
      {"spec",
       {{"replicas", 2},
        {"leaderWorkerTemplate", {{"size", 2}, {"workerTemplate", {{"metadata", in_queue}, {"spec", kPodSpec}}}}}}}};
  std::vector<json> all = with(queues(100), jobs);
  all = with(all, pods);
  all = with(all, {deployment, stateful, leaders, queued_job(5, "plain")});
  forecast::ScenarioOptions options = all_kinds();
  options.until = 30min;
  const forecast::Scenario scenario = scenario_of(all, options);
  std::map<std::string, std::multiset<int>> pods_of;
  for (const forecast::JobShape& shape : scenario.shapes) {
    int count = 0;
    for (const PodSet& pod_set : shape.workload->pod_sets) count += pod_set.count;
    pods_of[shape.kind].insert(count);
  }
  std::string seen;
  for (const auto& [kind, counts] : pods_of) {
    seen += kind;
    for (const int count : counts) seen += " " + std::to_string(count);
    seen += "; ";
  }
  // Pods of what serves and names no queue itself are queued one by one: three, three, and two of two replicas.
  CHECK(seen == "Job 5; JobSet 7; Pod 1 1 1 1 1 1 1 1 1 1; PyTorchJob 4; RayJob 3; pod group 2; ");
  const forecast::History history = forecast::run(scenario);
  // All of them are admitted, and what serves runs on.
  for (size_t i = 0; i < history.jobs.size(); ++i) {
    INFO(forecast::job_name(scenario, i));
    CHECK(history.jobs[i].fate == forecast::Fate::kRunning);
  }
}

TEST_CASE("what-if: a StatefulSet is admitted as a whole, a LeaderWorkerSet by groups, and both serve on") {
  const std::vector<json> sets = from_yaml(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default, labels: {kueue.x-k8s.io/queue-name: team}}
spec: {replicas: 3, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: none, namespace: default, labels: {kueue.x-k8s.io/queue-name: team}}
spec: {replicas: 0, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm, namespace: default, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  replicas: 40
  leaderWorkerTemplate:
    size: 4
    leaderTemplate: {spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}
    workerTemplate: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
)");
  // Room for the StatefulSet and two groups of 5 cpus: of the third, 1 cpu would be missing.
  forecast::ScenarioOptions options = all_kinds();
  options.until = 3h;
  auto read = forecast::read_scenario(sources(with(queues(17), sets)), options);
  REQUIRE(read.ok());
  CHECK(read->scenario.shapes.size() == 1 + 40);
  CHECK(std::count(read->notes.begin(), read->notes.end(), "1 sets have no replicas and are left out") == 1);
  std::map<std::string, std::multiset<int>> pods_of;
  std::set<std::string> names;
  for (const forecast::JobShape& shape : read->scenario.shapes) {
    for (const PodSet& pod_set : shape.workload->pod_sets)
      pods_of[shape.kind + " " + pod_set.name].insert(pod_set.count);
    names.insert(shape.workload->meta.name);
  }
  CHECK(names.size() == 41);
  CHECK(*pods_of["StatefulSet main"].begin() == 3);
  CHECK(pods_of["LeaderWorkerSet leader"].count(1) == 40);
  CHECK(pods_of["LeaderWorkerSet worker"].count(3) == 40);
  const forecast::History history = forecast::run(read->scenario);
  int running = 0;
  for (const forecast::JobRecord& job : history.jobs) running += job.fate == forecast::Fate::kRunning;
  CHECK(running == 1 + 2);
  CHECK(history.jobs[number_of(read->scenario, "db")].fate == forecast::Fate::kRunning);
  CHECK(history.jobs[number_of(read->scenario, "llm-0")].fate == forecast::Fate::kRunning);
  CHECK(history.waiting.size() == 38);
}

TEST_CASE("what-if: the Workload of a set that a cluster holds serves on") {
  const std::vector<json> stored = from_yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: statefulset-db-1
  namespace: default
  uid: w1
  creationTimestamp: "2026-03-01T08:00:00Z"
  annotations: {kueue.x-k8s.io/is-group-workload: "true", kueue.x-k8s.io/job-owner-gvk: "apps/v1, Kind=StatefulSet", kueue.x-k8s.io/job-owner-name: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: s1}]
spec:
  queueName: team
  podSets:
  - {name: main, count: 4, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
status:
  admission:
    clusterQueue: cluster
    podSetAssignments: [{name: main, count: 4, flavors: {cpu: default}, resourceUsage: {cpu: "4"}}]
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
  - {type: Admitted, status: "True", reason: Admitted, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
)");
  forecast::ScenarioOptions options = all_kinds();
  options.until = 24h;
  const forecast::Scenario scenario = scenario_of(with(queues(4), {stored.front(), queued_job(1, "later")}), options);
  CHECK(scenario.shapes[scenario.arrivals[number_of(scenario, "db")].shape].kind == "StatefulSet");
  const forecast::History history = forecast::run(scenario);
  CHECK(history.jobs[number_of(scenario, "db")].fate == forecast::Fate::kRunning);
  CHECK(history.jobs[number_of(scenario, "later")].fate == forecast::Fate::kWaiting);
}

TEST_CASE("what-if: annotations are read strictly") {
  json job = queued_job(1, "a");
  const auto refused = [&](const std::string& name, const std::string& value) {
    json wrong = job;
    annotate(wrong, name, value);
    return refusal_of(with(queues(1), {wrong}));
  };
  CHECK(refused("run-time", "soon")
            .find("test:4: Job/a: metadata.annotations[simulate.muster.batch/run-time]: Invalid "
                  "value: \"soon\": must be a duration") == 0);
  CHECK(refused("run-tmie", "1m").find("did you mean \"run-time\"") != std::string::npos);
  CHECK(refused("run-time", "-1m").find("must not be negative") != std::string::npos);
  CHECK(refused("run-time", "1e300").find("10 years") != std::string::npos);
  CHECK(refused("run-time", "nan") != "");
  CHECK(refused("copies", "0") != "");
  CHECK(refused("copies", "100000000000") != "");
  CHECK(refused("keeps-progress", "yes").find("must be true or false") != std::string::npos);
  CHECK(refused("arrival", "tomorrow").find("must be a time") != std::string::npos);
  CHECK(refused("failure-odds", "0.5").find("no such annotation") != std::string::npos);
  CHECK(refused("run-time", "1m") == "");
  std::vector<json> objects = queues(1);
  annotate(objects[0], "failure-odds", "1.5");
  CHECK(refusal_of(with(objects, {job})).find("must be from 0 to 1") != std::string::npos);
  objects = queues(1);
  annotate(objects[1], "startup", "1m");
  CHECK(refusal_of(with(objects, {job})).find("ClusterQueue/cluster") != std::string::npos);
}

TEST_CASE("what-if: input that cannot be simulated is refused with its place") {
  CHECK(refusal_of(queues(1)).find("no job to simulate") != std::string::npos);
  CHECK(refusal_of(with(queues(1), {queued_job(1, "a"), queued_job(1, "a")}))
            .find("test:5: Job/a: metadata.name: "
                  "Duplicate value") == 0);
  json classed = queued_job(1, "a");
  classed["metadata"]["labels"][std::string(kPriorityClassLabel)] = "urgent";
  CHECK(refusal_of(with(queues(1), {classed})).find("WorkloadPriorityClass \"urgent\" not found") != std::string::npos);
  forecast::ScenarioOptions some;
  some.settings.queues.rules.frameworks = {"jobset.x-k8s.io/jobset"};
  CHECK(refusal_of(with(queues(1), {queued_job(1, "a")}), some).find("batch/job is not enabled") != std::string::npos);
}

TEST_CASE("what-if: a table of arrivals is read with line and column of what is wrong") {
  const std::string header = "time,namespace,queue,name,class,count,requests,runTime\n";
  const auto rows =
      forecast::read_arrivals(header + "90,team,q,\"a\",,4,cpu=2;memory=1Gi,1h\n0s,team,q,b,high,1,,30\n");
  REQUIRE(rows.ok());
  REQUIRE(rows->size() == 2);
  CHECK((*rows)[0].at == 90s);
  CHECK((*rows)[0].job.requests.at("memory") == "1Gi");
  CHECK((*rows)[0].run_time == 1h);
  CHECK((*rows)[1].job.priority_class == "high");
  const auto wrong = [&](const std::string& text) {
    const auto read = forecast::read_arrivals(text);
    return read ? "" : read.error().message;
  };
  CHECK(wrong("") != "");
  CHECK(wrong("time,name\n").find("column namespace is missing") != std::string::npos);
  CHECK(wrong("time,tiem\n").find("there is no column \"tiem\"") != std::string::npos);
  CHECK(wrong(header + "1,team,q,a,,4,cpu=1\n").find("line 2: has 7 cells") == 0);
  CHECK(wrong(header + "1,team,q,a,,0,cpu=1,1\n").find("line 2, column count") == 0);
  CHECK(wrong(header + "1,team,q,a,,1,cpu=x,1\n").find("line 2, column requests") == 0);
  CHECK(wrong(header + "1,team,q,a,,1,cpu=-1,1\n").find("must not be negative") != std::string::npos);
  CHECK(wrong(header + "1,Team,q,a,,1,cpu=1,1\n").find("line 2, column namespace") == 0);
  CHECK(wrong(header + "1,team,q,\"a,,1,cpu=1,1\n").find("a quote is not closed") != std::string::npos);

  forecast::ScenarioOptions options = all_kinds();
  options.table = *forecast::read_arrivals(header + "0,default,team,a,,4,cpu=1,10m\n60,default,team,b,,4,cpu=1,10m\n");
  options.table_name = "arrivals.csv";
  const forecast::Scenario scenario = scenario_of(queues(4), options);
  CHECK(scenario.shapes.size() == 1);
  const forecast::History history = forecast::run(scenario);
  CHECK(seconds(history.jobs[number_of(scenario, "b")].first_start) == 600);
}

TEST_CASE("what-if: random arrivals have the distributions that are documented") {
  std::vector<forecast::JobShape> shapes(2);
  shapes[0].run_time = 100s;
  shapes[0].weight = 3;
  shapes[1].weight = 1;
  const forecast::RandomArrivals random{.seed = 9, .jobs = 40'000, .over = 400'000s, .spread = 0.5};
  const std::vector<forecast::Arrival> arrivals = forecast::random_arrivals(random, shapes);
  REQUIRE(arrivals.size() == 40'000);
  double logs = 0, squares = 0, of_first = 0;
  for (const forecast::Arrival& arrival : arrivals) {
    if (arrival.shape == 1) {
      CHECK_FALSE(arrival.run_time);
      continue;
    }
    ++of_first;
    const double log = std::log(seconds(arrival.run_time->count()) / 100);
    logs += log;
    squares += log * log;
  }
  CHECK(of_first / 40'000 == doctest::Approx(0.75).epsilon(0.02));
  CHECK(std::abs(logs / of_first) < 0.02);
  CHECK(std::sqrt(squares / of_first) == doctest::Approx(0.5).epsilon(0.03));
  CHECK(seconds(arrivals.back().at.count()) == doctest::Approx(400'000).epsilon(0.03));
  for (size_t i = 1; i < arrivals.size(); ++i) REQUIRE(arrivals[i - 1].at <= arrivals[i].at);
  // Another seed gives others.
  forecast::RandomArrivals other = random;
  other.seed = 10;
  CHECK(forecast::random_arrivals(other, shapes)[0].at != arrivals[0].at);
}

}  // namespace scenario_test
