// The text of a private key: wherever one was kept, nothing of it is left.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Overwrites `size` bytes in a way that no compiler leaves out.
void cleanse(void* bytes, size_t size);
// All that `text` has room for; it is empty then.
void cleanse(std::string& text);

// Of a container: memory is overwritten before it is given back, also when the container grows.
template <class T>
struct CleansingAllocator {
  using value_type = T;

  CleansingAllocator() = default;
  template <class U>
  CleansingAllocator(const CleansingAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) {
    cleanse(memory, count * sizeof(T));
    ::operator delete(memory);
  }
  bool operator==(const CleansingAllocator&) const { return true; }
};

// A value like std::string. What it is made of stays its maker's: only a string that is moved in
// is cleansed. Not printed, so that a log or a failed test shows no key.
class SecretText {
 public:
  SecretText() = default;
  SecretText(std::string_view text) : bytes_(text.begin(), text.end()) {}
  SecretText(const char* text) : SecretText(std::string_view(text)) {}
  SecretText(const std::string& text) : SecretText(std::string_view(text)) {}
  SecretText(std::string&& text) : SecretText(std::string_view(text)) { cleanse(text); }

  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }
  operator std::string_view() const { return view(); }
  bool empty() const { return bytes_.empty(); }
  size_t size() const { return bytes_.size(); }

  void append(std::string_view text) { bytes_.insert(bytes_.end(), text.begin(), text.end()); }
  void clear() { bytes_ = Bytes(); }

  bool operator==(const SecretText&) const = default;

 private:
  // Not std::basic_string, which keeps short texts outside of its allocator's memory.
  using Bytes = std::vector<char, CleansingAllocator<char>>;
  Bytes bytes_;
};

}  // namespace muster
