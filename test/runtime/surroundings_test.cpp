#include "runtime/surroundings.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/kube/virtual_time.h"

namespace surroundings_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

kube::StatusError refusal(int code, const std::string& reason, const std::string& object = "") {
  return {code, reason, "the server says " + std::to_string(code), {}, std::nullopt, object};
}

// An API server that is ill for a while, and then tells everything.
class IllApi final : public kube::KubeApi {
 public:
  IllApi(const Clock& clock, Duration ill_for) : clock_(clock), well_at_(clock.now().monotonic + ill_for) {}

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    ++requests;
    if (clock_.now().monotonic < well_at_) return fail_with(illness);
    if (request.path.ends_with("/pods/muster-1")) return pod;
    if (request.path.ends_with("/selfsubjectreviews")) return json{{"status", {{"userInfo", {{"username", user}}}}}};
    return fail_with(refusal(404, "NotFound", "it"));
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return Done{};
  }

  kube::StatusError illness = refusal(503, "ServiceUnavailable");
  std::string user = "system:serviceaccount:muster-system:muster";
  json pod = {{"spec", {{"containers", {{{"name", "muster"}, {"image", "registry.example/muster:1"}}}}}}};
  int requests = 0;

 private:
  const Clock& clock_;
  const MonotonicTime well_at_;
};

SurroundingsQuestion in_a_pod() {
  return {.pod_namespace = "muster-system", .pod_name = "muster-1"};
}

}  // namespace

TEST_CASE("surroundings: what an ill API server hides is asked for until it is known") {
  const kube::StatusError illnesses[] = {refusal(503, "ServiceUnavailable"),
                                         refusal(500, "InternalError"),
                                         refusal(403, "Forbidden"),
                                         refusal(404, ""),  // a proxy's: it names no object
                                         kube::unanswered(kube::kUnreachableReason, "refused"),
                                         kube::unanswered(kube::kNoAnswerInTimeReason, "silence")};
  for (const kube::StatusError& illness : illnesses) {
    CAPTURE(illness.message);
    kube::test::VirtualTime time;
    IllApi api(time, 10min);
    api.illness = illness;
    int told = 0;
    const auto learnt = learn_surroundings(api, in_a_pod(), time.timing(),
                                           [&](const std::string& why) {
                                             CHECK(why.find(illness.message) != std::string::npos);
                                             ++told;
                                           },
                                           {});
    REQUIRE(learnt.ok());
    REQUIRE(learnt->has_value());
    CHECK((*learnt)->own.image == "registry.example/muster:1");
    CHECK((*learnt)->own.user == "system:serviceaccount:muster-system:muster");
    CHECK((*learnt)->native_jobsets);
    CHECK(told > 50);
    CHECK(told < 80);
  }
}

TEST_CASE("surroundings: each is asked until it is known and no longer") {
  kube::test::VirtualTime time;
  IllApi api(time, 0s);
  api.pod = {{"spec", json::object()}};  // no image yet
  int told = 0;
  const auto learnt =
      learn_surroundings(api, in_a_pod(), time.timing(),
                         [&](const std::string&) {
                           if (++told == 3)
                             api.pod = {{"spec", {{"containers", {{{"name", "muster"}, {"image", "here"}}}}}}};
                         },
                         {});
  REQUIRE((learnt.ok() && learnt->has_value()));
  CHECK((*learnt)->own.image == "here");
  CHECK(told == 3);
  // Four times the Pod, once the user, three traces of JobSet controllers.
  CHECK(api.requests == 8);
}

TEST_CASE("surroundings: a person is no service account, and outside a pod nobody asks for one") {
  kube::test::VirtualTime time;
  IllApi api(time, 0s);
  api.user = "kubernetes-admin";
  const auto learnt = learn_surroundings(api, {.jobset_controller = JobSetController::kExternal}, time.timing(),
                                         [](const std::string&) { FAIL("nothing to wait for"); }, {});
  REQUIRE((learnt.ok() && learnt->has_value()));
  CHECK((*learnt)->own.user.empty());
  CHECK((*learnt)->own.image.empty());
  CHECK_FALSE((*learnt)->native_jobsets);
  // Who asks, and who the JobSet controller is.
  CHECK(api.requests == 2);
}

TEST_CASE("surroundings: a stop ends the waiting") {
  kube::test::VirtualTime time;
  IllApi api(time, 10h);
  std::stop_source stop;
  const auto learnt = learn_surroundings(
      api, in_a_pod(), time.timing(), [&](const std::string&) { stop.request_stop(); }, stop.get_token());
  REQUIRE(learnt.ok());
  CHECK_FALSE(learnt->has_value());
}

namespace {

// Knows the definition of one kind.
class DefinitionApi final : public kube::KubeApi {
 public:
  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    if (request.path.ends_with("/selfsubjectreviews")) return json{{"status", {{"userInfo", {{"username", "u"}}}}}};
    if (request.path.ends_with("/customresourcedefinitions/trains.example.com")) {
      if (refused)
        return fail_with(refusal(*refused, *refused == 403 ? "Forbidden" : "NotFound", "trains.example.com"));
      return definition;
    }
    return fail_with(refusal(404, "NotFound", "it"));
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return Done{};
  }
  json definition;
  std::optional<int> refused;
};

}  // namespace

TEST_CASE("surroundings: a kind of the configuration that its definition contradicts is refused with the path") {
  kube::test::VirtualTime time;
  DefinitionApi api;
  api.definition = {
      {"spec",
       {{"scope", "Namespaced"},
        {"names", {{"kind", "Train"}}},
        {"versions",
         {{{"name", "v1"},
           {"served", true},
           {"schema",
            {{"openAPIV3Schema",
              {{"type", "object"},
               {"properties",
                {{"spec", {{"type", "object"}, {"properties", {{"halt", {{"type", "boolean"}}}}}}}}}}}}}}}}}}};
  const json row = {{"apiVersion", kJobKindApiVersion},
                    {"kind", kJobKindKind},
                    {"framework", "example.com/train"},
                    {"group", "example.com"},
                    {"version", "v1"},
                    {"kindName", "Train"},
                    {"resource", "trains"},
                    {"suspend", "spec.halt"},
                    {"active", {{"path", "spec.halt"}, {"in", {"x"}}}},
                    {"ready", {{"path", "spec.halt"}, {"in", {"x"}}}}};
  const auto ask = [&](json kind) {
    kind["podSets"] = {{{"name", "p"}, {"path", "spec.halted"}}};
    return learn_surroundings(
        api, {.jobset_controller = JobSetController::kNative, .kinds = {read_kind_description(kind).value()}},
        time.timing(), [](const std::string&) {}, {});
  };
  const auto learnt = ask(row);
  REQUIRE_FALSE(learnt.ok());
  CHECK(learnt.error().message.find("JobKind example.com/train: podSets[0].path: Invalid value: \"spec.halted\"") == 0);
  CHECK(learnt.error().message.find("has no spec.halted in its schema of v1") != std::string::npos);
  // What is not installed, or cannot be read, contradicts nothing.
  for (const int code : {403, 404}) {
    api.refused = code;
    CHECK(ask(row).ok());
  }
}

}  // namespace surroundings_test
