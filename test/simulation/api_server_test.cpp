// The simulated API server against the rules of the real one.
#include "test/world/api_server.h"

#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "api/workload.h"
#include "test/simulation/api_server_fixture.h"
#include "test/simulation/manifests.h"

namespace api_server_test {

using namespace muster;
using namespace muster::world;
using muster::test::ApiServerFixture;
using muster::test::job_key;
using muster::test::job_of;
using nlohmann::json;

namespace {

json config_map(const std::string& name, json labels = json::object()) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", std::move(labels)}}}};
}

ObjectKey config_map_key(const std::string& name) {
  return {&kConfigMaps, "default", name};
}

json pod(const std::string& name) {
  json made = muster::test::pod_template();
  made["apiVersion"] = "v1";
  made["kind"] = "Pod";
  made["metadata"] = {{"name", name}, {"namespace", "default"}};
  return made;
}

std::string version_of(const ObjectPtr& object) {
  return std::string(string_at(*object, {"metadata", "resourceVersion"}));
}

}  // namespace

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a new object gets its uid and version and time and generation") {
  const ObjectPtr job = created(job_of(2));
  CHECK(string_at(*job, {"metadata", "uid"}).size() == 36);
  CHECK(string_at(*job, {"metadata", "creationTimestamp"}) == "2027-01-15T08:00:00Z");
  CHECK(int_at(*job, {"metadata", "generation"}) == 1);
  CHECK(string_at(*job, {"spec", "template", "metadata", "labels", "batch.kubernetes.io/controller-uid"}) ==
        string_at(*job, {"metadata", "uid"}));
  CHECK(int_at(*job, {"spec", "backoffLimit"}) == 3);
  const ObjectPtr other = created(job_of(2, "other"));
  CHECK(string_at(*other, {"metadata", "uid"}) != string_at(*job, {"metadata", "uid"}));
  CHECK(std::stoull(version_of(other)) > std::stoull(version_of(job)));
}

TEST_CASE("api server: the same seed gives the same uids and another seed others") {
  auto uid_with = [](uint64_t seed) {
    Timeline timeline{TimePoint{}};
    ApiServer server{timeline, {.seed = seed}};
    const Answer answer =
        server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
    return std::string(string_at(*answer.object, {"metadata", "uid"}));
  };
  CHECK(uid_with(1) == uid_with(1));
  CHECK(uid_with(1) != uid_with(2));
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: what a create is answered") {
  created(config_map("there"));
  json unknown = config_map("x");
  unknown["kind"] = "Riddle";
  json elsewhere = config_map("x");
  elsewhere["metadata"]["namespace"] = "nowhere";
  json nameless = config_map("x");
  nameless["metadata"].erase("name");
  json versioned = config_map("x");
  versioned["metadata"]["resourceVersion"] = "7";
  json always = job_of(1, "x");
  always["spec"]["template"]["spec"]["restartPolicy"] = "Always";
  const struct {
    const char* name;
    json manifest;
    reconcilers::WriteOutcome outcome;
  } kRows[] = {
      {"a name that is taken", config_map("there"), reconcilers::WriteOutcome::kAlreadyExists},
      {"a kind that nobody knows", unknown, reconcilers::WriteOutcome::kRefused},
      {"a namespace that is not there", elsewhere, reconcilers::WriteOutcome::kNotFound},
      {"no name at all", nameless, reconcilers::WriteOutcome::kRefused},
      {"a resourceVersion", versioned, reconcilers::WriteOutcome::kRefused},
      {"a name with capitals", config_map("Large"), reconcilers::WriteOutcome::kRefused},
      {"a label value that is too long", config_map("x", {{"a", std::string(64, 'a')}}),
       reconcilers::WriteOutcome::kRefused},
      {"a Job whose name is no label value", job_of(1, std::string(64, 'j')), reconcilers::WriteOutcome::kRefused},
      {"a Job that restarts always", always, reconcilers::WriteOutcome::kRefused},
      {"something in order", config_map("x"), reconcilers::WriteOutcome::kDone},
  };
  for (const auto& row : kRows) {
    INFO(std::string(row.name));
    const Answer answer = server.create(row.manifest);
    CHECK(answer.outcome == row.outcome);
    CHECK(answer.done() == answer.message.empty());
  }
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: generateName becomes a name of its own each time") {
  json manifest = config_map("");
  manifest["metadata"]["generateName"] = "made-";
  const std::string first(string_at(*created(manifest), {"metadata", "name"}));
  const std::string second(string_at(*created(manifest), {"metadata", "name"}));
  CHECK(first.starts_with("made-"));
  CHECK(first.size() == 10);
  CHECK(first != second);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a dry run answers as the write would and changes nothing") {
  const Answer answer = server.create(config_map("x"), {.dry_run = true});
  CHECK(answer.done());
  CHECK(string_at(*answer.object, {"metadata", "name"}) == "x");
  CHECK(server.get(config_map_key("x")) == nullptr);
  created(config_map("y"));
  const uint64_t version = server.version();
  CHECK(server.patch(config_map_key("y"), {{"data", {{"a", "b"}}}}, {.dry_run = true}).done());
  CHECK(server.remove(config_map_key("y"), {}, {.dry_run = true}).done());
  CHECK(server.version() == version);
  CHECK(server.get(config_map_key("y")) != nullptr);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a patch counts versions and generations as Kubernetes does") {
  created(job_of(2));
  const struct {
    const char* name;
    json patch;
    bool status;
    bool new_version;
    int64_t generation;
  } kRows[] = {
      {"a label is no new generation", {{"metadata", {{"labels", {{"a", "b"}}}}}}, false, true, 1},
      {"the same label again is no change at all", {{"metadata", {{"labels", {{"a", "b"}}}}}}, false, false, 1},
      {"a change of the spec is a new generation", {{"spec", {{"parallelism", 1}}}}, false, true, 2},
      {"the status is not the spec's business", {{"status", {{"active", 1}}}}, false, false, 2},
      {"the status has its own door", {{"status", {{"active", 1}}}}, true, true, 2},
      {"and that is closed to the spec", {{"spec", {{"parallelism", 2}}}}, true, false, 2},
      {"a label that is taken away", {{"metadata", {{"labels", {{"a", nullptr}}}}}}, false, true, 2},
      {"uid and generation stay as they are", {{"metadata", {{"generation", 9}}}}, false, false, 2},
  };
  for (const auto& row : kRows) {
    INFO(std::string(row.name));
    const uint64_t before = server.version();
    const Answer answer = row.status ? server.patch_status(job_key(), row.patch) : server.patch(job_key(), row.patch);
    REQUIRE_MESSAGE(answer.done(), answer.message);
    CHECK((server.version() > before) == row.new_version);
    CHECK(int_at(*answer.object, {"metadata", "generation"}) == row.generation);
  }
  CHECK(int_at(*server.get(job_key()), {"status", "active"}) == 1);
  CHECK_FALSE(find_path(*server.get(job_key()), {"metadata", "labels"}));
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a patch that names a version or a uid holds only for it") {
  const ObjectPtr first = created(config_map("x"));
  CHECK(server.patch(config_map_key("x"), {{"data", {{"a", "b"}}}}).done());
  const json stale = {{"metadata", {{"resourceVersion", version_of(first)}}}, {"data", {{"a", "c"}}}};
  CHECK(server.patch(config_map_key("x"), stale).outcome == reconcilers::WriteOutcome::kConflict);
  const json foreign = {{"metadata", {{"uid", "somebody"}}}, {"data", {{"a", "c"}}}};
  CHECK(server.patch(config_map_key("x"), foreign).outcome == reconcilers::WriteOutcome::kConflict);
  const json fresh = {{"metadata", {{"resourceVersion", version_of(server.get(config_map_key("x")))}}},
                      {"data", {{"a", "c"}}}};
  CHECK(server.patch(config_map_key("x"), fresh).done());
  CHECK(server.patch(config_map_key("gone"), {{"data", {{"a", "c"}}}}).outcome == reconcilers::WriteOutcome::kNotFound);
  CHECK(server.patch_status(config_map_key("x"), json::object()).outcome == reconcilers::WriteOutcome::kRefused);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a finalizer keeps a deleted object until it is taken away") {
  json manifest = config_map("x");
  manifest["metadata"]["finalizers"] = json::array({"example.com/hold"});
  const std::string uid(string_at(*created(manifest), {"metadata", "uid"}));
  CHECK(server.remove(config_map_key("x"), {.uid = "somebody"}).outcome == reconcilers::WriteOutcome::kConflict);
  CHECK(server.remove(config_map_key("x"), {.uid = uid}).done());
  REQUIRE(server.get(config_map_key("x")) != nullptr);
  CHECK_FALSE(string_at(*server.get(config_map_key("x")), {"metadata", "deletionTimestamp"}).empty());
  const uint64_t version = server.version();
  CHECK(server.remove(config_map_key("x")).done());
  CHECK(server.version() == version);
  CHECK(server.patch(config_map_key("x"), {{"metadata", {{"finalizers", nullptr}}}}).done());
  CHECK(server.get(config_map_key("x")) == nullptr);
  CHECK_FALSE(server.exists(uid));
  CHECK(server.remove(config_map_key("x")).outcome == reconcilers::WriteOutcome::kNotFound);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a pod on a node goes when its kubelet says so") {
  const ObjectKey key{&kPods, "default", "p"};
  created(pod("p"));
  CHECK(server.remove(key).done());
  CHECK(server.get(key) == nullptr);

  created(pod("p"));
  server.patch(key, {{"spec", {{"nodeName", "node-0"}}}});
  CHECK(server.remove(key).done());
  REQUIRE(server.get(key) != nullptr);
  CHECK(int_at(*server.get(key), {"metadata", "deletionGracePeriodSeconds"}) == 30);
  CHECK(server.remove(key, {.now = true}).done());
  CHECK(server.get(key) == nullptr);

  created(pod("p"));
  server.patch(key, {{"spec", {{"nodeName", "node-0"}}}});
  server.patch_status(key, {{"status", {{"phase", "Succeeded"}}}});
  CHECK(server.remove(key).done());
  CHECK(server.get(key) == nullptr);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a watch sees objects come and go as their labels do") {
  const Selection selection{.labels = "gang"};
  const uint64_t begin = server.version();
  created(config_map("in", {{"gang", "a"}}));
  created(config_map("out"));
  server.patch(config_map_key("in"), {{"data", {{"a", "b"}}}});
  server.patch(config_map_key("in"), {{"metadata", {{"labels", {{"gang", nullptr}}}}}});
  server.patch(config_map_key("out"), {{"metadata", {{"labels", {{"gang", "b"}}}}}});
  server.remove(config_map_key("out"));
  server.remove(config_map_key("in"));
  const auto changes = server.changes_since(kConfigMaps, selection, begin);
  REQUIRE(changes.has_value());
  std::string seen;
  uint64_t last = begin;
  for (const Change& change : *changes) {
    seen += change.removed ? "DELETED " : change.before == nullptr ? "ADDED " : "MODIFIED ";
    seen += std::string(string_at(*change.after, {"metadata", "name"})) + "; ";
    CHECK(change.version > last);
    CHECK(version_of(change.after) == std::to_string(change.version));
    last = change.version;
  }
  CHECK(seen == "ADDED in; MODIFIED in; DELETED in; ADDED out; DELETED out; ");
  CHECK(server.changes_since(kConfigMaps, selection, last)->empty());
  CHECK(server.changes_since(kPods, selection, begin)->empty());
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a watch cannot resume from what was compacted") {
  created(config_map("x"));
  const uint64_t seen = server.version();
  created(config_map("y"));
  server.compact();
  CHECK_FALSE(server.changes_since(kConfigMaps, {}, seen).has_value());
  CHECK(server.changes_since(kConfigMaps, {}, server.version()).has_value());

  ApiServer small{timeline, {.history = 2}};
  small.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
  const uint64_t first = small.version();
  for (const char* name : {"a", "b", "c"}) small.create(config_map(name));
  CHECK_FALSE(small.changes_since(kConfigMaps, {}, first).has_value());
  CHECK(small.changes_since(kConfigMaps, {}, first + 1)->size() == 2);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: selectors pick what they say") {
  created(config_map("a", {{"x", "1"}, {"y", "2"}}));
  created(config_map("b", {{"x", "2"}}));
  created(config_map("c"));
  const struct {
    const char* labels;
    const char* fields;
    const char* names;
  } kRows[] = {
      {"", "", "abc"},
      {"x", "", "ab"},
      {"!x", "", "c"},
      {"x=1", "", "a"},
      {"x==2", "", "b"},
      {"x!=1", "", "bc"},
      {"x,y", "", "a"},
      {"x,!y", "", "b"},
      {"", "metadata.name=b", "b"},
      {"x=1,y=3", "", ""},
      {"", "metadata.name!=b", "ac"},
      {"x", "metadata.name=c", ""},
  };
  for (const auto& row : kRows) {
    const std::string terms = std::string(row.labels) + " " + row.fields;
    INFO(terms);
    std::string names;
    for (const ObjectPtr& object : server.list(kConfigMaps, {row.labels, row.fields}))
      names += string_at(*object, {"metadata", "name"});
    CHECK(names == row.names);
  }
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a kind that is not served is not there") {
  created(config_map("x"));
  server.serve(kConfigMaps, false);
  CHECK(server.get(config_map_key("x")) == nullptr);
  CHECK(server.list(kConfigMaps).empty());
  CHECK(server.create(config_map("y")).outcome == reconcilers::WriteOutcome::kNotFound);
  server.serve(kConfigMaps, true);
  CHECK(server.get(config_map_key("x")) != nullptr);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: a namespace takes all that is in it along") {
  created(config_map("x"));
  json held = config_map("held");
  held["metadata"]["finalizers"] = json::array({"example.com/hold"});
  created(held);
  const ObjectKey ns{&kNamespaces, "", "default"};
  CHECK(server.remove(ns).done());
  CHECK(server.get(config_map_key("x")) == nullptr);
  CHECK(server.create(config_map("late")).outcome == reconcilers::WriteOutcome::kRefused);
  for (int i = 0; i < 5; ++i) timeline.step();
  CHECK(server.get(ns) != nullptr);
  server.patch(config_map_key("held"), {{"metadata", {{"finalizers", nullptr}}}});
  while (server.get(ns) != nullptr) REQUIRE(timeline.step());
  CHECK(server.create(config_map("late")).outcome == reconcilers::WriteOutcome::kNotFound);
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: an admission that refuses or edits is obeyed") {
  struct Gate final : world::Admission {
    std::optional<Refusal> mutate(const AdmissionRequest& request, json& object) override {
      if (request.name == "edited") object["data"]["by"] = request.user.username;
      return std::nullopt;
    }
    std::optional<Refusal> validate(const AdmissionRequest& request) override {
      if (request.name == "bad") return Refusal{.message = "no"};
      if (request.name == "down") return Refusal{reconcilers::WriteOutcome::kFailed, "no answer"};
      if (request.operation == Operation::kUpdate && request.object["data"].contains("wrong"))
        return Refusal{.message = "wrong"};
      return std::nullopt;
    }
  } gate;
  server.set_admission(&gate);
  CHECK(server.create(config_map("bad")).outcome == reconcilers::WriteOutcome::kRefused);
  CHECK(server.create(config_map("down")).outcome == reconcilers::WriteOutcome::kFailed);
  CHECK(server.create(config_map("edited"), {.user = "eve"}).done());
  CHECK(string_at(*server.get(config_map_key("edited")), {"data", "by"}) == "eve");
  CHECK(server.patch(config_map_key("edited"), {{"data", {{"wrong", "x"}}}}).outcome ==
        reconcilers::WriteOutcome::kRefused);
  CHECK(server.get(config_map_key("bad")) == nullptr);
}

}  // namespace api_server_test
