#include "server/lists_route.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/submitter.h"
#include "api/workload.h"
#include "server/list_cache.h"
#include "server/request_query.h"

namespace muster::server::lists_route_test {
namespace {

using nlohmann::json;

WorkloadPtr workload(const std::string& ns, const std::string& name, bool holds) {
  json object = {{"metadata", {{"namespace", ns}, {"name", name}, {"uid", name}}}, {"spec", {{"queueName", "lq"}}}};
  if (!holds) {
    const std::string suffix(1, ns[5]);
    object["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "batch/v1"},
                                                          {"kind", "Job"},
                                                          {"name", suffix},
                                                          {"uid", "job-" + suffix},
                                                          {"controller", true}}});
  }
  if (holds) {
    object["status"] = {
        {"admission",
         {{"clusterQueue", "cq"},
          {"podSetAssignments", {{{"name", "main"}, {"flavors", {{"cpu", "f"}}}, {"resourceUsage", {{"cpu", "2"}}}}}}}},
        {"conditions", {{{"type", "QuotaReserved"}, {"status", "True"}}, {{"type", "Admitted"}, {"status", "True"}}}}};
  }
  return read_workload(object);
}

TypedObject job(const std::string& ns, const std::string& suffix) {
  return read_object(
      kJobs,
      {{"metadata", {{"namespace", ns}, {"name", suffix}, {"uid", "job-" + suffix}, {"labels", {{"team", suffix}}}}},
       {"spec", json::object()}});
}

// ClusterQueue cq: two holders and two pending ones, each time one of team-a and one of team-b.
// waits-a is of Job a with the label team=a, waits-b of Job b; done-a finished, and alice submitted it.
std::shared_ptr<const explain::QueueSnapshot> snapshot(bool records = true) {
  explain::QueueListing listed;
  listed.records_submitters = records;
  scheduler::ListedClusterQueue queue;
  queue.object = read_cluster_queue({{"metadata", {{"name", "cq"}}}});
  queue.quotas.push_back({.flavor = "f", .resource = "cpu", .nominal = 4000, .used = 4000});
  for (const char* ns : {"team-a", "team-b"}) {
    const std::string suffix(1, ns[5]);
    queue.holders.push_back({workload(ns, "holder-" + suffix, true)});
    queue.pending.push_back({.object = workload(ns, "waits-" + suffix, false), .queued_since = {}});
    listed.jobs.push_back({job(ns, suffix), &kJobs});
    listed.local_queues.push_back(
        {read_local_queue({{"metadata", {{"namespace", ns}, {"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}}}}),
         {}});
  }
  listed.listing.cluster_queues.push_back(std::move(queue));
  listed.finished.push_back(read_workload(
      {{"metadata", {{"namespace", "team-a"}, {"name", "done-a"}, {"annotations", {{kSubmitterAnnotation, "alice"}}}}},
       {"spec", {{"queueName", "lq"}}},
       {"status", {{"conditions", {{{"type", "Finished"}, {"status", "True"}, {"reason", "Succeeded"}}}}}}}));
  return std::make_shared<const explain::QueueSnapshot>(std::move(listed));
}

// The tokens "admin" (all rights), "dev" (of team-a), "stranger" (known, no rights), "down" (no answer).
class Lists {
 public:
  std::vector<std::string> reviewed;
  std::set<std::string> refused_types;  // plurals that no user can list
  std::shared_ptr<const explain::QueueSnapshot> shown = snapshot();

  HttpResponse get(const std::string& path, const std::string& query = "", const std::string& token = "admin") {
    if (routes.empty())
      routes = list_routes(Lister{.authorize = [this](auto... all) { return authorize(all...); },
                                  .snapshot = [this] { return shown; },
                                  .usage = [this](std::string_view queue) -> std::optional<Result<json>> {
                                    if (shown == nullptr) return std::nullopt;
                                    if (queue != "cq") return Result<json>(fail("nothing is known of it"));
                                    return Result<json>(json{{"items", {1}}});
                                  }});
    for (const Route& route : routes) {
      CHECK(route.prefix);
      CHECK(route.memory(0) > kLightMemory);
      if (path.starts_with(route.path))
        return route.handler({.path = path, .query = query, .bearer_token = "", .body = "", .own_token = token});
    }
    FAIL("there is no route to " << path);
    return {};
  }
  json items(const std::string& path, const std::string& query = "", const std::string& token = "admin") {
    const HttpResponse answer = get(path, query, token);
    INFO(answer.body);
    CHECK(answer.status == 200);
    return json::parse(answer.body)["items"];
  }

 private:
  Routes routes;

  AuthDecision authorize(std::string_view token, const ListAccess& access) {
    reviewed.push_back(access.verb + " " + std::string(access.type->group) + "/" + std::string(access.type->plural) +
                       (access.subresource.empty() ? "" : "/" + access.subresource) + " " + access.ns + "/" +
                       access.name);
    if (refused_types.contains(std::string(access.type->plural))) return AuthDecision::kForbidden;
    if (token == "admin") return AuthDecision::kAllowed;
    if (token == "down") return AuthDecision::kUnavailable;
    if (token == "dev") return access.ns == "team-a" ? AuthDecision::kAllowed : AuthDecision::kForbidden;
    return token == "stranger" ? AuthDecision::kForbidden : AuthDecision::kUnauthenticated;
  }
};

const std::string kVisibility = "/apis/visibility.kueue.x-k8s.io/";

TEST_CASE("Lists: without the feature gate there are no paths of the visibility API") {
  const auto routes = list_routes(std::nullopt, false);
  REQUIRE(routes.size() == 1);
  CHECK(routes[0].path == kListsPath);
  CHECK(list_routes(std::nullopt).size() == 2);
}

TEST_CASE("Lists: each list takes the right to list that kind there") {
  struct Row {
    std::string path, query, review;
    size_t items;
  };
  const Row rows[] = {
      {"/lists/v1/workloads", "namespace=team-a", "list kueue.x-k8s.io/workloads team-a/", 2},
      {"/lists/v1/workloads", "", "list kueue.x-k8s.io/workloads /", 4},
      {"/lists/v1/workloads", "namespace=team-a&queue=lq&limit=1&offset=1", "list kueue.x-k8s.io/workloads team-a/", 1},
      {"/lists/v1/workloads", "clusterQueue=cq&namespace=team-b", "list kueue.x-k8s.io/workloads team-b/", 2},
      {"/lists/v1/localqueues", "namespace=team-a", "list kueue.x-k8s.io/localqueues team-a/", 1},
      {"/lists/v1/clusterqueues", "", "list kueue.x-k8s.io/clusterqueues /", 1},
      {"/lists/v1/cohorts", "", "list kueue.x-k8s.io/cohorts /", 0},
      {"/lists/v1/holders", "resource=cpu&namespace=team-a&queue=lq", "list kueue.x-k8s.io/workloads team-a/", 2},
      {"/lists/v1/usage", "clusterQueue=cq", "get kueue.x-k8s.io/clusterqueues /cq", 1},
      {"/lists/v1/holders", "resource=cpu&clusterQueue=cq", "get kueue.x-k8s.io/clusterqueues /cq", 2},
      {kVisibility + "v1beta2/clusterqueues/cq/pendingworkloads", "limit=10&offset=0",
       "get visibility.kueue.x-k8s.io/clusterqueues/pendingworkloads /cq", 2},
      {kVisibility + "v1beta1/namespaces/team-b/localqueues/lq/pendingworkloads", "",
       "get visibility.kueue.x-k8s.io/localqueues/pendingworkloads team-b/lq", 1},
  };
  for (const Row& row : rows) {
    INFO(row.path << "?" << row.query);
    Lists lists;
    CHECK(lists.items(row.path, row.query).size() == row.items);
    REQUIRE_FALSE(lists.reviewed.empty());
    CHECK(lists.reviewed[0] == row.review);
    CHECK(lists.get(row.path, row.query, "stranger").status == 403);
    CHECK(lists.get(row.path, row.query, "made-up").status == 401);
    CHECK(lists.get(row.path, row.query, "").status == 401);
    CHECK(lists.get(row.path, row.query, "down").status == 503);
    lists.shown = nullptr;
    CHECK(lists.get(row.path, row.query).status == 503);
  }
}

TEST_CASE("Lists: holders of other namespaces are counted and not named") {
  Lists lists;
  const HttpResponse answer = lists.get("/lists/v1/holders", "resource=cpu&namespace=team-a&queue=lq", "dev");
  CHECK(answer.status == 200);
  const json list = json::parse(answer.body);
  REQUIRE(list["items"].size() == 1);
  CHECK(list["items"][0]["name"] == "holder-a");
  CHECK(list["metadata"]["hidden"] == json({{"count", 1}, {"amount", "2"}}));
  CHECK(answer.body.find("team-b") == std::string::npos);
  CHECK(answer.body.find("holder-b") == std::string::npos);
  CHECK(lists.get("/lists/v1/holders", "resource=cpu&namespace=team-b&queue=lq", "dev").status == 403);
}

TEST_CASE("Lists: the version of the visibility API is that of the path") {
  Lists lists;
  for (const char* version : {"v1beta1", "v1beta2"}) {
    const json summary = json::parse(lists.get(kVisibility + version + "/clusterqueues/cq/pendingworkloads").body);
    CHECK(summary["apiVersion"] == std::string("visibility.kueue.x-k8s.io/") + version);
    CHECK(summary["kind"] == "PendingWorkloadsSummary");
    CHECK(summary["items"][1]["positionInClusterQueue"] == 1);
    CHECK(summary["items"][1]["positionInLocalQueue"] == 0);
  }
}

TEST_CASE("Lists: what cannot be asked is refused in a sentence, and nobody is reviewed") {
  struct Row {
    std::string path, query;
    int status;
    const char* says;
  };
  const Row rows[] = {
      {"/lists/v1/pods", "", 404, "there is no such list"},
      {"/lists/v1/workloads", "names=x", 400, "there is no parameter"},
      {"/lists/v1/workloads", "namespce=x", 400, "did you mean"},
      {"/lists/v1/workloads", "namespace=Team", 400, "namespace: "},
      {"/lists/v1/workloads", "namespace=a&namespace=b", 400, "given twice"},
      {"/lists/v1/workloads", "limit=-1", 400, "limit is a whole number"},
      {"/lists/v1/workloads", "limit=99999999999999999999", 400, "limit is a whole number"},
      {"/lists/v1/workloads", "limit=2001", 400, "limit is at most 2000"},
      {"/lists/v1/workloads", "queue=lq", 400, "queue needs a namespace"},
      {"/lists/v1/workloads", "namespace=a&queue=lq&clusterQueue=cq", 400, "not both"},
      {"/lists/v1/workloads", "namespace=%zz", 400, "percent-encoded"},
      {"/lists/v1/workloads", "state=Pnding", 400, "did you mean"},
      {"/lists/v1/workloads", "sortBy=age", 400, "there is no order"},
      {"/lists/v1/workloads", "finished=1", 400, "must be true or false"},
      {"/lists/v1/workloads", "labelSelector=a%20b", 400, "labelSelector: "},
      {"/lists/v1/workloads", "submitter=%1b", 400, "records no name"},
      {"/lists/v1/localqueues", "search=x", 400, "there is no parameter"},
      {"/lists/v1/clusterqueues", "limit=1", 400, "there is no parameter"},
      {"/lists/v1/holders", "clusterQueue=cq", 400, "name the resource"},
      {"/lists/v1/holders", "resource=cpu", 400, "name queue and namespace"},
      {kVisibility + "v1/clusterqueues/cq/pendingworkloads", "", 404, "v1beta2"},
      {kVisibility + "v1beta2/clusterqueues/cq", "", 404, "pendingworkloads"},
      {kVisibility + "v1beta2/clusterqueues/CQ/pendingworkloads", "", 400, "no queue can be named"},
      {kVisibility + "v1beta2/clusterqueues/cq/pendingworkloads", "continue=x", 400, "there is no parameter"},
  };
  for (const Row& row : rows) {
    INFO(row.path << "?" << row.query);
    Lists lists;
    const HttpResponse answer = lists.get(row.path, row.query);
    CHECK(answer.status == row.status);
    CHECK(json::parse(answer.body)["kind"] == "Status");
    INFO(answer.body);
    CHECK(answer.body.find(row.says) != std::string::npos);
    CHECK(lists.reviewed.empty());
  }
}

TEST_CASE("Lists: each filter of Workloads acts, and counts are of the reader's namespace") {
  struct Row {
    std::string query;
    size_t items;
  };
  const Row rows[] = {
      {"state=Pending", 2},
      {"state=Pending,Admitted", 4},
      {"state=Finished", 1},
      {"search=HOLDER", 2},
      {"search=holder-a", 1},
      {"labelSelector=team%3Da", 1},
      {"labelSelector=team%20in%20(a,b)", 2},
      {"finished=true", 5},
      {"finished=true&submitter=alice", 1},
  };
  for (const Row& row : rows) {
    INFO(row.query);
    Lists lists;
    CHECK(lists.items("/lists/v1/workloads", row.query).size() == row.items);
    // The answer that is kept is the same.
    CHECK(lists.items("/lists/v1/workloads", row.query).size() == row.items);
  }
  Lists lists;
  CHECK(lists.items("/lists/v1/workloads", "sortBy=-queue")[0]["name"] == "waits-b");
  const HttpResponse dev = lists.get("/lists/v1/workloads", "namespace=team-a&finished=true&state=Pending", "dev");
  CHECK(json::parse(dev.body)["metadata"]["counts"] == json({{"Admitted", 1}, {"Pending", 1}, {"Finished", 1}}));
  CHECK(dev.body.find("team-b") == std::string::npos);
  CHECK(lists.get("/lists/v1/workloads", "search=team-a", "dev").status == 403);
}

TEST_CASE("Lists: labels of jobs take the right to list that kind, and one reader's answer is not another's") {
  Lists lists;
  CHECK(lists.get("/lists/v1/workloads", "namespace=team-a").body.find("\"team\":\"a\"") != std::string::npos);
  // The cache has the answer with labels by now.
  lists.refused_types = {"jobs"};
  CHECK(lists.get("/lists/v1/workloads", "namespace=team-a").body.find("\"team\":\"a\"") == std::string::npos);
  const HttpResponse refused = lists.get("/lists/v1/workloads", "namespace=team-a&labelSelector=team");
  CHECK(refused.status == 403);
  CHECK(refused.body.find("you cannot list jobs.batch") != std::string::npos);
  lists.refused_types = {};
  CHECK(lists.items("/lists/v1/workloads", "namespace=team-a&labelSelector=team").size() == 1);
}

TEST_CASE("Lists: without recordSubmitter nobody's jobs are an empty list") {
  Lists lists;
  lists.shown = snapshot(false);
  const HttpResponse answer = lists.get("/lists/v1/workloads", "submitter=alice");
  CHECK(answer.status == 400);
  CHECK(answer.body.find("recordSubmitter: true") != std::string::npos);
}

TEST_CASE("Lists: a cache counts questions as well as answers, and keeps what it has") {
  ListCache cache;
  const auto shown = snapshot();
  cache.keep(shown, nullptr, "plain", std::string(1000, 'x'));
  for (int i = 0; i < 10'000; ++i) cache.keep(shown, nullptr, std::string(1000, 'q') + std::to_string(i), "");
  CHECK(cache.find(shown, nullptr, "plain") != nullptr);
  CHECK(cache.find(shown, nullptr, std::string(1000, 'q') + "9999") == nullptr);
}

TEST_CASE("Lists: a queue that is not there is 404, told only to those who may know") {
  Lists lists;
  CHECK(lists.get("/lists/v1/workloads", "namespace=team-a&queue=none").status == 404);
  CHECK(lists.get("/lists/v1/holders", "resource=gpu&clusterQueue=cq").status == 404);
  const HttpResponse answer = lists.get(kVisibility + "v1beta2/clusterqueues/none/pendingworkloads");
  CHECK(answer.status == 404);
  CHECK(answer.body.find("clusterqueue.visibility.kueue.x-k8s.io \\\"none\\\" not found") != std::string::npos);
  CHECK(lists.get(kVisibility + "v1beta2/clusterqueues/none/pendingworkloads", "", "stranger").status == 403);
}

TEST_CASE("Lists: without a cluster every answer is 503") {
  for (const Route& route : list_routes(std::nullopt))
    CHECK(route.handler({.path = route.path, .query = "", .bearer_token = "", .body = "", .own_token = "t"}).status ==
          503);
}

TEST_CASE("request query: encoded values are read, and nothing is passed over") {
  const auto read = parse_query("resource=nvidia.com%2Fgpu&queue=", {"resource", "queue"});
  REQUIRE(read.ok());
  CHECK(value_of(*read, "resource") == "nvidia.com/gpu");
  CHECK(value_of(*read, "queue").empty());
  CHECK(value_of(*read, "other").empty());
  for (const char* wrong : {"%", "a=%1", "a=%gg", "a=1&a=2", "b=1", "a=%4"}) {
    INFO(wrong);
    CHECK_FALSE(parse_query(wrong, {"a"}).ok());
  }
  CHECK(*number_of(*parse_query("a=7", {"a"}), "a", 1) == 7);
  CHECK(*number_of({}, "a", 1) == 1);
  for (const char* wrong : {"a=", "a=x", "a=1x", "a=-1"})
    CHECK_FALSE(number_of(*parse_query(wrong, {"a"}), "a", 1).ok());
}

}  // namespace
}  // namespace muster::server::lists_route_test
