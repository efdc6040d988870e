#include "commands/explain/explain_local.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/constants.h"
#include "explain/unseen.h"

namespace muster::commands::explain_local_test {
namespace {

using nlohmann::json;

// Lists objects by path; what is forbidden is refused, what is not there is an empty list.
class ListingApi final : public kube::KubeApi {
 public:
  std::map<std::string, json> objects;  // lists, by path
  std::map<std::string, json> single;   // objects, by path
  std::set<std::string> forbidden;      // paths
  int broken = 0;                       // a code for everything

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    if (broken != 0)
      return fail_with(kube::StatusError{broken, "InternalError", "the server is ill", {}, std::nullopt});
    if (forbidden.contains(request.path))
      return fail_with(kube::StatusError{403, "Forbidden", "you may not list " + request.path, {}, std::nullopt});
    if (const auto one = single.find(request.path); one != single.end()) return one->second;
    const auto found = objects.find(request.path);
    return json{{"kind", "List"},
                {"metadata", {{"resourceVersion", "100"}}},
                {"items", found == objects.end() ? json::array() : found->second}};
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return fail_with(kube::unanswered(kube::kUnreachableReason, "nothing is streamed here"));
  }
};

json meta(const std::string& name, const std::string& ns = "") {
  json made = {
      {"name", name}, {"uid", name + "-uid"}, {"resourceVersion", "7"}, {"creationTimestamp", "2026-01-01T11:00:00Z"}};
  if (!ns.empty()) made["namespace"] = ns;
  return made;
}

const std::string kKueue = "/apis/kueue.x-k8s.io/v1beta2/";

// A Job of 12 cpus in a queue that has 10.
ListingApi cluster() {
  ListingApi api;
  json job = {{"metadata", meta("train", "team-a")}, {"spec", {{"suspend", true}, {"parallelism", 1}}}};
  job["metadata"]["labels"] = {{kQueueNameLabel, "lq"}};
  const json pod_template = {
      {"spec", {{"containers", {{{"name", "main"}, {"resources", {{"requests", {{"cpu", "12"}}}}}}}}}}};
  job["spec"]["template"] = pod_template;
  json workload = {
      {"metadata", meta("job-train", "team-a")},
      {"spec", {{"queueName", "lq"}, {"podSets", {{{"name", "main"}, {"count", 1}, {"template", pod_template}}}}}},
      {"status",
       {{"conditions",
         {{{"type", "QuotaReserved"}, {"status", "False"}, {"reason", "ExceedsMaxQuota"}, {"message", "too much"}}}}}}};
  workload["metadata"]["ownerReferences"] = {
      {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "train"}, {"uid", "train-uid"}, {"controller", true}}};
  api.objects["/api/v1/namespaces"] = {{{"metadata", meta("team-a")}}};
  api.objects["/apis/batch/v1/jobs"] = {job};
  api.objects["/apis/batch/v1/namespaces/team-a/jobs"] = {job};
  api.objects[kKueue + "workloads"] = {workload};
  api.objects[kKueue + "namespaces/team-a/workloads"] = {workload};
  const json local = {{"metadata", meta("lq", "team-a")}, {"spec", {{"clusterQueue", "cq"}}}};
  api.objects[kKueue + "localqueues"] = {local};
  api.objects[kKueue + "namespaces/team-a/localqueues"] = {local};
  api.objects[kKueue + "resourceflavors"] = {{{"metadata", meta("f1")}}};
  api.objects[kKueue + "clusterqueues"] = {
      {{"metadata", meta("cq")},
       {"spec",
        {{"namespaceSelector", json::object()},
         {"resourceGroups",
          {{{"coveredResources", {"cpu"}},
            {"flavors", {{{"name", "f1"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", "10"}}}}}}}}}}}}}};
  return api;
}

const ObjectKey kTrain{&kJobs, "team-a", "train"};

Result<ExplainReply> ask(ListingApi& api) {
  return explain_locally(api, kTrain, {}, system_clock());
}

TEST_CASE("explain locally: who may list everything gets the answer with the numbers") {
  ListingApi api = cluster();
  const auto reply = ask(api);
  REQUIRE(reply.ok());
  CHECK(reply->reason == "ExceedsMaxQuota");
  REQUIRE(reply->flavors.size() == 1);
  CHECK(reply->flavors[0].most == "10");
  CHECK(reply->notes ==
        std::vector<std::string>{
            "Evaluated on this machine, from the objects that you can list; muster itself was not asked."});
}

TEST_CASE("explain locally: kinds that may be listed in one namespace only are read there and said to be") {
  ListingApi api = cluster();
  api.forbidden = {"/apis/batch/v1/jobs", kKueue + "workloads", kKueue + "localqueues", "/api/v1/namespaces",
                   "/api/v1/namespaces/team-a"};
  const auto reply = ask(api);
  REQUIRE(reply.ok());
  CHECK(reply->reason == "ExceedsMaxQuota");
  REQUIRE(reply->notes.size() == 4);
  CHECK(reply->notes[1] == "You cannot list namespaces.");
  CHECK(reply->notes[2].find("Workloads of namespace team-a only") != std::string::npos);
  CHECK(reply->notes[3] == explain::kPlaceUnknown);
  // Others can hold quota and be ahead.
  REQUIRE(reply->flavors.size() == 1);
  CHECK(reply->flavors[0].most == "10");
  CHECK(reply->flavors[0].free.empty());
  CHECK_FALSE(reply->order);
}

TEST_CASE("explain locally: a namespace that can be read alone has its labels") {
  ListingApi api = cluster();
  const json selector = {{"matchLabels", {{"team", "a"}}}};
  api.objects[kKueue + "clusterqueues"][0]["spec"]["namespaceSelector"] = selector;
  api.objects["/api/v1/namespaces"][0]["metadata"]["labels"] = {{"team", "a"}};
  api.forbidden = {"/api/v1/namespaces", "/api/v1/namespaces/team-a"};
  auto reply = ask(api);
  REQUIRE(reply.ok());
  CHECK(reply->headline == "Job team-a/train: why it is pending is not known, because you cannot list namespaces.");
  api.forbidden = {"/api/v1/namespaces"};
  api.single["/api/v1/namespaces/team-a"] = api.objects["/api/v1/namespaces"][0];
  reply = ask(api);
  REQUIRE(reply.ok());
  CHECK(reply->reason == "ExceedsMaxQuota");
}

TEST_CASE("explain locally: pods are named as a reader knows them, once") {
  ListingApi api = cluster();
  api.forbidden = {"/api/v1/pods", "/api/v1/namespaces/team-a/pods"};
  const auto reply = ask(api);
  REQUIRE(reply.ok());
  REQUIRE(reply->notes.size() == 2);
  CHECK(reply->notes[1] == "You cannot list pods.");
}

TEST_CASE("explain locally: a reason that rests on what may not be listed is not pretended") {
  ListingApi api = cluster();
  api.forbidden = {kKueue + "clusterqueues", kKueue + "resourceflavors"};
  const auto reply = ask(api);
  REQUIRE(reply.ok());
  CHECK(reply->reason == "Unknown");
  REQUIRE(reply->because.size() == 1);
  CHECK(reply->headline == "Job team-a/train: why it is pending is not known, because you cannot list clusterqueues.");
  CHECK(reply->because[0] == "Its Workload says: Waits (ExceedsMaxQuota): too much.");
  CHECK(reply->notes[1] == "You cannot list clusterqueues, resourceflavors.");
}

TEST_CASE("explain locally: without the object's own kind there is no answer") {
  ListingApi api = cluster();
  api.forbidden = {"/apis/batch/v1/jobs", "/apis/batch/v1/namespaces/team-a/jobs"};
  const auto forbidden = ask(api);
  REQUIRE_FALSE(forbidden.ok());
  CHECK(forbidden.error().message == "you may not list /apis/batch/v1/namespaces/team-a/jobs");
  api.broken = 500;
  const auto ill = ask(api);
  REQUIRE_FALSE(ill.ok());
  CHECK(ill.error().message.find("cannot be listed: the server is ill") != std::string::npos);
}

}  // namespace
}  // namespace muster::commands::explain_local_test
