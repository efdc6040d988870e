#include "api/codec/json_patch.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace muster {
namespace {

using nlohmann::json;

void append_escaped(std::string& path, std::string_view key) {
  for (char c : key) {
    if (c == '~')
      path += "~0";
    else if (c == '/')
      path += "~1";
    else
      path += c;
  }
}

// Walks over both values at the same time. The path is one string that grows and shrinks during the walk: a
// separate string for each level would be quadratic in the depth of an untrusted object.
class Differ {
 public:
  void diff(const json& before, const json& after) {
    if (before.is_object() && after.is_object()) return diff_objects(before, after);
    if (before.is_array() && after.is_array()) return diff_arrays(before, after);
    if (before != after) add_operation("replace", &after);
  }
  json take() { return std::move(operations_); }

 private:
  // One step down during its lifetime.
  class Step {
   public:
    Step(Differ& differ, std::string_view key) : path_(differ.path_), length_(path_.size()) {
      path_ += '/';
      append_escaped(path_, key);
    }
    Step(Differ& differ, size_t index) : Step(differ, std::to_string(index)) {}
    ~Step() { path_.resize(length_); }

   private:
    std::string& path_;
    const size_t length_;
  };

  void diff_objects(const json& before, const json& after) {
    for (const auto& [key, old_value] : before.get_ref<const json::object_t&>()) {
      const Step step(*this, key);
      auto now = after.find(key);
      if (now == after.end())
        add_operation("remove", nullptr);
      else
        diff(old_value, *now);
    }
    for (const auto& [key, value] : after.get_ref<const json::object_t&>()) {
      if (before.contains(key)) continue;
      const Step step(*this, key);
      add_operation("add", &value);
    }
  }

  // The items between the common head and the common tail are compared pair by pair; the remaining items of the
  // longer side are added or removed.
  void diff_arrays(const json& before, const json& after) {
    const size_t shorter = std::min(before.size(), after.size());
    size_t head = 0;
    while (head < shorter && before[head] == after[head]) ++head;
    size_t tail = 0;
    while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;

    const size_t before_end = before.size() - tail, after_end = after.size() - tail;
    size_t i = head;
    for (; i < before_end && i < after_end; ++i) {
      const Step step(*this, i);
      diff(before[i], after[i]);
    }
    for (size_t last = before_end; last > i; --last) {
      const Step step(*this, last - 1);
      add_operation("remove", nullptr);
    }
    for (; i < after_end; ++i) {
      const Step step(*this, i);
      add_operation("add", &after[i]);
    }
  }

  void add_operation(const char* op, const json* value) {
    json operation = {{"op", op}, {"path", path_}};
    if (value) operation["value"] = *value;
    operations_.push_back(std::move(operation));
  }

  std::string path_;
  json operations_ = json::array();
};

}  // namespace

json json_diff(const json& before, const json& after) {
  Differ differ;
  differ.diff(before, after);
  return differ.take();
}

}  // namespace muster
