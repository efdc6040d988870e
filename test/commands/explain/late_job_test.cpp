#include "commands/explain/late_job.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace muster::commands::late_job_test {
namespace {

using nlohmann::json;

const std::string kCore = "/api/v1/namespaces/team-a/";
const std::string kBatch = "/apis/batch/v1/namespaces/team-a/";
const std::string kJobSet = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/";
const std::string kKueueObjects = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/";

// Lists and objects by path; what is forbidden is refused. Counts the requests.
class TeamApi final : public kube::KubeApi {
 public:
  std::map<std::string, json> objects, lists;
  std::set<std::string> forbidden;
  std::vector<std::string> asked;
  bool endless = false;  // each page has another one

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    std::string query;
    for (const auto& [key, value] : request.query) {
      if (key.ends_with("Selector")) query += " " + value;
    }
    asked.push_back(request.path + query);
    if (forbidden.contains(request.path)) return fail_with(kube::StatusError{403, "Forbidden", "no", {}, std::nullopt});
    if (const auto object = objects.find(request.path); object != objects.end()) return object->second;
    const auto list = lists.find(request.path);
    json made = {{"kind", "List"},
                 {"metadata", {{"resourceVersion", "1"}}},
                 {"items", list == lists.end() ? json::array() : list->second}};
    if (endless) made["metadata"]["continue"] = "more";
    return made;
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return fail_with(kube::unanswered(kube::kUnreachableReason, "nothing is streamed here"));
  }
};

json owned(const std::string& kind, const std::string& name, const std::string& uid) {
  return json::array({{{"apiVersion", "v1"}, {"kind", kind}, {"name", name}, {"uid", uid}, {"controller", true}}});
}

json unfit(const std::string& name, const json& owners) {
  return {
      {"metadata", {{"name", name}, {"uid", name + "-uid"}, {"ownerReferences", owners}}},
      {"status",
       {{"phase", "Pending"},
        {"conditions",
         {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", "0/4 nodes"}}}}}}};
}

json refusal(const std::string& kind, const std::string& name, const std::string& uid) {
  return {{"involvedObject", {{"kind", kind}, {"name", name}, {"uid", uid}}},
          {"reason", "FailedCreate"},
          {"message", "exceeded quota: q"},
          {"lastTimestamp", "2026-01-01T12:00:00Z"}};
}

TeamApi team() {
  TeamApi api;
  api.objects[kBatch + "jobs/train"] = {{"metadata", {{"name", "train"}, {"namespace", "team-a"}, {"uid", "j"}}},
                                        {"spec", {{"parallelism", 2}, {"template", {{"spec", json::object()}}}}},
                                        {"status", {{"startTime", "2026-01-01T11:59:00Z"}}}};
  return api;
}

ExplainReply asked(TeamApi& api, const ResourceType& type, const std::string& name,
                   ExplainReason reason = ExplainReason::kPodsNotReady) {
  ExplainReply reply;
  reply.kind = type.kind;
  reply.ns = "team-a";
  reply.name = name;
  reply.say(reason, "It is admitted.");
  add_late_pods(api, {&type, "team-a", name}, reply);
  return reply;
}

std::string first(const ExplainReply& reply) {
  return reply.because.empty() ? "" : reply.because[0];
}

}  // namespace

TEST_CASE("late job: the pods of a Job say why, and its Events why some do not exist") {
  TeamApi api = team();
  api.lists[kCore + "pods"] = {unfit("a", owned("Job", "train", "j")), unfit("b", owned("Job", "train", "j")),
                               unfit("other", owned("Job", "train", "another uid"))};
  ExplainReply reply = asked(api, kJobs, "train");
  CHECK(first(reply) == "Pod a and 1 more cannot be scheduled (Unschedulable): 0/4 nodes.");
  CHECK(reply.notes.empty());
  // No more than what is needed: the Job, and its pods, which say it all.
  CHECK(api.asked ==
        std::vector<std::string>{kBatch + "jobs/train", kCore + "pods batch.kubernetes.io/controller-uid=j"});
  api.lists[kCore + "pods"].erase(1);
  api.lists[kCore + "events"] = {refusal("Job", "train", "j"), refusal("Job", "other", "x")};
  reply = asked(api, kJobs, "train");
  CHECK(first(reply) == "Job train cannot create its pods (FailedCreate): exceeded quota: q.");
  CHECK(reply.change.at(0).find("describe resourcequotas") != std::string::npos);
  CHECK(api.asked.back() == kCore + "events type=Warning");
}

TEST_CASE("late job: answers that say all, and jobs that run, cost no request") {
  TeamApi api = team();
  for (const ExplainReason reason : {ExplainReason::kWaitingForQuota, ExplainReason::kRunning, ExplainReason::kBackoff,
                                     ExplainReason::kStartBarrier})
    CHECK(asked(api, kJobs, "train", reason).because.empty());
  CHECK(api.asked.empty());
}

TEST_CASE("late job: who may not list pods or events is told so once, and sees the rest") {
  TeamApi api = team();
  api.forbidden = {kCore + "pods"};
  ExplainReply reply = asked(api, kJobs, "train");
  CHECK(reply.because.empty());
  CHECK(reply.headline == "It is admitted.");
  REQUIRE(reply.notes.size() == 1);
  CHECK(reply.notes[0].starts_with("You cannot list pods of namespace team-a"));
  api.forbidden = {kCore + "events"};
  api.lists[kCore + "pods"] = {unfit("a", owned("Job", "train", "j"))};
  reply = asked(api, kJobs, "train");
  CHECK(first(reply).starts_with("Pod a cannot be scheduled"));
  REQUIRE(reply.notes.size() == 1);
  CHECK(reply.notes[0].starts_with("You cannot list events of namespace team-a"));
}

TEST_CASE("late job: a JobSet by its Jobs, a Workload by its job or its group, a described kind by its name") {
  TeamApi api = team();
  api.objects[kJobSet + "jobsets/sets"] = {
      {"metadata", {{"name", "sets"}, {"namespace", "team-a"}, {"uid", "s"}}},
      {"spec",
       {{"replicatedJobs",
         {{{"name", "w"},
           {"replicas", 1},
           {"template", {{"spec", {{"parallelism", 1}, {"template", {{"spec", json::object()}}}}}}}}}}}}};
  api.lists[kBatch + "jobs"] = {
      {{"metadata", {{"name", "sets-w-0"}, {"uid", "w0"}, {"ownerReferences", owned("JobSet", "sets", "s")}}}}};
  api.lists[kCore + "pods"] = {unfit("p", owned("Job", "sets-w-0", "w0"))};
  CHECK(first(asked(api, kJobSets, "sets")).starts_with("Pod p cannot be scheduled"));
  api.lists[kCore + "pods"] = {unfit("p", owned("Job", "sets-w-0", "another uid"))};
  CHECK(first(asked(api, kJobSets, "sets")).empty());
  // A user who cannot list Jobs knows them by their names.
  api.forbidden = {kBatch + "jobs"};
  CHECK(first(asked(api, kJobSets, "sets")).starts_with("Pod p cannot be scheduled"));

  api.objects[kKueueObjects + "workloads/w"] = {
      {"metadata", {{"name", "w"}, {"ownerReferences", owned("Job", "train", "j")}}}, {"spec", json::object()}};
  api.objects[kKueueObjects + "workloads/w"]["metadata"]["ownerReferences"][0]["apiVersion"] = "batch/v1";
  api.lists[kCore + "pods"] = {unfit("a", owned("Job", "train", "j"))};
  CHECK(first(asked(api, kWorkloads, "w", ExplainReason::kPodsNotReady)).starts_with("Pod a cannot be scheduled"));
  api.objects[kKueueObjects + "workloads/group"] = {
      {"metadata",
       {{"name", "group"},
        {"ownerReferences", {{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "a"}, {"uid", "u"}}}}}},
      {"spec", {{"podSets", {{{"name", "main"}, {"count", 1}}}}}}};
  CHECK(first(asked(api, kWorkloads, "group", ExplainReason::kAdmitted)).starts_with("Pod a cannot be scheduled"));
  CHECK(api.asked.back() == kCore + "pods kueue.x-k8s.io/pod-group-name=group");
}

TEST_CASE("late job: of thousands of pods a bounded number of pages is read") {
  TeamApi api = team();
  api.endless = true;
  api.lists[kCore + "pods"] = json::array();
  for (int i = 0; i < 250; ++i) api.lists[kCore + "pods"].push_back(unfit("a", owned("Job", "train", "j")));
  const ExplainReply reply = asked(api, kJobs, "train");
  CHECK(api.asked.size() == 9);
  REQUIRE(reply.notes.size() == 1);
  CHECK(reply.notes[0] == "Only the first 2000 pods were read.");
  CHECK(first(reply).starts_with("Pod a and 1999 more"));
}

}  // namespace muster::commands::late_job_test
