// A text that is one with all that are equal: the reasons and messages of 50,000
// Workloads are few. Immutable, and as small as a pointer.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

// Thread-safe as a std::string is: one object belongs to one thread at a time, and what
// equal ones share looks after itself. A text lives as long as one of them does.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string_view text) : shared_(share(text)) {}
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  SharedText(const char* text) : SharedText(std::string_view(text)) {}
  SharedText(const SharedText& other) noexcept;
  SharedText(SharedText&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~SharedText();

  // Good as long as this object, or an equal one, is there.
  const std::string& text() const;
  operator const std::string&() const { return text(); }
  operator std::string_view() const { return text(); }
  bool empty() const { return shared_ == nullptr; }
  bool starts_with(std::string_view start) const { return text().starts_with(start); }
  bool ends_with(std::string_view end) const { return text().ends_with(end); }

  // Equal texts are the same one.
  friend bool operator==(const SharedText& a, const SharedText& b) { return a.shared_ == b.shared_; }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.text() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.text() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.text() == b; }
  friend std::string operator+(const SharedText& a, std::string_view b) { return a.text() + std::string(b); }
  friend std::string operator+(std::string a, const SharedText& b) { return std::move(a) + b.text(); }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) { return out << text.text(); }

  // How many different texts there are in the process.
  static size_t count();

 private:
  struct Shared;
  struct Pool;
  static Shared* share(std::string_view text);  // null: it is empty
  static Pool& pool();

  Shared* shared_ = nullptr;
};

}  // namespace muster
