// Answers that are not the API server's, or not about objects: what a watch has seen stays.
#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "kube/discovery.h"
#include "kube/watch.h"
#include "test/kube/client_fixture.h"

namespace muster::kube::test::absence_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const Resource kQueues{"kueue.x-k8s.io", "v1beta2", "localqueues", true, "LocalQueue"};

// The names that are there, and how often the kind was reported absent.
class Picture final : public WatchSink {
 public:
  void on_list_started() override { next_.clear(); }
  void on_listed(const json& item) override { next_.insert(std::string(string_at(item, {"metadata", "name"}))); }
  void on_replaced(const std::string&) override {
    const MutexLock lock(mutex_);
    names_ = next_;
    fewest_ = std::min(fewest_, names_.size());
    ++lists_;
  }
  void on_absent() override { ++absences; }
  void on_caught_up(uint64_t) override {}
  void on_event(WatchChange change, const json& item) override {
    const MutexLock lock(mutex_);
    const std::string name(string_at(item, {"metadata", "name"}));
    if (change == WatchChange::kDeleted)
      names_.erase(name);
    else
      names_.insert(name);
    fewest_ = std::min(fewest_, names_.size());
  }
  size_t fewest() const {
    const MutexLock lock(mutex_);
    return fewest_;
  }
  int lists() const {
    const MutexLock lock(mutex_);
    return lists_;
  }
  std::atomic<int> absences = 0;

 private:
  std::set<std::string> next_;  // of the watch's thread
  mutable Mutex mutex_;
  std::set<std::string> names_ GUARDED_BY(mutex_);
  size_t fewest_ GUARDED_BY(mutex_) = 1000;
  int lists_ GUARDED_BY(mutex_) = 0;
};

json groups(bool with_queues) {
  json all = json::array({{{"name", "apps"}, {"versions", {{{"version", "v1"}}}}}});
  if (with_queues) all.push_back({{"name", "kueue.x-k8s.io"}, {"versions", {{{"version", "v1beta2"}}}}});
  return {{"kind", "APIGroupList"}, {"groups", all}};
}
json kinds(const char* plural) {
  return {{"kind", "APIResourceList"}, {"resources", {{{"name", plural}}}}};
}
json page(const std::vector<std::string>& names, const std::string& next) {
  json items = json::array();
  for (const std::string& name : names) items.push_back(object(name, "9"));
  return {{"kind", "LocalQueueList"}, {"metadata", {{"resourceVersion", "10"}, {"continue", next}}}, {"items", items}};
}

// A healthy server of two pages with an object each, and how it serves discovery.
void serve(const FakeRequest& request, FakeExchange& exchange) {
  if (request.path == "/apis") return exchange.respond(200, groups(true));
  if (request.path == "/apis/kueue.x-k8s.io/v1beta2") return exchange.respond(200, kinds("localqueues"));
  if (!request.query.contains("watch")) {
    if (!request.query.contains("limit")) return exchange.respond(200, page({"a", "b"}, ""));
    return exchange.respond(200, request.query.contains("continue") ? page({"b"}, "") : page({"a"}, "more"));
  }
  exchange.begin_stream();
  exchange.write_event("BOOKMARK", object("", "11"));
}

enum class Phase { kFirstPage, kSecondPage, kWatch };

Phase phase_of(const FakeRequest& request) {
  if (request.query.contains("watch")) return Phase::kWatch;
  return request.query.contains("continue") ? Phase::kSecondPage : Phase::kFirstPage;
}

struct Trouble {
  std::string name;
  std::function<void(FakeExchange&)> answer;
};

const std::string kHtml = "<html><body>no backend</body></html>";

const std::vector<Trouble>& troubles() {
  static const std::vector<Trouble> all = {
      {"404 of a proxy", [](FakeExchange& exchange) { exchange.respond_text(404, kHtml); }},
      {"404 of the API server", [](FakeExchange& exchange) { exchange.respond_text(404, "404 page not found\n"); }},
      {"404 that names an object",
       [](FakeExchange& exchange) { exchange.respond(404, status_body(404, "NotFound", "no such resource")); }},
      {"403", [](FakeExchange& exchange) { exchange.respond(403, status_body(403, "Forbidden", "not you")); }},
      {"410", [](FakeExchange& exchange) { exchange.respond(410, status_body(410, "Expired", "too old")); }},
      {"500", [](FakeExchange& exchange) { exchange.respond(500, status_body(500, "InternalError", "x")); }},
      {"a page of HTML with 200", [](FakeExchange& exchange) { exchange.respond_text(200, kHtml + "\n"); }},
      {"a list without items",
       [](FakeExchange& exchange) {
         exchange.respond(200, {{"kind", "LocalQueueList"}, {"metadata", {{"resourceVersion", "12"}}}});
       }},
      {"an object that is no list",
       [](FakeExchange& exchange) {
         exchange.respond(200,
                          {{"kind", "Banner"}, {"metadata", {{"resourceVersion", "12"}}}, {"items", json::array()}});
       }},
      {"half a page", [](FakeExchange& exchange) { exchange.respond_text(200, page({"a"}, "").dump().substr(0, 60)); }},
      {"half a page and a broken connection",
       [](FakeExchange& exchange) {
         exchange.begin_stream();
         exchange.write(page({}, "").dump().substr(0, 40));
         exchange.break_off();
       }},
      {"an empty answer", [](FakeExchange& exchange) { exchange.respond_text(200, ""); }},
      {"a redirect",
       [](FakeExchange& exchange) {
         exchange.respond_text(302, "", {{"Location", "https://login.example"}});
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("no answer to a list or a watch takes objects away, in any phase") {
  for (const Phase phase : {Phase::kFirstPage, Phase::kSecondPage, Phase::kWatch}) {
    for (const Trouble& trouble : troubles()) {
      CAPTURE(static_cast<int>(phase));
      CAPTURE(trouble.name);
      std::atomic<bool> begun = false, troubled = false;
      FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
        const bool discovery = !request.path.ends_with("/localqueues");
        if (troubled && !discovery && phase_of(request) == phase) return trouble.answer(exchange);
        serve(request, exchange);
        // Each watch has to list again, so that every phase is come by.
        if (!discovery && phase_of(request) == Phase::kWatch) {
          if (!begun) exchange.wait_for([&] { return begun.load(); });
          exchange.write_event("ERROR", status_body(410, "Expired", "too old"));
          exchange.end_stream();
        }
      });
      TestClient client(server);
      Picture picture;
      Watch watch(*client.client, kQueues, {}, picture, client.observer, client.time.timing());
      REQUIRE(eventually([&] { return picture.lists() >= 1; }));
      troubled = begun = true;
      const Duration before = client.time.slept();
      REQUIRE(eventually([&] { return client.time.slept() - before > 1min; }));
      troubled = false;
      const int lists = picture.lists();
      CHECK(eventually([&] { return picture.lists() > lists; }));
      CHECK(picture.fewest() == 2);
      CHECK(picture.absences == 0);
    }
  }
}

TEST_CASE("discovery that is no discovery does not make a kind absent") {
  struct Row {
    std::string name;
    std::function<void(const std::string& path, FakeExchange&)> answer;
    bool absent;
  };
  const auto only_apis = [](const std::string& path, FakeExchange& exchange, const json& apis) {
    if (path == "/apis") return exchange.respond(200, apis);
    exchange.respond_text(404, "404 page not found\n");
  };
  const Row rows[] = {
      {"all is 404", [](const std::string&, FakeExchange& exchange) { exchange.respond_text(404, kHtml); }, false},
      {"all is 500", [](const std::string&, FakeExchange& exchange) { exchange.respond_text(500, ""); }, false},
      {"all is HTML", [](const std::string&, FakeExchange& exchange) { exchange.respond_text(200, kHtml); }, false},
      {"an empty object", [](const std::string&, FakeExchange& exchange) { exchange.respond(200, json::object()); },
       false},
      {"no groups at all",
       [&](const std::string& path, FakeExchange& exchange) {
         only_apis(path, exchange, {{"kind", "APIGroupList"}, {"groups", json::array()}});
       },
       false},
      {"the group is there and its version cannot be read",
       [&](const std::string& path, FakeExchange& exchange) { only_apis(path, exchange, groups(true)); }, false},
      {"the group is not there",
       [&](const std::string& path, FakeExchange& exchange) { only_apis(path, exchange, groups(false)); }, true},
      {"the version has other kinds",
       [&](const std::string& path, FakeExchange& exchange) {
         exchange.respond(200, path == "/apis" ? groups(true) : kinds("workloads"));
       },
       true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
      if (request.path.ends_with("/localqueues")) return exchange.respond_text(404, "404 page not found\n");
      row.answer(request.path, exchange);
    });
    TestClient client(server);
    Picture picture;
    Watch watch(*client.client, kQueues, {}, picture, client.observer, client.time.timing());
    REQUIRE(eventually([&] { return client.time.slept() > 3min; }));
    CHECK((picture.absences == 1) == row.absent);
    CHECK(watch.synced() == row.absent);
  }
}

TEST_CASE("discovery must say twice in a row that a kind is not served") {
  std::atomic<int> asked = 0;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (request.path == "/apis") return exchange.respond(200, groups(++asked % 2 == 0));
    if (request.path.ends_with("/v1beta2")) return exchange.respond(200, kinds("localqueues"));
    exchange.respond_text(404, "404 page not found\n");
  });
  TestClient client(server);
  Picture picture;
  Watch watch(*client.client, kQueues, {}, picture, client.observer, client.time.timing());
  REQUIRE(eventually([&] { return client.time.slept() > 5min; }));
  CHECK(asked > 6);
  CHECK(picture.absences == 0);
}

TEST_CASE("a 404 says that an object is gone only when it names the object") {
  const auto error_of = [](const json& body) { return status_error(404, body.dump(), ""); };
  json body = status_body(404, "NotFound", "workloads \"a\" not found");
  CHECK(error_of(body).not_found());
  body.erase("details");
  CHECK_FALSE(error_of(body).not_found());
  CHECK_FALSE(status_error(404, kHtml, "").not_found());
  CHECK_FALSE(status_error(404, "404 page not found\n", "").not_found());
}

}  // namespace muster::kube::test::absence_test
