#include "commands/explain/explain_unqueued.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace explain_unqueued_test {

using namespace muster;
using namespace muster::commands;
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
  ExplainReply reply = ask_about_unqueued(api, kind, "team-a", "train");
  CHECK(api.path == "/apis/ray.io/v1/namespaces/team-a/rayjobs/train");
  CHECK(reply.found);
  CHECK(reply.reason == "KindNotQueued");
  CHECK(reply.headline == unqueued_sentence("RayJob"));
  CHECK(reply.because.empty());
  CHECK(reply.notes.empty());

  OneObject forbidden(fail_with(refusal(403, "Forbidden")));
  reply = ask_about_unqueued(forbidden, kind, "team-a", "train");
  CHECK(reply.found);
  CHECK(reply.headline == unqueued_sentence("RayJob"));
  CHECK(reply.notes == std::vector<std::string>{"The object could not be read: the server says Forbidden."});

  OneObject missing(fail_with(refusal(404, "NotFound")));
  CHECK_FALSE(ask_about_unqueued(missing, kind, "team-a", "train").found);
}

TEST_CASE("explain of a pod in a queue points at its Workload") {
  const UnqueuedKind& kind = *find_unqueued_kind("pod");
  json pod = {{"metadata", {{"name", "train"}, {"uid", "1"}, {"labels", {{"kueue.x-k8s.io/managed", "true"}}}}}};
  ExplainReply reply = explain_unqueued(kind, "team-a", "train", pod, "");
  CHECK(reply.headline == "Pod team-a/train waits or runs as a part of its Workload.");
  REQUIRE(reply.change.size() == 1);
  CHECK(reply.change[0].starts_with("Ask about that one: muster explain workload/pod-train-"));
  for (const char* where : {"labels", "annotations"}) {
    json member = pod;
    member["metadata"][where]["kueue.x-k8s.io/pod-group-name"] = "three";
    reply = explain_unqueued(kind, "team-a", "train", member, "");
    CHECK(reply.change.at(0) == "Ask about that one: muster explain workload/three -n team-a.");
  }
}

TEST_CASE("explain of a pod in a queue says whether it was started, and of what group it is") {
  json pod = {{"metadata",
               {{"name", "train"},
                {"labels", {{"kueue.x-k8s.io/managed", "true"}}},
                {"annotations",
                 {{"kueue.x-k8s.io/pod-group-name", "three"},
                  {"kueue.x-k8s.io/pod-group-total-count", "3"},
                  {"kueue.x-k8s.io/role-hash", "worker"}}}}},
              {"spec", {{"schedulingGates", {{{"name", "kueue.x-k8s.io/admission"}}}}}}};
  const UnqueuedKind& kind = *find_unqueued_kind("pod");
  ExplainReply reply = explain_unqueued(kind, "team-a", "train", pod, "");
  REQUIRE(reply.because.size() == 2);
  CHECK(reply.because[0].starts_with("The pod waits behind its scheduling gate kueue.x-k8s.io/admission"));
  CHECK(reply.because[1] == "Its group has 3 pods, and it counts in the pod set worker.");
  pod["spec"].erase("schedulingGates");
  pod["status"]["phase"] = "Running";
  reply = explain_unqueued(kind, "team-a", "train", pod, "");
  CHECK(reply.because[0] == "The pod has no gate any more: it was started, and its phase is Running.");
}

TEST_CASE("explain of a set that serves points at its Workloads or pods, and of one in no queue says so") {
  json object = {{"metadata", {{"name", "db"}, {"uid", "1"}}}, {"spec", {{"template", {{"spec", json::object()}}}}}};
  const UnqueuedKind& kind = *find_unqueued_kind("statefulset");
  CHECK(explain_unqueued(kind, "team-a", "db", object, "").reason == "KindNotQueued");
  json& annotations = object["spec"]["template"]["metadata"]["annotations"];
  annotations["kueue.x-k8s.io/pod-suspending-parent"] = "statefulset";
  ExplainReply reply = explain_unqueued(kind, "team-a", "db", object, "");
  CHECK(reply.reason == "QueuedAsWorkload");
  CHECK(reply.change.at(0).starts_with("Ask about that one: muster explain workload/statefulset-db-"));
  reply = explain_unqueued(*find_unqueued_kind("deployment"), "team-a", "db", object, "");
  CHECK(reply.reason == "QueuedAsPods");
  object["spec"] = {{"replicas", 4}, {"leaderWorkerTemplate", {{"workerTemplate", object["spec"]["template"]}}}};
  reply = explain_unqueued(*find_unqueued_kind("leaderworkerset"), "team-a", "db", object, "");
  CHECK(reply.because.at(0) == "It has 4 groups, each of which is admitted as a whole.");
  CHECK(reply.change.at(0).find("workload/leaderworkerset-db-0-") != std::string::npos);
}

TEST_CASE("explain of a part points at what it is part of") {
  const json pod = {{"metadata",
                     {{"ownerReferences",
                       {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "train"}, {"controller", true}}}}}}};
  const ExplainReply reply = explain_unqueued(*find_unqueued_kind("pod"), "team-a", "train-x", pod, "");
  REQUIRE(reply.because.size() == 1);
  CHECK(reply.because[0] == "Pod team-a/train-x is part of Job team-a/train, which made it.");
  const ExplainReply other = explain_unqueued(*find_unqueued_kind("pod"), "team-a", "x", json::object(), "");
  REQUIRE(other.because.size() == 1);
  CHECK(other.because[0] == "Pod team-a/x does not ask for a queue either.");
}

}  // namespace explain_unqueued_test
