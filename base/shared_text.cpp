#include "base/shared_text.h"

#include <array>
#include <atomic>
#include <functional>
#include <unordered_set>

#include "base/mutex.h"

namespace muster {

// Counts its owners. The last one takes it out of its shard, under that shard's lock, in
// which alone the count rises from what can be the last.
struct SharedText::Shared {
  std::string text;
  size_t hash;
  std::atomic<uint32_t> owners = 1;
};

struct SharedText::Pool {
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Shared* shared) const noexcept { return shared->hash; }
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Shared* a, const Shared* b) const { return a == b; }
    bool operator()(const Shared* a, std::string_view b) const { return a->text == b; }
    bool operator()(std::string_view a, const Shared* b) const { return a == b->text; }
  };
  struct Shard {
    Mutex mutex;
    std::unordered_set<Shared*, Hash, Equal> texts GUARDED_BY(mutex);
  };
  std::array<Shard, 16> shards;

  Shard& shard_of(size_t hash) { return shards[(hash >> 32U) % shards.size()]; }
};

// Never destroyed: texts can outlive every other static object.
SharedText::Pool& SharedText::pool() {
  static Pool& only = *new Pool();
  return only;
}

SharedText::Shared* SharedText::share(std::string_view text) {
  if (text.empty()) return nullptr;
  const size_t hash = Pool::Hash{}(text);
  Pool::Shard& shard = pool().shard_of(hash);
  const MutexLock lock(shard.mutex);
  if (const auto known = shard.texts.find(text); known != shard.texts.end()) {
    (*known)->owners.fetch_add(1, std::memory_order_relaxed);
    return *known;
  }
  auto* made = new Shared{std::string(text), hash};
  shard.texts.insert(made);
  return made;
}

SharedText::SharedText(const SharedText& other) noexcept : shared_(other.shared_) {
  if (shared_ != nullptr) shared_->owners.fetch_add(1, std::memory_order_relaxed);
}

SharedText::~SharedText() {
  if (shared_ == nullptr) return;
  for (uint32_t owners = shared_->owners.load(std::memory_order_relaxed); owners > 1;) {
    if (shared_->owners.compare_exchange_weak(owners, owners - 1, std::memory_order_release)) return;
  }
  Pool::Shard& shard = pool().shard_of(shared_->hash);
  const MutexLock lock(shard.mutex);
  if (shared_->owners.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  shard.texts.erase(shared_);
  delete shared_;
}

const std::string& SharedText::text() const {
  static const std::string empty;
  return shared_ == nullptr ? empty : shared_->text;
}

size_t SharedText::count() {
  size_t count = 0;
  for (Pool::Shard& shard : pool().shards) {
    const MutexLock lock(shard.mutex);
    count += shard.texts.size();
  }
  return count;
}

}  // namespace muster
