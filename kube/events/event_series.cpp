#include "kube/events/event_series.h"

#include <algorithm>

#include "api/meta/names.h"

namespace muster::kube {
namespace {

// Enough for "." and the nanoseconds in hexadecimal.
constexpr size_t kSuffixBytes = 17;
constexpr size_t kMaxNameBytes = 253;

std::string hexadecimal(int64_t number) {
  std::string text;
  for (auto rest = static_cast<uint64_t>(number); rest != 0; rest /= 16) text += "0123456789abcdef"[rest % 16];
  return {text.rbegin(), text.rend()};
}

}  // namespace

std::string EventCorrelator::unique_name(const std::string& regarding, TimePoint now) {
  last_stamp_ = std::max<int64_t>(last_stamp_ + 1, now.time_since_epoch().count());
  // Some kinds (RBAC's) allow names that an Event must not have.
  std::string name = is_dns1123_subdomain(regarding).empty() ? regarding : "event";
  name.resize(std::min(name.size(), kMaxNameBytes - kSuffixBytes));
  while (name.ends_with('.') || name.ends_with('-')) name.pop_back();
  return name + "." + hexadecimal(last_stamp_);
}

double EventCorrelator::tokens_at(const Bucket& bucket, MonotonicTime now) const {
  const double refilled = std::chrono::duration<double>(now - bucket.refilled) / options_.refill_every;
  return std::min(options_.burst, bucket.tokens + std::max(0.0, refilled));
}

bool EventCorrelator::take_token(const ObjectReference& about, MonotonicTime now) {
  if (buckets_.size() >= options_.max_remembered && !buckets_.contains(about)) forget_fullest(now);
  Bucket& bucket = buckets_.try_emplace(about, Bucket{options_.burst, now}).first->second;
  bucket = {tokens_at(bucket, now), now};
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

// Deletes the half with the most tokens left: this loses the least information.
void EventCorrelator::forget_fullest(MonotonicTime now) {
  std::vector<double> left;
  for (const auto& [about, bucket] : buckets_) left.push_back(tokens_at(bucket, now));
  const auto middle = left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2);
  std::nth_element(left.begin(), middle, left.end());
  size_t surplus = (left.size() + 1) / 2;
  std::erase_if(buckets_, [&, enough = *middle](const auto& entry) {
    return tokens_at(entry.second, now) >= enough && surplus > 0 && surplus-- > 0;
  });
}

void EventCorrelator::schedule(const Event& event, Series& series) {
  if (series.scheduled) schedule_.erase(*series.scheduled);
  MonotonicTime next = series.last_seen + options_.finish_after;
  if (series.unwritten) next = std::min(next, series.patched + options_.refresh_every);
  series.scheduled = schedule_.emplace(next, &event);
}

EventDecision EventCorrelator::take(ObjectEvent event, Now when) {
  Event key = event;
  key.regarding.resource_version.clear();
  const auto known = series_.find(key);
  if (known == series_.end()) {
    if (!take_token(key.regarding, when.monotonic)) return {EventDecision::Kind::kRateLimited, {}};
    const auto begun = series_.emplace(std::move(key), Series{}).first;
    EventRecord& record = begun->second.record;
    record.name = unique_name(event.regarding.name, when.wall);
    record.event = std::move(event);
    record.first = record.last = to_timestamp(when.wall);
    begun->second.last_seen = when.monotonic;
    schedule(begun->first, begun->second);
    return {EventDecision::Kind::kCreate, record};
  }
  Series& series = known->second;
  ++series.record.count;
  series.record.last = to_timestamp(when.wall);
  series.last_seen = when.monotonic;
  const bool first_repetition = series.record.count == 2;
  series.unwritten = !first_repetition;
  if (first_repetition) series.patched = when.monotonic;
  schedule(known->first, series);
  if (first_repetition) return {EventDecision::Kind::kPatch, series.record};
  return {EventDecision::Kind::kCounted, {}};
}

std::vector<EventRecord> EventCorrelator::due(MonotonicTime now) {
  std::vector<EventRecord> news;
  while (!schedule_.empty()) {
    const bool crowded = series_.size() > options_.max_remembered;
    if (schedule_.begin()->first > now && !crowded) break;
    const auto found = series_.find(*schedule_.begin()->second);
    Series& series = found->second;
    if (std::exchange(series.unwritten, false)) news.push_back(series.record);
    series.patched = now;
    if (crowded || series.last_seen + options_.finish_after <= now) {
      schedule_.erase(*series.scheduled);
      series_.erase(found);
    } else {
      schedule(found->first, series);
    }
  }
  return news;
}

std::optional<MonotonicTime> EventCorrelator::next_due() const {
  if (schedule_.empty()) return std::nullopt;
  return schedule_.begin()->first;
}

}  // namespace muster::kube
