#include "runtime/surroundings.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/kube/virtual_time.h"

using namespace muster;
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
