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

void whole_review(benchmark::State& state, const ReviewFunction& rules) {
  const auto body = bench::sample_review(static_cast<size_t>(state.range(0)));
  const RuleSettings settings;
  for (auto _ : state) {
    const auto request = decode_review(body);
    benchmark::DoNotOptimize(rules(Review{*request, view(), settings}, nullptr).encode());
  }
}

// With metrics, timers and the catch-all: what a worker does for a request.
void handled_review(benchmark::State& state, const ReviewFunction& rules, const char* path) {
  const auto body = bench::sample_review(static_cast<size_t>(state.range(0)));
  MetricsOptions options;
  options.rules = all_rule_names();
  Metrics metrics(std::move(options));
  const auto settings = std::make_shared<const RuleSettings>();
  const ClusterViewPtr shared(&view(), [](const ClusterView*) {});
  const ReviewHandler handler([&] { return settings; }, [&] { return shared; }, metrics);
  for (auto _ : state) benchmark::DoNotOptimize(handler.review(rules, path, body));
}

}  // namespace

BENCHMARK(decode)->Arg(5000);
BENCHMARK_CAPTURE(whole_review, mutate, muster::mutate)->Arg(5000);
BENCHMARK_CAPTURE(whole_review, validate, muster::validate)->Arg(5000);
BENCHMARK_CAPTURE(handled_review, mutate, muster::mutate, "/mutate")->Arg(5000);
BENCHMARK_CAPTURE(handled_review, validate, muster::validate, "/validate")->Arg(5000);
BENCHMARK_MAIN();
