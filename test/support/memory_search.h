// Looks through the memory of this process for what should not be there any more.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// The search reads freed memory on purpose, and the sanitizers' own memory, for which they have no records.
#define NOT_SANITIZED __attribute__((no_sanitize("address", "thread")))

namespace muster::test {

// A text that is known without being in memory as such.
class Masked {
 public:
  explicit Masked(std::string_view text) : bytes_(text) {
    for (char& byte : bytes_) byte = static_cast<char>(byte ^ kMask);
  }
  size_t size() const { return bytes_.size(); }
  // A new copy, which is the caller's.
  std::string text() const {
    std::string text(bytes_.size(), '\0');
    for (size_t i = 0; i < bytes_.size(); ++i) text[i] = static_cast<char>(bytes_[i] ^ kMask);
    return text;
  }
  NOT_SANITIZED bool is_at(const char* place) const {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if ((place[i] ^ kMask) != bytes_[i]) return false;
    }
    return true;
  }
  char first() const { return static_cast<char>(bytes_[0] ^ kMask); }
  // Without the `margin` at both ends: allocators write there after a free.
  Masked middle(size_t margin) const {
    Masked part{std::string_view()};
    part.bytes_ = bytes_.substr(margin, bytes_.size() - 2 * margin);
    return part;
  }

 private:
  static constexpr char kMask = 0x5a;
  std::string bytes_;
};

// How often the middle of `secret` is in memory that this process can write to, freed or not.
// It is read in place: a copy of the memory would be found the next time.
NOT_SANITIZED inline size_t copies_in_memory(const Masked& secret) {
  constexpr size_t kMargin = 32;
  constexpr size_t kLargest = size_t{1} << 32;  // beyond: a sanitizer's shadow
  REQUIRE(secret.size() > 2 * kMargin + 16);
  const Masked middle = secret.middle(kMargin);
  struct Range {
    uintptr_t from, to;
  };
  std::vector<Range> ranges;
  {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream fields(line);
      Range range{};
      char dash = 0;
      std::string rights;
      fields >> std::hex >> range.from >> dash >> range.to >> rights;
      if (rights.starts_with("rw") && range.to - range.from < kLargest) ranges.push_back(range);
    }
  }
  size_t found = 0;
  const char first = middle.first();
  for (const Range& range : ranges) {
    const char* at = reinterpret_cast<const char*>(range.from);
    const char* const end = reinterpret_cast<const char*>(range.to) - middle.size();
    while (at < end) {
      if (*at == first && middle.is_at(at)) ++found;
      ++at;
    }
  }
  return found;
}

}  // namespace muster::test
