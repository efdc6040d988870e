#include "server/list_cache.h"

#include <utility>

namespace muster::server {
namespace {

// Owners are compared and not addresses, which another object can have later.
template <class T>
bool is_same(const std::weak_ptr<const T>& kept, const std::shared_ptr<const T>& given) {
  return !kept.owner_before(given) && !given.owner_before(kept);
}

}  // namespace

bool ListCache::is_of(const Snapshot& snapshot, const Starts& starts) const {
  return is_same(snapshot_, snapshot) && is_same(starts_, starts);
}

std::shared_ptr<const std::string> ListCache::find(const Snapshot& snapshot, const Starts& starts,
                                                   const std::string& question) {
  const MutexLock lock(mutex_);
  if (!is_of(snapshot, starts)) return nullptr;
  const auto found = answers_.find(question);
  return found == answers_.end() ? nullptr : found->second;
}

void ListCache::keep(const Snapshot& snapshot, const Starts& starts, const std::string& question, std::string answer) {
  const MutexLock lock(mutex_);
  if (!is_of(snapshot, starts)) {
    answers_.clear();
    bytes_ = 0;
    snapshot_ = snapshot;
    starts_ = starts;
  }
  const size_t bytes = question.size() + answer.size();
  if (bytes_ + bytes > kMostBytes) return;
  bytes_ += bytes;
  answers_.emplace(question, std::make_shared<const std::string>(std::move(answer)));
}

}  // namespace muster::server
