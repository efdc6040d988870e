#include "state/pod_searches.h"

#include <algorithm>
#include <iterator>

namespace muster::state {
namespace {

constexpr Duration kLongestPause = std::chrono::minutes(1);
constexpr Duration kLongestOfFew = std::chrono::seconds(8);
constexpr Duration kShareOfOne = std::chrono::milliseconds(200);

}  // namespace

std::optional<PodSearches::Found> PodSearches::found(const ObjectKey& asker, const std::string& selector,
                                                     MonotonicTime now) const {
  const auto asked = answers_.find(asker);
  if (asked == answers_.end()) return std::nullopt;
  const auto answer = asked->second.find(selector);
  if (answer == asked->second.end() || answer->second.until <= now) return std::nullopt;
  return Found{answer->second.any, answer->second.until - now};
}

void PodSearches::note(const ObjectKey& asker, const std::string& selector, bool any, MonotonicTime now) {
  sweep(now);
  Answer& noted = answers_[asker][selector];
  noted.any = any;
  noted.until = now + (any ? std::min<Duration>(std::chrono::seconds(1 << std::min(noted.times++, 6)), longest_pause())
                           : kLongestPause);
}

Duration PodSearches::longest_pause() const {
  return std::clamp<Duration>(kShareOfOne * answers_.size(), kLongestOfFew, kLongestPause);
}

void PodSearches::forget_none(const ObjectKey& asker) {
  const auto asked = answers_.find(asker);
  if (asked == answers_.end()) return;
  std::erase_if(asked->second, [](const auto& entry) { return !entry.second.any; });
  if (asked->second.empty()) answers_.erase(asked);
}

void PodSearches::sweep(MonotonicTime now) {
  if (swept_ + kLongestPause >= now) return;
  swept_ = now;
  for (auto asked = answers_.begin(); asked != answers_.end();) {
    std::erase_if(asked->second, [&](const auto& entry) { return entry.second.until + 2 * kLongestPause < now; });
    asked = asked->second.empty() ? answers_.erase(asked) : std::next(asked);
  }
}

}  // namespace muster::state
