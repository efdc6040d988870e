#include "server/metrics/watch_ages.h"

#include <prometheus/metric_family.h>

#include <algorithm>

namespace muster::server {
namespace {

std::string seconds_of(Duration age) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(age).count());
}

}  // namespace

void WatchAges::heard(const std::string& resource, const std::string& watch) {
  const MonotonicTime now = clock_.now().monotonic;
  MutexLock lock(mutex_);
  heard_[{resource, watch}] = now;
}

std::map<std::string, Duration> WatchAges::ages() const {
  const MonotonicTime now = clock_.now().monotonic;
  std::map<std::string, Duration> ages;
  MutexLock lock(mutex_);
  for (const auto& [watch, time] : heard_) {
    Duration& age = ages[watch.first];
    age = std::max(age, now - time);
  }
  return ages;
}

std::string WatchAges::too_old() const {
  std::string text;
  for (const auto& [resource, age] : ages()) {
    if (age < kTooOld) continue;
    text += (text.empty() ? "" : ", ") + resource + " for " + seconds_of(age) + " s";
  }
  return text.empty() ? text : "nothing was heard from the API server of " + text;
}

std::vector<std::string> WatchAges::notes() const {
  std::vector<std::string> notes;
  for (const auto& [resource, age] : ages()) {
    if (age >= kWorthAWord) notes.push_back("this answer is from data " + seconds_of(age) + " s old for " + resource);
  }
  return notes;
}

std::vector<prometheus::MetricFamily> WatchAges::Collect() const {
  prometheus::MetricFamily family;
  family.name = "muster_watch_age_seconds";
  family.help = "Seconds since the API server was last heard of objects of this kind; bookmarks count.";
  family.type = prometheus::MetricType::Gauge;
  for (const auto& [resource, age] : ages()) {
    prometheus::ClientMetric metric;
    metric.label = {{"resource", resource}};
    metric.gauge.value = std::chrono::duration<double>(age).count();
    family.metric.push_back(std::move(metric));
  }
  return {std::move(family)};
}

}  // namespace muster::server
