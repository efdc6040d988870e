// What is charged: amounts times seconds of admission, against a model that adds up second by second; who counts while
// leaders change; when series end; and what a status cannot invent.
#include "state/metrics/resource_seconds.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "kinds/typed_object.h"
#include "test/support/soak.h"

namespace resource_seconds_test {

using namespace muster;
using namespace muster::state;
using nlohmann::json;
using std::chrono::seconds;

namespace {

MonotonicTime at(int64_t second) {
  return MonotonicTime(seconds(1000 + second));
}

// A cluster as one replica sees it, and what the replica counts.
struct Replica {
  ClusterState state;
  ResourceSeconds counted{true};

  void put(const TypedObject& object, int64_t second) {
    const auto change = state.put(object);
    REQUIRE(change);
    counted.note(change->before ? &*change->before : nullptr, change->after, state, at(second));
  }
  void remove(const ObjectKey& key, int64_t second) {
    const auto removed = state.remove(key);
    REQUIRE(removed);
    counted.note(&*removed, nullptr, state, at(second));
  }
  // "q/team-a/f/cpu 20", each series a word.
  std::string shown(int64_t second) const { return to_text(counted.read(state, at(second))); }
  static std::string to_text(const std::vector<GaugeReading>& readings) {
    std::ostringstream text;
    for (const GaugeReading& reading : readings) {
      CHECK(reading.gauge == Gauge::kResourceSeconds);
      for (const GaugeLabel& label : reading.labels)
        text << label.value << (&label == &reading.labels.back() ? "=" : "/");
      text << reading.value << " ";
    }
    return text.str();
  }
};

TypedObject object(const ResourceType& type, const std::string& name, json body, const std::string& ns = "") {
  static int version = 0;
  body["metadata"] = {{"name", name}, {"uid", name}, {"resourceVersion", std::to_string(++version)}};
  if (!ns.empty()) body["metadata"]["namespace"] = ns;
  return read_object(type, body);
}

TypedObject cluster_queue(const std::string& name, const json& covered = {"cpu", "memory", "gpu"}) {
  return object(kClusterQueues, name,
                {{"spec", {{"resourceGroups", {{{"coveredResources", covered}, {"flavors", json::array()}}}}}}});
}

TypedObject local_queue(const std::string& ns, const std::string& queue) {
  return object(kLocalQueues, "lq", {{"spec", {{"clusterQueue", queue}}}}, ns);
}

// Admitted to a queue: so much of flavors by resource, for four pods. Conditions follow.
json admission(const std::string& queue, const json& flavors, const json& usage, int count = 4) {
  return {
      {"clusterQueue", queue},
      {"podSetAssignments", {{{"name", "main"}, {"flavors", flavors}, {"resourceUsage", usage}, {"count", count}}}}};
}

json condition(const char* type, bool is_true) {
  return {{"type", type}, {"status", is_true ? "True" : "False"}, {"reason", "R"}};
}

TypedObject workload(const std::string& name, const json& admission,
                     const std::vector<const char*>& conditions = {"QuotaReserved", "Admitted"},
                     const json& reclaimable = json::array(), const std::string& ns = "team-a") {
  json status = {{"conditions", json::array()}};
  if (!admission.is_null()) status["admission"] = admission;
  for (const char* type : conditions) status["conditions"].push_back(condition(type, true));
  if (!reclaimable.empty()) status["reclaimablePods"] = reclaimable;
  return object(kWorkloads, name,
                {{"spec", {{"queueName", "lq"}, {"podSets", {{{"name", "main"}, {"count", 4}}}}}}, {"status", status}},
                ns);
}

json cpus(const char* amount, int count = 4) {
  return admission("q", {{"cpu", "f"}}, {{"cpu", amount}}, count);
}

// The queue "q" and a LocalQueue of team-a; leads from second 0 on.
Replica leader() {
  Replica replica;
  replica.put(object(kResourceFlavors, "f", json::object()), 0);
  replica.put(cluster_queue("q"), 0);
  replica.put(local_queue("team-a", "q"), 0);
  replica.counted.begin(at(0));
  return replica;
}

ObjectKey key(const ResourceType& type, const std::string& name, const std::string& ns = "") {
  return {&type, ns, name};
}

}  // namespace

TEST_CASE("resource seconds: cpu in cores, memory in bytes, others in units, from admission to its end") {
  Replica replica = leader();
  const json two =
      admission("q", {{"cpu", "f"}, {"memory", "f"}, {"gpu", "f"}}, {{"cpu", "1500m"}, {"memory", "1Ki"}, {"gpu", 8}});
  replica.put(workload("w", two, {"QuotaReserved"}), 5);
  CHECK(replica.shown(9).empty());
  replica.put(workload("w", two), 10);
  CHECK(replica.shown(10) == "q/team-a/f/cpu=0 q/team-a/f/gpu=0 q/team-a/f/memory=0 ");
  CHECK(replica.shown(20) == "q/team-a/f/cpu=15 q/team-a/f/gpu=80 q/team-a/f/memory=10240 ");
  // An evicted Workload holds its quota until its pods have stopped.
  replica.put(workload("w", two, {"QuotaReserved", "Admitted", "Evicted"}), 22);
  replica.put(workload("w", {}, {"Evicted"}), 30);
  CHECK(replica.shown(100) == "q/team-a/f/cpu=30 q/team-a/f/gpu=160 q/team-a/f/memory=20480 ");
  replica.put(workload("w", two), 100);
  replica.put(workload("w", two, {"QuotaReserved", "Admitted", "Finished"}), 101);
  replica.remove(key(kWorkloads, "w", "team-a"), 150);
  CHECK(replica.shown(200) == "q/team-a/f/cpu=31.5 q/team-a/f/gpu=168 q/team-a/f/memory=21504 ");
}

TEST_CASE("resource seconds: what finished pods give back, and other admissions, count from then on") {
  Replica replica = leader();
  replica.put(workload("w", cpus("4")), 0);
  replica.put(workload("w", cpus("4"), {"QuotaReserved", "Admitted"}, {{{"name", "main"}, {"count", 3}}}), 10);
  CHECK(replica.shown(20) == "q/team-a/f/cpu=50 ");
  replica.put(workload("w", cpus("2", 2)), 20);  // two of the four pods
  CHECK(replica.shown(30) == "q/team-a/f/cpu=70 ");
  replica.remove(key(kWorkloads, "w", "team-a"), 30);
  CHECK(replica.shown(99) == "q/team-a/f/cpu=70 ");
}

TEST_CASE("resource seconds: each second is counted by one leader, whoever it is") {
  Replica a = leader(), b = leader();
  b.counted.end(at(0));
  const TypedObject running = workload("w", cpus("2"));
  a.put(running, 0);
  b.put(running, 0);
  CHECK(a.shown(10) == "q/team-a/f/cpu=20 ");
  CHECK(b.shown(10) == "q/team-a/f/cpu=0 ");
  a.counted.end(at(10));
  b.counted.begin(at(10));
  CHECK(a.shown(25) == "q/team-a/f/cpu=20 ");
  CHECK(b.shown(25) == "q/team-a/f/cpu=30 ");
  b.counted.end(at(25));
  a.counted.begin(at(27));  // no replica led for two seconds
  const TypedObject ended = workload("w", cpus("2"), {"QuotaReserved", "Admitted", "Finished"});
  a.put(ended, 30);
  b.put(ended, 30);
  CHECK(a.shown(99) == "q/team-a/f/cpu=26 ");
  CHECK(b.shown(99) == "q/team-a/f/cpu=30 ");
}

TEST_CASE("resource seconds: a restart begins at 0, and does not count again what ran before it") {
  Replica replica;
  replica.put(workload("w", cpus("2")), 0);  // admitted an hour ago
  replica.put(object(kResourceFlavors, "f", json::object()), 1);
  replica.put(cluster_queue("q"), 1);
  replica.put(local_queue("team-a", "q"), 1);
  CHECK(replica.shown(5) == "q/team-a/f/cpu=0 ");
  replica.counted.begin(at(5));
  CHECK(replica.shown(8) == "q/team-a/f/cpu=6 ");
}

TEST_CASE("resource seconds: a leader that was frozen counts to the end of its Lease, and no value falls") {
  Replica replica = leader();
  replica.put(workload("w", cpus("1")), 0);
  CHECK(replica.shown(20) == "q/team-a/f/cpu=20 ");
  // It goes on at 80; its Lease ended at 28. A scrape is faster than the election.
  CHECK(Replica::to_text(replica.counted.read(replica.state, at(28))) == "q/team-a/f/cpu=28 ");
  CHECK(Replica::to_text(replica.counted.read(replica.state, std::nullopt)) == "q/team-a/f/cpu=28 ");
  replica.counted.end(at(28));
  CHECK(replica.shown(90) == "q/team-a/f/cpu=28 ");
  replica.counted.begin(at(100));
  CHECK(replica.shown(101) == "q/team-a/f/cpu=29 ");
  // A Lease that ends before what was shown.
  replica.counted.end(at(90));
  CHECK(replica.shown(200) == "q/team-a/f/cpu=29 ");
  replica.counted.end(at(300));
  CHECK(replica.shown(300) == "q/team-a/f/cpu=29 ");
}

TEST_CASE("resource seconds: series end with the LocalQueue or the ClusterQueue, and begin at 0 again") {
  struct Row {
    const char* name;
    ObjectKey gone;
    TypedObject back;
  };
  const Row rows[] = {
      {"LocalQueue", key(kLocalQueues, "lq", "team-a"), local_queue("team-a", "q")},
      {"ClusterQueue", key(kClusterQueues, "q"), cluster_queue("q")},
      {"ResourceFlavor", key(kResourceFlavors, "f"), object(kResourceFlavors, "f", json::object())},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Replica replica = leader();
    replica.put(workload("w", cpus("1")), 0);
    replica.remove(key(kWorkloads, "w", "team-a"), 10);
    CHECK(replica.shown(20) == "q/team-a/f/cpu=10 ");
    replica.remove(row.gone, 30);
    CHECK(replica.shown(30).empty());
    CHECK(replica.counted.kept() == 0);
    replica.put(row.back, 40);
    CHECK(replica.shown(40).empty());
    replica.put(workload("again", cpus("1")), 50);
    CHECK(replica.shown(51) == "q/team-a/f/cpu=1 ");
  }
}

TEST_CASE("resource seconds: a running Workload is charged also when its LocalQueue has gone, until it ends") {
  Replica replica = leader();
  replica.put(cluster_queue("other"), 0);
  replica.put(workload("w", cpus("1")), 0);
  replica.put(local_queue("team-a", "other"), 10);
  CHECK(replica.shown(20) == "q/team-a/f/cpu=20 ");
  replica.remove(key(kWorkloads, "w", "team-a"), 30);
  CHECK(replica.shown(30).empty());
  CHECK(replica.counted.kept() == 0);
}

TEST_CASE("resource seconds: a resource that the ClusterQueue no longer covers has no series") {
  Replica replica = leader();
  replica.put(workload("w", cpus("1")), 0);
  replica.put(cluster_queue("q", {"memory"}), 10);
  CHECK(replica.shown(10).empty());
  replica.remove(key(kWorkloads, "w", "team-a"), 30);
  CHECK(replica.counted.kept() == 0);
}

TEST_CASE("resource seconds: namespaces, flavors and resources that only a status names make no series") {
  Replica replica = leader();
  for (int i = 0; i < 1000; ++i) {
    const std::string n = std::to_string(i), ns = "team-" + n;
    replica.put(workload("flavor", admission("q", {{"cpu", "f" + n}}, {{"cpu", "1"}}), {"QuotaReserved", "Admitted"},
                         json::array(), ns),
                i);
    replica.put(workload("resource", admission("q", {{"r" + n, "f"}}, {{"r" + n, 1}}), {"QuotaReserved", "Admitted"},
                         json::array(), ns),
                i);
    replica.put(workload("queue", admission("q" + n, {{"cpu", "f"}}, {{"cpu", "1"}}), {"QuotaReserved", "Admitted"},
                         json::array(), ns),
                i);
    CHECK(replica.shown(i).empty());
    for (const char* name : {"flavor", "resource", "queue"}) replica.remove(key(kWorkloads, name, ns), i);
  }
  CHECK(replica.counted.kept() == 0);
  // Many namespaces that did have a LocalQueue: nothing is left of them.
  for (int i = 0; i < 1000; ++i) {
    const std::string ns = "ci-" + std::to_string(i);
    replica.put(local_queue(ns, "q"), i);
    replica.put(workload("w", cpus("1"), {"QuotaReserved", "Admitted"}, json::array(), ns), i);
    replica.remove(key(kLocalQueues, "lq", ns), i + 1);
    replica.remove(key(kWorkloads, "w", ns), i + 2);
  }
  CHECK(replica.counted.kept() == 0);
}

TEST_CASE("resource seconds: amounts below 0 and beyond all bounds leave the others as they are") {
  Replica replica = leader();
  replica.put(workload("honest", cpus("1")), 0);
  replica.put(workload("negative", cpus("-1000")), 0);
  CHECK(replica.shown(10) == "q/team-a/f/cpu=10 ");
  replica.put(workload("large", cpus("9e18")), 10);
  replica.put(workload("larger", cpus("9e18")), 10);
  const double before = replica.counted.read(replica.state, at(10)).front().value;
  CHECK(before == 10);
  replica.remove(key(kWorkloads, "large", "team-a"), 10);
  replica.remove(key(kWorkloads, "larger", "team-a"), 10);
  replica.remove(key(kWorkloads, "negative", "team-a"), 10);
  CHECK(replica.shown(20) == "q/team-a/f/cpu=20 ");
}

TEST_CASE("resource seconds: a state that was made again is counted on") {
  Replica replica = leader();
  replica.put(workload("w", cpus("1")), 0);
  replica.put(workload("set aside", cpus("2")), 0);
  ObjectKey putting = key(kNamespaces, "");
  replica.state.rebuild([](const TypedObject& object) { return meta_of(object).name != "set aside"; }, putting);
  replica.counted.recount(replica.state, at(10));
  CHECK(replica.shown(20) == "q/team-a/f/cpu=40 ");
  replica.remove(key(kWorkloads, "w", "team-a"), 20);
  CHECK(replica.shown(30) == "q/team-a/f/cpu=40 ");
}

TEST_CASE("resource seconds: any life is what a model adds up second by second") {
  for (uint64_t seed = 1; seed <= test::seeds(20); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    Replica replica = leader();
    std::map<std::string, int> used;  // cpus by Workload
    bool leads = true;
    double expected = 0;
    for (int second = 0; second < 300; ++second) {
      const std::string name = "w" + std::to_string(any(5));
      switch (any(5)) {
        case 0:
          if (used.erase(name) == 1) replica.remove(key(kWorkloads, name, "team-a"), second);
          break;
        case 1:
          used[name] = 0;
          replica.put(workload(name, {}, {"Evicted"}), second);
          break;
        case 2:
          leads = any(4) != 0;
          if (leads)
            replica.counted.begin(at(second));
          else
            replica.counted.end(at(second));
          break;
        default:
          used[name] = 1 + any(9);
          replica.put(workload(name, cpus(std::to_string(used[name]).c_str())), second);
      }
      const auto readings = replica.counted.read(replica.state, at(second));
      const double value = readings.empty() ? 0 : readings.front().value;
      CHECK(value == expected);
      for (const auto& [workload, cpu] : used) expected += leads ? cpu : 0;
    }
  }
}

}  // namespace resource_seconds_test
