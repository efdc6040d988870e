#include "api/json_patch.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace muster {
namespace {

using nlohmann::json;

std::string escape(const std::string& key) {
  std::string text;
  for (char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

class Differ {
 public:
  void diff(const json& before, const json& after, const std::string& path) {
    if (before.is_object() && after.is_object()) return diff_objects(before, after, path);
    if (before.is_array() && after.is_array()) return diff_arrays(before, after, path);
    if (before != after) operations_.push_back({{"op", "replace"}, {"path", path}, {"value", after}});
  }
  json take() { return std::move(operations_); }

 private:
  void diff_objects(const json& before, const json& after, const std::string& path) {
    for (const auto& [key, old_value] : before.items()) {
      auto now = after.find(key);
      if (now == after.end())
        remove(path + "/" + escape(key));
      else
        diff(old_value, *now, path + "/" + escape(key));
    }
    for (const auto& [key, value] : after.items()) {
      if (!before.contains(key)) add(path + "/" + escape(key), value);
    }
  }

  // What stands between the common head and the common tail is compared pair by
  // pair; the rest of the longer side is added or removed.
  void diff_arrays(const json& before, const json& after, const std::string& path) {
    const size_t shorter = std::min(before.size(), after.size());
    size_t head = 0;
    while (head < shorter && before[head] == after[head]) ++head;
    size_t tail = 0;
    while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;

    const size_t before_end = before.size() - tail, after_end = after.size() - tail;
    size_t i = head;
    for (; i < before_end && i < after_end; ++i) diff(before[i], after[i], path + "/" + std::to_string(i));
    for (size_t last = before_end; last > i; --last) remove(path + "/" + std::to_string(last - 1));
    for (; i < after_end; ++i) add(path + "/" + std::to_string(i), after[i]);
  }

  void add(const std::string& path, const json& value) {
    operations_.push_back({{"op", "add"}, {"path", path}, {"value", value}});
  }
  void remove(const std::string& path) { operations_.push_back({{"op", "remove"}, {"path", path}}); }

  json operations_ = json::array();
};

}  // namespace

json json_diff(const json& before, const json& after) {
  Differ differ;
  differ.diff(before, after, "");
  return differ.take();
}

}  // namespace muster
