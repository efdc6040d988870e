// What one review costs in CPU, without sockets: decode, rules, diff, encode.
// The bound of issue and docs is 150 µs for a review of 5 kB.
#include <benchmark/benchmark.h>

#include "mutators/mutator.h"
#include "server/review_handler.h"
#include "test/bench/sample_review.h"
#include "validators/validator.h"

namespace {

using namespace muster;

const ClusterView& view() {
  static const ClusterView instance = [] {
    ClusterView made;
    made.put(nlohmann::json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team-a"}})"));
    return made;
  }();
  return instance;
}

void decode(benchmark::State& state) {
  const auto body = bench::sample_review(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(decode_review(body));
}

void whole_review(benchmark::State& state, const server::ReviewFunction& rules) {
  const auto body = bench::sample_review(static_cast<size_t>(state.range(0)));
  const RuleSettings settings;
  for (auto _ : state) {
    const auto request = decode_review(body);
    benchmark::DoNotOptimize(rules(Review{*request, view(), settings}, nullptr).encode());
  }
}

// With metrics, timers and the catch-all: what a worker does for a request.
void handled_review(benchmark::State& state, const server::ReviewFunction& rules, const char* path) {
  const auto body = bench::sample_review(static_cast<size_t>(state.range(0)));
  server::MetricsOptions options;
  options.rules = server::all_rule_names();
  server::Metrics metrics(std::move(options));
  const auto settings = std::make_shared<const RuleSettings>();
  const ClusterViewPtr shared(&view(), [](const ClusterView*) {});
  const server::ReviewHandler handler([&] { return settings; }, [&] { return shared; }, metrics);
  for (auto _ : state) benchmark::DoNotOptimize(handler.review(rules, path, body));
}

// The status write of an admission: a Workload made of the sample Job, before and after.
std::string workload_review() {
  using nlohmann::json;
  const json job = bench::sample_job();
  json before = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                 {"kind", "Workload"},
                 {"metadata", {{"name", "job-sample"}, {"namespace", "team-a"}, {"uid", "u"}}},
                 {"spec", {{"queueName", "team-a-queue"}, {"podSets", json::array()}}}};
  before["spec"]["podSets"].push_back({{"name", "main"}, {"count", 3}, {"template", job["spec"]["template"]}});
  json after = before;
  const json assignment = {
      {"name", "main"}, {"count", 3}, {"flavors", {{"cpu", "f"}}}, {"resourceUsage", {{"cpu", "3"}}}};
  const json reserved = {{"type", "QuotaReserved"},
                         {"status", "True"},
                         {"reason", "QuotaReserved"},
                         {"message", "Quota reserved in ClusterQueue cq"},
                         {"lastTransitionTime", "2026-01-02T03:04:05Z"}};
  after["status"] = {{"admission", {{"clusterQueue", "cq"}, {"podSetAssignments", json::array({assignment})}}},
                     {"conditions", json::array({reserved})}};
  const json kind = {{"group", "kueue.x-k8s.io"}, {"version", "v1beta2"}, {"kind", "Workload"}};
  const json resource = {{"group", "kueue.x-k8s.io"}, {"version", "v1beta2"}, {"resource", "workloads"}};
  return json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request",
               {{"uid", "r"},
                {"kind", kind},
                {"resource", resource},
                {"subResource", "status"},
                {"name", "job-sample"},
                {"namespace", "team-a"},
                {"operation", "UPDATE"},
                {"object", after},
                {"oldObject", before}}}}
      .dump();
}

void workload_status(benchmark::State& state) {
  const std::string body = workload_review();
  const RuleSettings settings;
  for (auto _ : state) {
    const auto request = decode_review(body);
    const AdmissionResponse response = validators::validate(Review{*request, view(), settings}, nullptr);
    if (!response.is_allowed()) state.SkipWithError(std::string(response.message()).c_str());
    benchmark::DoNotOptimize(response.encode());
  }
}

// A change of an annotation of a queued Job of 1.4 MB: the largest that etcd takes.
std::string large_update() {
  using nlohmann::json;
  json review = json::parse(bench::sample_review(5000));
  json& request = review["request"];
  json& args = request["object"]["spec"]["template"]["spec"]["containers"][0]["args"];
  for (int i = 0; i < 1400; ++i) args.push_back(std::to_string(i) + std::string(1000, 'y'));
  request["object"]["spec"]["suspend"] = true;
  request["oldObject"] = request["object"];
  request["object"]["metadata"]["annotations"]["n"] = "2";
  request["operation"] = "UPDATE";
  // The API server writes the objects last.
  json objects = {{"object", std::move(request["object"])}, {"oldObject", std::move(request["oldObject"])}};
  request.erase("object");
  request.erase("oldObject");
  std::string header = review.dump();
  header.resize(header.size() - 2);
  return header + "," + objects.dump().substr(1) + "}";
}

void large_review(benchmark::State& state, const server::ReviewFunction& rules) {
  const std::string body = large_update();
  const RuleSettings settings;
  for (auto _ : state) {
    const auto request = decode_review(body);
    const AdmissionResponse response = rules(Review{*request, view(), settings}, nullptr);
    if (!response.is_allowed()) state.SkipWithError(std::string(response.message()).c_str());
    benchmark::DoNotOptimize(response.encode());
  }
}

void decode_large(benchmark::State& state) {
  const std::string body = large_update();
  for (auto _ : state) benchmark::DoNotOptimize(decode_review(body));
}

}  // namespace

BENCHMARK(decode)->Arg(5000);
BENCHMARK_CAPTURE(whole_review, mutate, muster::mutators::mutate)->Arg(5000);
BENCHMARK_CAPTURE(whole_review, validate, muster::validators::validate)->Arg(5000);
BENCHMARK_CAPTURE(handled_review, mutate, muster::mutators::mutate, "/mutate")->Arg(5000);
BENCHMARK_CAPTURE(handled_review, validate, muster::validators::validate, "/validate")->Arg(5000);
BENCHMARK(workload_status);
BENCHMARK(decode_large)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large_review, mutate, muster::mutators::mutate)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large_review, validate, muster::validators::validate)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
