// The real binary beside an API server that a test plays, with more and larger objects than it has memory: it must come
// through the start, since it would start again in the same cluster.
#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>

#include "base/mutex.h"
#include "test/kube/fake_api_server.h"
#include "test/limits/muster_process.h"

using namespace muster::test;
using muster::kube::test::FakeApiServer;
using muster::kube::test::FakeExchange;
using muster::kube::test::FakeRequest;
using nlohmann::json;
using namespace std::chrono_literals;

namespace {

constexpr size_t kMiB = 1024 * 1024;
constexpr size_t kLimit = 256 * kMiB;
constexpr size_t kJobs = 1000;

// A Job in no queue, of nearly the size that etcd takes. Each has another template.
std::string job(size_t number) {
  static const std::string kArguments = [] {
    std::string list;
    while (list.size() < 1'400'000) list += ",\"" + std::string(1000, 'y') + "\"";
    return list;
  }();
  const std::string n = std::to_string(number);
  return R"({"metadata":{"name":"un)" + n + R"(","namespace":"t1","uid":"u)" + n + R"(","resourceVersion":")" + n +
         R"("},"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c",)" +
         R"("image":"x","args":[")" + n + "\"" + kArguments + "]}]}}}}";
}

// A cluster with these Jobs and nothing else.
class Cluster {
 public:
  std::string url() const { return server_.url(); }
  size_t most_in_a_page() const { return most_in_a_page_; }

 private:
  void answer(const FakeRequest& request, FakeExchange& exchange) {
    if (request.query.contains("watch")) {
      exchange.begin_stream();
      return exchange.wait_for_close();
    }
    if (request.method == "POST" && request.path.ends_with("selfsubjectreviews"))
      return exchange.respond(201, {{"status", {{"userInfo", {{"username", "system:serviceaccount:m:muster"}}}}}});
    const bool lists = request.query.contains("limit") || request.query.contains("resourceVersion");
    if (request.method == "GET" && lists) return list(request, exchange);
    const muster::MutexLock lock(mutex_);
    if (request.method == "GET") return show(request.path, 200, exchange);
    const json body = json::parse(request.body, nullptr, false);
    if (request.method == "POST")
      return store(request.path + "/" + body["metadata"].value("name", ""), body, 201, exchange);
    if (request.method == "PUT") return store(request.path, body, 200, exchange);
    json merged = stored_.contains(request.path) ? stored_.at(request.path) : json();
    if (merged.is_null()) return show(request.path, 404, exchange);
    merged.merge_patch(body);
    store(request.path, merged, 200, exchange);
  }

  void store(const std::string& path, json object, int status, FakeExchange& exchange) REQUIRES(mutex_) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    stored_[path] = std::move(object);
    show(path, status, exchange);
  }

  void show(const std::string& path, int status, FakeExchange& exchange) REQUIRES(mutex_) {
    const auto found = stored_.find(path);
    if (found != stored_.end()) return exchange.respond(status, found->second);
    exchange.respond(404, {{"kind", "Status"},
                           {"status", "Failure"},
                           {"message", "not found"},
                           {"details", {{"name", "x"}, {"kind", "things"}}},
                           {"reason", "NotFound"},
                           {"code", 404}});
  }

  void list(const FakeRequest& request, FakeExchange& exchange) {
    std::string items;
    const bool of_jobs = request.path == "/apis/batch/v1/jobs";
    const auto token = request.query.find("continue");
    const size_t first = token == request.query.end() ? 0 : std::stoul(token->second);
    const size_t end = of_jobs ? std::min(kJobs, first + std::stoul(request.query.at("limit"))) : 0;
    for (size_t i = first; i < end; ++i) items += (i == first ? "" : ",") + job(i);
    // A page of twenty is begun and not read.
    most_in_a_page_ = std::max<size_t>(most_in_a_page_, first == 0 ? 0 : end - first);
    exchange.respond_text(200, R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":")" +
                                   std::to_string(2 * kJobs) + R"(","continue":")" +
                                   (end < kJobs && of_jobs ? std::to_string(end) : "") + R"("},"items":[)" + items +
                                   "]}");
  }

  std::atomic<size_t> most_in_a_page_ = 0;
  muster::Mutex mutex_;
  uint64_t version_ GUARDED_BY(mutex_) = 3 * kJobs;
  std::map<std::string, json> stored_ GUARDED_BY(mutex_);  // muster's own objects, by path
  FakeApiServer server_{[this](const FakeRequest& request, FakeExchange& exchange) { answer(request, exchange); }};
};

}  // namespace

TEST_CASE("A start with 1,000 Jobs in no queue of 1.4 MB each stays inside a container of 256 MiB") {
  const ControlGroup group(kLimit);
  Cluster cluster;
  const Muster muster(group.usable() ? &group : nullptr, 0,
                      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                      "clientConnection: {qps: 10000, burst: 10000}\n",
                      cluster.url());
  const auto deadline = std::chrono::steady_clock::now() + 500s;
  const auto knows_all = [&] { return muster.log().find("synced with the API server") != std::string::npos; };
  while (!knows_all() && muster.alive() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(50ms);
  INFO(muster.log().substr(0, 4000));
  REQUIRE(muster.alive());
  CHECK(knows_all());
  CHECK(cluster.most_in_a_page() <= 5);
  MESSAGE("at most " << muster.bytes("VmHWM") / kMiB << " MiB, now " << muster.bytes("VmRSS") / kMiB);
  CHECK(muster.bytes("VmHWM") < kLimit * 9 / 10);
}
