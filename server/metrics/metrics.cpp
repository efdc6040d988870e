#include "server/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace muster::server {

namespace {

using prometheus::Histogram;

constexpr std::array<std::string_view, 5> kOperations = {"CREATE", "UPDATE", "DELETE", "CONNECT", "unknown"};
constexpr size_t kUnknownOperation = 4;

// A review takes about 100 µs, and the timeout of the API server is seconds.
const Histogram::BucketBoundaries kRequestBuckets = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                     0.01,    0.025,  0.05,    0.1,    0.25,  1,      5};
const Histogram::BucketBoundaries kRuleBuckets = {0.000001, 0.0000025, 0.000005, 0.00001, 0.000025,
                                                  0.00005,  0.0001,    0.00025,  0.001,   0.01};
// controller-runtime's, so that its dashboards' quantiles keep their meaning.
const Histogram::BucketBoundaries kFamiliarBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Children are created at their first use. If two threads create the same child at the same time, the family
// returns the same object to both.
template <class Child>
class Slots {
 public:
  explicit Slots(size_t size) : slots_(size) {}

  template <class Make>
  Child& get(size_t index, Make make) {
    auto& slot = slots_[index];
    Child* child = slot.load(std::memory_order_acquire);
    if (!child) slot.store(child = &make(), std::memory_order_release);
    return *child;
  }

 private:
  std::vector<std::atomic<Child*>> slots_;
};

// The index of a name in a fixed list. If the name is missing, the size of the list, "other".
size_t index_of(const std::vector<std::string>& list, std::string_view name) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), name) - list.begin());
}

std::string name_at(const std::vector<std::string>& list, size_t index) {
  return index < list.size() ? list[index] : "other";
}

template <class Builder>
auto& family(Builder builder, prometheus::Registry& registry, const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace

std::string_view to_text(ReviewOutcome outcome) {
  switch (outcome) {
    case ReviewOutcome::kAllowed:
      return "allowed";
    case ReviewOutcome::kPatched:
      return "patched";
    case ReviewOutcome::kDenied:
      return "denied";
    case ReviewOutcome::kUnavailable:
      return "unavailable";
    case ReviewOutcome::kBadRequest:
      return "bad_request";
    case ReviewOutcome::kConverted:
      return "converted";
    case ReviewOutcome::kFailed:
      return "failed";
    case ReviewOutcome::kError:
      return "error";
  }
  return "error";
}

struct Metrics::Families {
  const MetricsOptions options;
  const std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();

  prometheus::Family<prometheus::Counter>& requests =
      family(prometheus::BuildCounter(), *registry, "muster_webhook_requests_total",
             "Admission reviews by path, kind, operation and outcome.");
  prometheus::Family<Histogram>& durations =
      family(prometheus::BuildHistogram(), *registry, "muster_webhook_request_duration_seconds",
             "From a complete request to its answer, by path.");
  prometheus::Family<Histogram>& rule_durations =
      family(prometheus::BuildHistogram(), *registry, "muster_webhook_rule_duration_seconds",
             "Time that one rule took for one review, by rule and kind.");
  prometheus::Family<prometheus::Gauge>& expiry =
      family(prometheus::BuildGauge(), *registry, "muster_certificate_expiry_timestamp_seconds",
             "When the serving certificate in use expires, as Unix time.");
  prometheus::Family<prometheus::Gauge>& connections =
      family(prometheus::BuildGauge(), *registry, "muster_open_connections", "Open connections by listener.");
  prometheus::Family<prometheus::Gauge>& build =
      family(prometheus::BuildGauge(), *registry, "muster_build_info", "1, labelled with muster's version.");
  prometheus::Family<prometheus::Counter>& familiar_requests =
      family(prometheus::BuildCounter(), *registry, "controller_runtime_webhook_requests_total",
             "Total number of admission requests by HTTP status code.");
  prometheus::Family<Histogram>& familiar_latency =
      family(prometheus::BuildHistogram(), *registry, "controller_runtime_webhook_latency_seconds",
             "Histogram of the latency of processing admission requests");
  prometheus::Family<prometheus::Gauge>& familiar_in_flight =
      family(prometheus::BuildGauge(), *registry, "controller_runtime_webhook_requests_in_flight",
             "Current number of admission requests being served.");

  // One more than the number of names: the last is "other".
  const size_t path_count, kind_count, rule_count;
  Slots<prometheus::Counter> request_slots;
  Slots<Histogram> rule_slots;
  std::map<std::pair<size_t, int>, prometheus::Counter*> familiar_codes;
  std::vector<Histogram*> path_durations, path_latency;
  std::vector<prometheus::Gauge*> path_in_flight;
  std::unordered_map<std::string_view, size_t> rule_indexes;

  Mutex mutex;
  std::map<std::string, std::function<size_t()>> connection_counts GUARDED_BY(mutex);
  std::vector<std::shared_ptr<prometheus::Collectable>> included GUARDED_BY(mutex);

  explicit Families(MetricsOptions given)
      : options(std::move(given)),
        path_count(options.paths.size() + 1),
        kind_count(options.kinds.size() + 1),
        rule_count(options.rules.size() + 1),
        request_slots(path_count * kind_count * kOperations.size() * kReviewOutcomes),
        rule_slots(rule_count * kind_count) {
    for (size_t i = 0; i < options.paths.size(); ++i) {
      const auto& path = options.paths[i];
      path_durations.push_back(&durations.Add({{"path", path}}, kRequestBuckets));
      path_latency.push_back(&familiar_latency.Add({{"webhook", path}}, kFamiliarBuckets));
      path_in_flight.push_back(&familiar_in_flight.Add({{"webhook", path}}));
      for (const int code : {200, 400, 413, 415, 422, 500}) {
        familiar_codes[{i, code}] = &familiar_requests.Add({{"webhook", path}, {"code", std::to_string(code)}});
      }
    }
    for (size_t i = 0; i < options.rules.size(); ++i) rule_indexes[options.rules[i]] = i;
    build.Add({{"version", options.version}}).Set(1);
  }
};

Metrics::Metrics(MetricsOptions options) : families_(std::make_unique<Families>(std::move(options))) {}
Metrics::~Metrics() = default;

size_t Metrics::path_index(std::string_view path) const {
  return index_of(families_->options.paths, path);
}

ReviewLabels Metrics::labels(size_t path) const {
  return {path, families_->options.kinds.size(), kUnknownOperation};
}

ReviewLabels Metrics::labels(size_t path, std::string_view kind, Operation operation) const {
  return {path, index_of(families_->options.kinds, kind), static_cast<size_t>(operation)};
}

ReviewLabels Metrics::labels(size_t path, std::string_view kind) const {
  return {path, index_of(families_->options.kinds, kind), kUnknownOperation};
}

void Metrics::review_started(size_t path) {
  if (path < families_->path_in_flight.size()) families_->path_in_flight[path]->Increment();
}

void Metrics::review_finished(const ReviewLabels& labels, ReviewOutcome outcome, int http_status, Duration took) {
  auto& f = *families_;
  const size_t slot =
      ((labels.path * f.kind_count + labels.kind) * kOperations.size() + labels.operation) * kReviewOutcomes +
      static_cast<size_t>(outcome);
  f.request_slots
      .get(slot,
           [&]() -> prometheus::Counter& {
             return f.requests.Add({{"path", name_at(f.options.paths, labels.path)},
                                    {"kind", name_at(f.options.kinds, labels.kind)},
                                    {"operation", std::string(kOperations[labels.operation])},
                                    {"outcome", std::string(to_text(outcome))}});
           })
      .Increment();
  if (labels.path >= f.path_durations.size()) return;
  f.path_durations[labels.path]->Observe(seconds(took));
  f.path_latency[labels.path]->Observe(seconds(took));
  f.path_in_flight[labels.path]->Decrement();
  const auto code = f.familiar_codes.find({labels.path, http_status});
  if (code != f.familiar_codes.end()) code->second->Increment();
}

void Metrics::rule_finished(std::string_view rule, const ReviewLabels& labels, Duration took) {
  auto& f = *families_;
  const auto found = f.rule_indexes.find(rule);
  const size_t index = found == f.rule_indexes.end() ? f.options.rules.size() : found->second;
  f.rule_slots
      .get(index * f.kind_count + labels.kind,
           [&]() -> Histogram& {
             return f.rule_durations.Add(
                 {{"rule", name_at(f.options.rules, index)}, {"kind", name_at(f.options.kinds, labels.kind)}},
                 kRuleBuckets);
           })
      .Observe(seconds(took));
}

void Metrics::set_certificate_expiry(TimePoint not_after) {
  families_->expiry.Add({}).Set(seconds(not_after.time_since_epoch()));
}

void Metrics::watch_connections(const std::string& listener, std::function<size_t()> count) {
  MutexLock lock(families_->mutex);
  families_->connection_counts[listener] = std::move(count);
}

prometheus::Registry& Metrics::registry() {
  return *families_->registry;
}

void Metrics::include(std::shared_ptr<prometheus::Collectable> others) {
  MutexLock lock(families_->mutex);
  families_->included.push_back(std::move(others));
}

std::string Metrics::expose() const {
  std::vector<std::shared_ptr<prometheus::Collectable>> sources = {families_->registry};
  {
    MutexLock lock(families_->mutex);
    for (const auto& [listener, count] : families_->connection_counts) {
      families_->connections.Add({{"listener", listener}}).Set(static_cast<double>(count()));
    }
    sources.insert(sources.end(), families_->included.begin(), families_->included.end());
  }
  std::vector<prometheus::MetricFamily> families;
  for (const auto& source : sources) {
    auto more = source->Collect();
    std::move(more.begin(), more.end(), std::back_inserter(families));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace muster::server
