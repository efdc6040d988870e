// A map from string to V that is cheap to copy and to change: copies share their
// shards, and a change copies one shard only. It lets the engine publish a whole
// new view of the cluster after every event while readers keep the old one.
//
// A SharedMap itself is not thread-safe; distinct copies can be used from
// distinct threads.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace muster {

template <class V>
class SharedMap {
 public:
  // The value at `key`, owned by this map; nullptr when there is none.
  const V* find(std::string_view key) const {
    const auto& shard = shards_[index(key)];
    if (!shard) return nullptr;
    auto it = shard->find(key);
    return it == shard->end() ? nullptr : &it->second;
  }
  bool contains(std::string_view key) const { return find(key) != nullptr; }

  void set(std::string_view key, V value) {
    Shard& shard = own(index(key));
    if (shard.insert_or_assign(std::string(key), std::move(value)).second) ++size_;
  }
  void erase(std::string_view key) {
    if (find(key) == nullptr) return;
    own(index(key)).erase(std::string(key));
    --size_;
  }
  size_t size() const { return size_; }

  // In no particular order.
  void for_each(const std::function<void(const std::string&, const V&)>& visit) const {
    for (const auto& shard : shards_) {
      if (!shard) continue;
      for (const auto& [key, value] : *shard) visit(key, value);
    }
  }

 private:
  static constexpr size_t kShards = 256;
  using Shard = std::map<std::string, V, std::less<>>;

  static size_t index(std::string_view key) { return std::hash<std::string_view>{}(key) % kShards; }
  Shard& own(size_t i) {
    auto& shard = shards_[i];
    if (!shard)
      shard = std::make_shared<Shard>();
    else if (shard.use_count() > 1)
      shard = std::make_shared<Shard>(*shard);
    return *shard;
  }

  std::array<std::shared_ptr<Shard>, kShards> shards_{};
  size_t size_ = 0;
};

}  // namespace muster
