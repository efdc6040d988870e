#include "commands/explain/explain_unqueued.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace muster;
using nlohmann::json;

namespace {

class OneObject final : public kube::KubeApi {
 public:
  explicit OneObject(Answer answer) : answer_(std::move(answer)) {}
  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    path = request.path;
    return answer_;
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return Done{};
  }
  std::string path;

 private:
  const Answer answer_;
};

kube::StatusError refusal(int code, const std::string& reason) {
  return {code, reason, "the server says " + reason, {}, std::nullopt, "x"};
}

}  // namespace

TEST_CASE("explain of a kind that is not queued says so whether or not the object can be read") {
  const UnqueuedKind& kind = *find_unqueued_kind("rayjob");
  OneObject api(json{{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}});
  Explained told = ask_about_unqueued(api, kind, "team-a", "train");
  CHECK(api.path == "/apis/ray.io/v1/namespaces/team-a/rayjobs/train");
  CHECK(told.found);
  CHECK(told.reason == "KindNotQueued");
  CHECK(told.headline == unqueued_sentence("RayJob"));
  CHECK(told.because.empty());
  CHECK(told.notes.empty());

  OneObject forbidden(fail_with(refusal(403, "Forbidden")));
  told = ask_about_unqueued(forbidden, kind, "team-a", "train");
  CHECK(told.found);
  CHECK(told.headline == unqueued_sentence("RayJob"));
  CHECK(told.notes == std::vector<std::string>{"The object could not be read: the server says Forbidden."});

  OneObject missing(fail_with(refusal(404, "NotFound")));
  CHECK_FALSE(ask_about_unqueued(missing, kind, "team-a", "train").found);
}

TEST_CASE("explain of a part points at what it is part of") {
  const json pod = {{"metadata",
                     {{"ownerReferences",
                       {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "train"}, {"controller", true}}}}}}};
  const Explained told = explain_unqueued(*find_unqueued_kind("pod"), "team-a", "train-x", pod, "");
  REQUIRE(told.because.size() == 1);
  CHECK(told.because[0] == "Pod team-a/train-x is part of Job team-a/train, which made it.");
  const Explained other = explain_unqueued(*find_unqueued_kind("pod"), "team-a", "x", json::object(), "");
  REQUIRE(other.because.size() == 1);
  CHECK(other.because[0] == "Pod team-a/x does not ask for a queue either.");
}
