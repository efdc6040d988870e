#include "commands/dashboard/page_requests.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "server/page_files.h"

namespace muster::commands::page_requests_test {
namespace {

using nlohmann::json;

constexpr const char* kToken = "0123456789abcdef";
const PageSettings kSettings{.token = kToken, .port = 8001, .ns = "team-a", .server = "https://cluster"};

// Remembers what it was asked for.
class FakeSource final : public PageSource {
 public:
  Result<FetchedList> list(const ListQuestion& question) override {
    questions.push_back(question);
    if (!failure.empty()) return fail(failure);
    return FetchedList{{{"items", json::array()}, {"metadata", {{"at", "2026-01-01T00:00:00Z"}}}}, {"found here"}};
  }
  Result<json> explain(const ObjectKey& key) override {
    explained.push_back(key);
    return json{{"headline", "It waits."}};
  }

  std::string failure;
  std::vector<ListQuestion> questions;
  std::vector<ObjectKey> explained;
};

PageAnswer get(PageSource& source, const std::string& rest, const std::string& query = "") {
  return answer_page_request({.method = "GET",
                              .path = std::string("/") + kToken + "/" + rest,
                              .query = query,
                              .host = "127.0.0.1:8001",
                              .origin = ""},
                             kSettings, source);
}

int status_of(PageRequest request) {
  FakeSource source;
  const int status = answer_page_request(request, kSettings, source).status;
  if (status != 200) CHECK(source.questions.empty());
  return status;
}

}  // namespace

TEST_CASE("dashboard: only the page itself is answered") {
  const std::string path = std::string("/") + kToken + "/api/workloads";
  const std::string host = "127.0.0.1:8001";
  CHECK(status_of({"GET", path, "", host, ""}) == 200);
  CHECK(status_of({"GET", path, "", "localhost:8001", "http://localhost:8001"}) == 200);
  CHECK(status_of({"GET", path, "", "attacker.example:8001", ""}) == 403);
  CHECK(status_of({"GET", path, "", "127.0.0.1", ""}) == 403);
  CHECK(status_of({"GET", path, "", "", ""}) == 403);
  CHECK(status_of({"GET", path, "", host, "http://attacker.example"}) == 403);
  CHECK(status_of({"GET", path, "", host, "http://localhost:8001"}) == 403);
  CHECK(status_of({"GET", path, "", host, "null"}) == 403);
  CHECK(status_of({"POST", path, "", host, ""}) == 405);
  CHECK(status_of({"GET", "/0123456789abcdee/api/workloads", "", host, ""}) == 404);
  CHECK(status_of({"GET", "/0123456789abcde/api/workloads", "", host, ""}) == 404);
  CHECK(status_of({"GET", "//api/workloads", "", host, ""}) == 404);
  CHECK(status_of({"GET", "/", "", host, ""}) == 404);
  CHECK(status_of({"GET", "", "", host, ""}) == 404);
}

TEST_CASE("dashboard: the page's files have their types, and nothing else is a file") {
  FakeSource source;
  const PageAnswer page = get(source, "");
  CHECK(page.content_type == "text/html; charset=utf-8");
  CHECK(page.body.find("src=\"app.js\"") != std::string::npos);
  CHECK(get(source, "app.js").content_type == "text/javascript; charset=utf-8");
  CHECK(get(source, "style.css").content_type == "text/css; charset=utf-8");
  CHECK(get(source, "page/dist/app.js").status == 404);
  CHECK(get(source, "api/secrets").status == 404);
  const json context = json::parse(get(source, "api/context").body);
  CHECK(context.at("namespace") == "team-a");
  // Rows of these kinds lead to the job itself.
  for (const char* kind : {"Job.batch", "Pod.", "JobSet.jobset.x-k8s.io", "StatefulSet.apps"})
    CHECK_MESSAGE(std::ranges::count(context.at("kinds"), kind) == 1, kind);
}

// The policy forbids scripts in the page, so it must have none.
TEST_CASE("dashboard: the page has no script and no style of its own") {
  FakeSource source;
  const std::string page = get(source, "").body;
  CHECK(page.find("<script>") == std::string::npos);
  CHECK(page.find("<style") == std::string::npos);
  CHECK(page.find("http") == std::string::npos);
  for (const server::HttpHeader& header : server::page_headers())
    CHECK(header.value.find("unsafe") == std::string_view::npos);
}

TEST_CASE("dashboard: a list is asked for with its parameters, and says what it does not know") {
  FakeSource source;
  const PageAnswer answer = get(source, "api/workloads", "namespace=team-a&queue=main&limit=100000&offset=200");
  REQUIRE(answer.status == 200);
  CHECK(json::parse(answer.body).at("metadata").at("notes") == json{"found here"});
  REQUIRE(source.questions.size() == 1);
  CHECK(source.questions[0].kind == ListKind::kWorkloadList);
  CHECK(source.questions[0].ns == "team-a");
  CHECK(source.questions[0].local_queue == "main");
  CHECK(source.questions[0].limit == 2000);
  CHECK(source.questions[0].offset == 200);
  CHECK(get(source, "api/holders", "resource=cpu&clusterQueue=cq").status == 200);
  CHECK(source.questions[1].cluster_queue == "cq");
  CHECK(source.questions[1].resource == "cpu");
  CHECK(get(source, "api/cohorts", "namespace=a").status == 400);
  CHECK(get(source, "api/workloads", "limit=-1").status == 400);
  CHECK(source.questions.size() == 2);
}

TEST_CASE("dashboard: each filter and the order of the jobs reach muster as the page has sent them") {
  FakeSource source;
  CHECK(get(source, "api/workloads",
            "state=Pending%2CFailed&labelSelector=team%20in%20(a%2Cb)&search=bert&sortBy=-created&finished=true"
            "&submitter=oidc%3Aalice")
            .status == 200);
  REQUIRE(source.questions.size() == 1);
  const std::map<std::string, std::string, std::less<>> wanted = {
      {"state", "Pending,Failed"}, {"labelSelector", "team in (a,b)"}, {"search", "bert"}, {"sortBy", "-created"},
      {"finished", "true"},        {"submitter", "oidc:alice"}};
  CHECK(source.questions[0].filter == wanted);
  CHECK(get(source, "api/workloads", "search=").status == 200);
  CHECK(source.questions[1].filter.empty());
  CHECK(get(source, "api/workloads", "filter=a").status == 400);
  CHECK(get(source, "api/localqueues", "namespace=a&search=b").status == 400);
}

TEST_CASE("dashboard: why there is no answer is for the person to read") {
  FakeSource source;
  source.failure = "this user cannot list clusterqueues";
  const PageAnswer answer = get(source, "api/clusterqueues");
  CHECK(answer.status == 502);
  CHECK(json::parse(answer.body).at("message") == source.failure);
}

TEST_CASE("dashboard: one object is explained, and only by names that objects can have") {
  FakeSource source;
  CHECK(get(source, "api/explain", "kind=job&namespace=team-a&name=train").status == 200);
  REQUIRE(source.explained.size() == 1);
  CHECK(source.explained[0].type == &kJobs);
  CHECK(source.explained[0].name == "train");
  CHECK(get(source, "api/explain", "kind=secret&namespace=team-a&name=train").status == 400);
  CHECK(get(source, "api/explain", "kind=job&namespace=team-a%2Fb&name=train").status == 400);
  CHECK(get(source, "api/explain", "kind=job&namespace=team-a&name=..%2Fx").status == 400);
  CHECK(source.explained.size() == 1);
}

}  // namespace muster::commands::page_requests_test
