#include "commands/explain/explain_unqueued.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "kinds/unqueued_kinds.h"

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

jobs::NamedKind named(const char* word) {
  return *jobs::find_named_kind(word);
}

json part(const char* name, const char* created, const json& more = json::object()) {
  json made = {{"metadata", {{"name", name}, {"creationTimestamp", created}}}};
  made.merge_patch(more);
  return made;
}

TEST_CASE("explain of an object that muster does not know says so whether or not it can be read") {
  OneObject api(json{{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}});
  ExplainReply reply = ask_about_unqueued(api, named("pod"), "team-a", "train");
  CHECK(api.path == "/api/v1/namespaces/team-a/pods/train");
  CHECK(reply.found);
  CHECK(reply.reason == "NotInQueue");
  CHECK(reply.headline == "Pod team-a/train is in no queue: muster has nothing to do with it.");
  CHECK(reply.notes.empty());

  OneObject forbidden(fail_with(refusal(403, "Forbidden")));
  reply = ask_about_unqueued(forbidden, named("pod"), "team-a", "train");
  CHECK(reply.found);
  CHECK(reply.headline == "Pod team-a/train could not be read.");
  CHECK(reply.notes == std::vector<std::string>{"Not all could be read: the server says Forbidden."});

  OneObject missing(fail_with(refusal(404, "NotFound")));
  reply = ask_about_unqueued(missing, named("cronjob"), "team-a", "nightly");
  CHECK_FALSE(reply.found);
  CHECK(reply.headline == "There is no CronJob team-a/nightly.");
}

TEST_CASE("explain of a CronJob names its Jobs, the newest first") {
  json object = {
      {"spec",
       {{"suspend", true}, {"jobTemplate", {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}}}}}};
  const json parts = {part("nightly-1", "2026-01-01T00:00:00Z",
                           {{"status", {{"conditions", {{{"type", "Complete"}, {"status", "True"}}}}}}}),
                      part("nightly-2", "2026-01-02T00:00:00Z", {{"spec", {{"suspend", true}}}})};
  ExplainReply reply = explain_unqueued(named("cronjob"), "team-a", "nightly", object, parts, "");
  CHECK(reply.reason == "QueuedAsJobs");
  CHECK(reply.headline == "CronJob team-a/nightly is queued by its Jobs: each that it makes has a Workload.");
  CHECK(reply.because == std::vector<std::string>{"It is suspended (spec.suspend), and makes no Jobs.",
                                                  "job/nightly-2: suspended.", "job/nightly-1: Complete."});
  CHECK(reply.change ==
        std::vector<std::string>{"Ask about one of them: kubectl muster explain job/nightly-2 -n team-a"});
  object["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q";
  object["spec"]["jobTemplate"] = json::object();
  reply = explain_unqueued(named("cronjob"), "team-a", "nightly", object, json::array(), "");
  CHECK(reply.reason == "NoQueueName");
  CHECK(reply.change.at(0) == "To queue them, set the label in spec.jobTemplate.metadata.labels.");
}

TEST_CASE("explain of a Deployment names its pods and their state, and at most five") {
  const json object = {
      {"spec",
       {{"template", {{"metadata", {{"annotations", {{"kueue.x-k8s.io/pod-suspending-parent", "deployment"}}}}}}}}}};
  json parts = {part("web-1", "2026-01-01T00:00:00Z",
                     {{"spec", {{"schedulingGates", {{{"name", "kueue.x-k8s.io/admission"}}}}}}}),
                part("web-2", "2026-01-02T00:00:00Z", {{"status", {{"phase", "Running"}}}})};
  ExplainReply reply = explain_unqueued(named("deployment"), "team-a", "web", object, parts, "");
  CHECK(reply.reason == "QueuedAsPods");
  CHECK(reply.because == std::vector<std::string>{"pod/web-2: Running.", "pod/web-1: waits for its admission."});
  for (int i = 0; i < 6; ++i) parts.push_back(part("old", "2025-01-01T00:00:00Z"));
  reply = explain_unqueued(named("deployment"), "team-a", "web", object, parts, "");
  CHECK(reply.because.back() == "And 3 older ones.");
  CHECK(explain_unqueued(named("deployment"), "team-a", "web", json::object(), json::array(), "").reason ==
        "NoQueueName");
  CHECK(explain_unqueued(named("daemonset"), "team-a", "agent", json::object(), json::array(), "").headline ==
        unqueued_sentence("DaemonSet"));
}

TEST_CASE("explain of an object whose parts cannot be listed does not say that it has none") {
  const json object = {{"spec", {{"jobTemplate", {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}}}}}};
  const std::string none = "It has no Jobs now.";
  CHECK(explain_unqueued(named("cronjob"), "team-a", "nightly", object, json::array(), "").because ==
        std::vector<std::string>{none});
  const ExplainReply reply =
      explain_unqueued(named("cronjob"), "team-a", "nightly", object, json::array(), "you may not list jobs");
  CHECK(reply.reason == "QueuedAsJobs");
  CHECK(reply.because.empty());
  CHECK(reply.notes == std::vector<std::string>{"Not all could be read: you may not list jobs."});
}

TEST_CASE("explain of a part points at what it is part of") {
  const auto owned = [](const char* kind) {
    return json{{"metadata",
                 {{"ownerReferences",
                   {{{"apiVersion", "batch/v1"}, {"kind", kind}, {"name", "train"}, {"controller", true}}}}}}};
  };
  ExplainReply reply = explain_unqueued(named("pod"), "team-a", "train-x", owned("Job"), json::array(), "");
  CHECK(reply.says(ExplainReason::kPartOfAnother));
  CHECK(reply.headline == "Pod team-a/train-x is not queued by itself: it is part of Job team-a/train.");
  CHECK(reply.change.at(0) == "Ask about that one: kubectl muster explain job/train -n team-a");
  reply = explain_unqueued(named("pod"), "team-a", "train-x", owned("Workflow"), json::array(), "");
  CHECK(reply.change.at(0) == "Ask about that one: what queues it decides when its parts run.");
}

}  // namespace explain_unqueued_test
