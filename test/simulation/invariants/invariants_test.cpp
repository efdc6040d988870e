// The invariants notice what must not happen: each is broken on purpose, with an API
// server and no muster.
#include "test/world/invariants/invariants.h"

#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"

namespace invariants_test {

using namespace muster;
using namespace muster::world;
using muster::test::job_key;
using muster::test::job_of;
using nlohmann::json;
using std::chrono::seconds;

namespace {

const ObjectKey kGate{&kConfigMaps, "default", "gate"};

struct Fixture {
  Timeline timeline{TimePoint(seconds(1'800'000'000))};
  ApiServer server{timeline, {}};
  Invariants invariants{server, timeline};
  std::string token;

  Fixture() {
    server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
    json job = job_of(2);
    add_barrier(job["spec"]["template"]);
    token = std::string(string_at(*server.create(job).object, {"metadata", "uid"})) + "/0/e1";
  }

  static void add_barrier(json& pod_template) {
    auto field = [](const char* name, const char* path) {
      return json{{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
    };
    pod_template["metadata"]["annotations"]["muster.batch/group-scheduling-epoch"] = "e1";
    pod_template["spec"]["initContainers"] = json::array(
        {{{"name", "group-scheduling-init"},
          {"args", json::array({"--timeout-seconds=60"})},
          {"env",
           json::array({field("MUSTER_OWNER_UID", "metadata.labels['batch.kubernetes.io/controller-uid']"),
                        {{"name", "MUSTER_RESTART_ATTEMPT"}, {"value", "0"}},
                        field("MUSTER_EPOCH", "metadata.annotations['muster.batch/group-scheduling-epoch']")})}}});
    pod_template["spec"]["volumes"] =
        json::array({{{"name", "group-scheduling"}, {"configMap", {{"name", "gate"}, {"optional", true}}}}});
  }

  ObjectKey make_pod(const std::string& name) {
    const ObjectPtr job = server.get(job_key());
    json pod = (*job)["spec"]["template"];
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    pod["metadata"]["name"] = name;
    pod["metadata"]["namespace"] = "default";
    pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "batch/v1"},
                                                       {"kind", "Job"},
                                                       {"name", "train"},
                                                       {"uid", string_at(*job, {"metadata", "uid"})},
                                                       {"controller", true}}});
    REQUIRE(server.create(pod).done());
    return {&kPods, "default", name};
  }
  void start_waiter(const ObjectKey& pod) {
    const json waiter = {{"name", "group-scheduling-init"},
                         {"state", {{"running", {{"startedAt", "2027-01-15T08:00:00Z"}}}}}};
    REQUIRE(server.patch_status(pod, {{"status", {{"initContainerStatuses", json::array({waiter})}}}}).done());
  }
  void start_main(const ObjectKey& pod) {
    const json main = {{"name", "main"}, {"state", {{"running", {{"startedAt", "2027-01-15T08:00:00Z"}}}}}};
    REQUIRE(server.patch_status(pod, {{"status", {{"containerStatuses", json::array({main})}}}}).done());
  }
  // A write of muster's, as the harness reports it.
  void write(reconcilers::Write wanted, const std::string& process = "replica 0", bool heard = true) {
    const ObjectPtr before = server.get(wanted.target);
    if (wanted.verb == reconcilers::Verb::kPatch && *wanted.target.type == kConfigMaps)
      wanted.body = reconcilers::with_version(read_meta(*before), std::move(wanted.body));
    const Answer answer = server.carry_out(wanted);
    REQUIRE_MESSAGE(answer.done(), answer.message);
    invariants.see_write(process, wanted, answer, before, heard);
  }
  void make_gate() {
    write(
        {.verb = reconcilers::Verb::kCreate,
         .target = kGate,
         .body = {
             {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "gate"}, {"namespace", "default"}}}}});
  }
  void say(const std::string& started, const std::string& expired) {
    write({.verb = reconcilers::Verb::kPatch,
           .target = kGate,
           .body = {{"data", {{"started", started}, {"expired", expired}}}}});
  }
  size_t violations() const { return invariants.violations().size(); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "invariants: a gang that starts together breaks none") {
  const ObjectKey a = make_pod("a"), b = make_pod("b");
  start_waiter(a);
  CHECK_FALSE(invariants.was_complete(token));
  start_waiter(b);
  CHECK(invariants.was_complete(token));
  make_gate();
  say(token + "\n", "");
  start_main(a);
  start_main(b);
  CHECK(violations() == 0);
}

TEST_CASE_FIXTURE(Fixture, "invariants: a main container that starts before the last waiter is noticed") {
  const ObjectKey a = make_pod("a");
  make_pod("b");
  start_waiter(a);
  start_main(a);
  REQUIRE(violations() == 1);
  CHECK(invariants.violations()[0].find("pod a ") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "invariants: pods that started one after the other were never a gang") {
  const ObjectKey a = make_pod("a");
  start_waiter(a);
  REQUIRE(server.remove(a).done());
  const ObjectKey b = make_pod("b");
  start_waiter(b);
  CHECK_FALSE(invariants.was_complete(token));
  make_gate();
  say(token + "\n", "");
  CHECK(violations() == 1);
}

TEST_CASE_FIXTURE(Fixture, "invariants: a gang is as large as its Job still expects") {
  const ObjectKey a = make_pod("a");
  start_waiter(a);
  CHECK_FALSE(invariants.was_complete(token));
  REQUIRE(server.patch_status(job_key(), {{"status", {{"succeeded", 1}}}}).done());
  CHECK(invariants.was_complete(token));
  start_main(a);
  CHECK(violations() == 0);
}

TEST_CASE_FIXTURE(Fixture, "invariants: a pod without a barrier may start when it likes") {
  json pod = muster::test::pod_template();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"] = {{"name", "free"}, {"namespace", "default"}};
  REQUIRE(server.create(pod).done());
  start_main({&kPods, "default", "free"});
  CHECK(violations() == 0);
}

TEST_CASE_FIXTURE(Fixture, "invariants: what may be said about a run") {
  const ObjectKey a = make_pod("a"), b = make_pod("b");
  start_waiter(a);
  start_waiter(b);
  make_gate();
  const std::string line = token + "\n";
  SUBCASE("once started it is not expired") {
    say(line, "");
    say(line, line);
    CHECK(violations() == 2);  // listed twice, and both
  }
  SUBCASE("not in turn either") {
    say(line, "");
    say("", line);
    CHECK(violations() == 1);
  }
  SUBCASE("nothing is taken back while a pod lives") {
    say(line, "");
    say("", "");
    CHECK(violations() == 1);
  }
  SUBCASE("afterwards it may be") {
    say(line, "");
    server.remove(a);
    server.remove(b);
    say("", "");
    CHECK(violations() == 0);
  }
  SUBCASE("a second ConfigMap says the same") {
    say(line, "");
    server.remove(kGate);
    make_gate();
    say("", line);
    CHECK(violations() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "invariants: which repetitions of a write are one too many") {
  make_gate();
  // The one patch that can come without a version.
  const reconcilers::Write same{
      .verb = reconcilers::Verb::kPatch, .target = job_key(), .body = {{"spec", {{"suspend", true}}}}};
  SUBCASE("the same process again") {
    write(same);
    write(same);
    CHECK(violations() == 1);
  }
  SUBCASE("another process cannot know") {
    write(same);
    write(same, "replica 1");
    CHECK(violations() == 0);
  }
  SUBCASE("nor one that heard no answer") {
    write(same, "replica 0", false);
    write(same);
    CHECK(violations() == 0);
  }
  SUBCASE("somebody else has changed the object since") {
    write(same);
    server.patch(job_key(), {{"spec", {{"suspend", false}}}});
    write(same);
    CHECK(violations() == 0);
  }
}

TEST_CASE_FIXTURE(Fixture, "invariants: what is left of an owner that has gone is an orphan") {
  const ObjectKey a = make_pod("a");
  invariants.check_orphans();
  CHECK(violations() == 0);
  REQUIRE(server.remove(job_key()).done());
  invariants.check_orphans();
  REQUIRE(violations() == 1);
  CHECK(invariants.violations()[0].find(to_text(a)) != std::string::npos);
}

}  // namespace invariants_test
