#include "kinds/kind_description.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/yaml.h"
#include "kinds/described_job.h"
#include "kinds/unqueued_kinds.h"

namespace kind_description_test {

using namespace muster;
using nlohmann::json;

namespace {

constexpr const char* kTrain = R"(
apiVersion: config.muster.batch/v1alpha1
kind: JobKind
framework: example.com/train
group: example.com
version: v1
kindName: Train
resource: trains
suspend: spec.paused
managedBy: spec.controller
controllerName: example.com/trains
podSets:
- {name: engine, path: spec.engine}
- {each: spec.cars, namePath: name, count: [number, {path: seats, atLeast: 1}], template: pods}
podIndexLabel: example.com/seat
priorityClass: [spec.class]
active: {path: status.running, nonzero: true}
ready: {condition: Ready}
ends:
- {condition: Arrived, success: true}
- {when: {path: status.phase, in: [Derailed, Arrived]}, succeeded: {path: status.phase, in: [Arrived]}, message: status.note}
)";

json train_row() {
  return read_yaml(kTrain)->front().value;
}

std::string errors_of(const json& row) {
  const auto kind = read_kind_description(row);
  std::string text;
  if (!kind) {
    for (const FieldError& error : kind.error()) text += error.text() + "\n";
  }
  return text;
}

KindDescriptionPtr train_kind() {
  const auto kind = read_kind_description(train_row());
  REQUIRE_MESSAGE(kind.ok(), errors_of(train_row()));
  return *kind;
}

json pods(const char* image) {
  return {{"spec", {{"containers", {{{"name", "c"}, {"image", image}}}}}}};
}

json train() {
  return {{"apiVersion", "example.com/v1"},
          {"kind", "Train"},
          {"metadata", {{"name", "t"}, {"namespace", "team"}, {"uid", "u"}}},
          {"spec",
           {{"paused", true},
            {"class", "high"},
            {"controller", "example.com/trains"},
            {"engine", {{"template", pods("engine")}}},
            {"cars",
             {{{"name", "First"}, {"number", 2}, {"seats", 3}, {"pods", pods("first")}},
              {{"name", "second"}, {"seats", 0}, {"pods", pods("second")}, {"colour", "red"}}}}}}};
}

}  // namespace

TEST_CASE("described jobs: pod sets, counts and state come from the places that the description names") {
  const KindDescriptionPtr kind = train_kind();
  const DescribedJobPtr job = read_described_job(*kind, train());
  CHECK(job->suspended);
  CHECK(job->managed_by == "example.com/trains");
  CHECK(job->priority_class == "high");
  CHECK(job->unreadable.empty());
  REQUIRE(job->pod_sets.size() == 3);
  CHECK(job->pod_sets[0].name == "engine");
  CHECK(job->pod_sets[0].count == 1);
  CHECK(job->pod_sets[1].name == "first");
  CHECK(job->pod_sets[1].count == 6);
  CHECK(job->pod_sets[2].name == "second");
  CHECK(job->pod_sets[2].count == 1);
  CHECK(json::parse(job->pod_sets[2].pod_template.spec->text) == pods("second")["spec"]);
  REQUIRE(job->lists[1].size() == 2);
  CHECK(json::parse(job->lists[1][1])["colour"] == "red");
  CHECK_FALSE(job->active);
  CHECK_FALSE(job->end.has_value());

  json running = train();
  running["spec"]["paused"] = false;
  running["status"] = {{"running", 2}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
  CHECK_FALSE(read_described_job(*kind, running)->suspended);
  CHECK(read_described_job(*kind, running)->active);
  CHECK(read_described_job(*kind, running)->pods_ready);

  json over = train();
  over["status"] = {{"phase", "Derailed"}, {"note", "snow"}};
  REQUIRE(read_described_job(*kind, over)->end.has_value());
  CHECK_FALSE(read_described_job(*kind, over)->end->success);
  CHECK(read_described_job(*kind, over)->end->message == "snow");
  over["status"]["conditions"] = {{{"type", "Arrived"}, {"status", "True"}, {"message", "at last"}}};
  CHECK(read_described_job(*kind, over)->end->success);
  CHECK(read_described_job(*kind, over)->end->message == "at last");
}

TEST_CASE("described jobs: what a tenant writes never makes a count small or negative") {
  const KindDescriptionPtr kind = train_kind();
  struct Row {
    json number;
    int32_t count;
  };
  const int32_t most = 2147483647;
  for (const Row& row : {Row{-5, 0}, Row{0, 0}, Row{4294967296, most}, Row{1e30, most}, Row{"2", most}, Row{2.5, most},
                         Row{json::array(), most}, Row{nullptr, 3}, Row{true, most}}) {
    json job = train();
    job["spec"]["cars"][0]["number"] = row.number;
    CHECK_MESSAGE(read_described_job(*kind, job)->pod_sets[1].count == row.count, row.number.dump());
  }
  json many = train();
  for (int i = 0; i < 40; ++i) many["spec"]["cars"].push_back({{"name", "c" + std::to_string(i)}, {"pods", pods("x")}});
  CHECK_FALSE(read_described_job(*kind, many)->unreadable.empty());
  json twins = train();
  twins["spec"]["cars"][0]["name"] = "SECOND";
  CHECK_FALSE(read_described_job(*kind, twins)->unreadable.empty());
}

TEST_CASE("described jobs: a pod set under another spelling of its name keeps the job out of its queue") {
  const KindDescription* kind = find_described_kind("kubeflow.org", "PyTorchJob");
  REQUIRE(kind != nullptr);
  const json replica = {{"replicas", 5}, {"template", pods("x")}};
  json job = {{"metadata", {{"name", "t"}}},
              {"spec", {{"pytorchReplicaSpecs", {{"Master", replica}, {"Other", replica}}}}}};
  CHECK(read_described_job(*kind, job)->unreadable.empty());
  job["spec"]["pytorchReplicaSpecs"]["worker"] = replica;
  CHECK(read_described_job(*kind, job)->unreadable.find("\"worker\"") != std::string::npos);
}

TEST_CASE("described jobs: objects of any shape are read") {
  const KindDescriptionPtr kind = train_kind();
  for (const json& wrong : {json(), json(3), json::array({1}), json::object()}) {
    for (const char* place : {"/spec", "/spec/engine", "/spec/cars", "/spec/cars/0", "/spec/cars/0/pods",
                              "/spec/paused", "/status", "/status/conditions", "/metadata"}) {
      json job = train();
      job[json::json_pointer(place)] = wrong;
      CHECK_NOTHROW(read_described_job(*kind, job));
    }
  }
}

TEST_CASE("kind descriptions: what is wrong is told with its place") {
  CHECK(errors_of(train_row()).empty());
  struct Row {
    const char* place;
    json value;
    const char* said;
  };
  const Row rows[] = {
      {"/apiVersion", "v1", "apiVersion"},
      {"/framework", nullptr, "framework"},
      {"/group", "Not a group", "group"},
      {"/resource", "Trains", "resource"},
      {"/suspend", "spec.*.paused", "suspend"},
      {"/suspend", "spec..paused", "suspend"},
      {"/suspendedWhen", "yes", "suspendedWhen"},
      {"/controllerName", nullptr, "controllerName"},
      {"/podSets", json::array(), "podSets"},
      {"/podSets/0/name", nullptr, "podSets[0].name"},
      {"/podSets/1/namePath", nullptr, "podSets[1].namePath"},
      {"/podSets/1/count/1/atLeast", -1, "podSets[1].count[1].atLeast"},
      {"/podSets/0/pth", "x", "podSets[0].pth"},
      {"/active", nullptr, "active"},
      {"/ready", json::object(), "ready"},
      {"/ends/0/succes", true, "ends[0].succes"},
      {"/ends/1/when", nullptr, "ends[1]"},
      {"/owns", {{{"group", "batch"}}}, "owns[0].kindName"},
      {"/owns", {{{"group", "batch"}, {"kindName", "Job"}, {"podSets", {1}}}}, "owns[0].podSets[0]"},
      {"/owns", {{{"any", true}, {"times", 0}}}, "owns[0].times"},
      {"/owns", {{{"any", true}, {"kindName", "Job"}}}, "owns[0].kindName"},
      {"/unknown", 1, "unknown"},
  };
  for (const Row& row : rows) {
    json wrong = train_row();
    wrong[json::json_pointer(row.place)] = row.value;
    const std::string said = errors_of(wrong);
    CHECK_MESSAGE(said.find(row.said) != std::string::npos, row.place, ": ", said);
  }
  CHECK_FALSE(errors_of("text").empty());
}

TEST_CASE("kind descriptions: the labels of an object's pods are a text with values of the object") {
  json row = train_row();
  row["podSelector"] = "a={metadata.name},b in ({status.x},{status.y})";
  const auto kind = read_kind_description(row);
  REQUIRE(kind.ok());
  const auto& parts = (*kind)->pod_selector;
  CHECK(pod_selector_of(parts, {{"metadata", {{"name", "t"}}}, {"status", {{"x", "1"}}}}) == "a=t,b in (1,)");
  CHECK(pod_selector_of(find_described_kind("ray.io", "RayJob")->pod_selector, {{"status", json::object()}}).empty());
  // A name that is no value of a label is on no pod.
  CHECK(pod_selector_of(parts, {{"metadata", {{"name", std::string(64, 'a')}}}}).empty());
  CHECK(pod_selector_of(parts, {{"metadata", {{"name", "t,c=d"}}}}).empty());
  CHECK(pod_selector_of_gone(parts, "t").empty());
  CHECK(pod_selector_of_gone(find_described_kind("ray.io", "RayCluster")->pod_selector, "t") == "ray.io/cluster=t");
  CHECK(pod_selector_of_gone({}, "t").empty());
  for (const char* wrong : {"a={metadata.name", "a={}", "a={status.*.x}"}) {
    row["podSelector"] = wrong;
    CHECK(errors_of(row).find("podSelector") != std::string::npos);
  }
}

TEST_CASE("kind descriptions: what a kind owns are its own pod sets") {
  const auto mpi = [](const char* pod_set) {
    json row = json::parse(find_described_kind("kubeflow.org", "MPIJob")->text);
    row["owns"][0]["podSets"] = {pod_set};
    return errors_of(row);
  };
  CHECK(mpi("launcher").empty());
  CHECK(mpi("starter").find("owns[0].podSets") != std::string::npos);
  const KindDescription& ray = *find_described_kind("ray.io", "RayService");
  REQUIRE(ray.find_owned("ray.io", "RayCluster") != nullptr);
  CHECK(ray.find_owned("ray.io", "RayCluster")->times == 2);
  CHECK(ray.find_owned("other.io", "RayCluster") == nullptr);
  CHECK(ray.find_owned("batch", "Job") == nullptr);
  CHECK(find_described_kind("workload.codeflare.dev", "AppWrapper")->find_owned("batch", "Job") != nullptr);
}

TEST_CASE("kind descriptions: rows that are built in are right, of different names, and known as frameworks") {
  std::set<std::string> frameworks, resources;
  for (const KindDescriptionPtr& kind : described_kinds()) {
    INFO(kind->framework);
    CHECK(frameworks.insert(kind->framework).second);
    CHECK(resources.insert(kind->plural).second);
    CHECK(find_described_kind(kind->group, kind->kind) == kind.get());
    CHECK(is_queued_type(kind->group, kind->plural));
    const UnqueuedKind* listed = find_unqueued_kind(kind->group, kind->kind);
    REQUIRE(listed != nullptr);
    CHECK(listed->framework == kind->framework);
    CHECK(listed->version == kind->version);
    CHECK(listed->resource == kind->plural);
  }
  CHECK(frameworks.size() == 12);
}

}  // namespace kind_description_test
