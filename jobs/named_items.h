// A list whose items are known by their names, to be asked for many of them: a search of the
// list for each would take the square of its length.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "api/codec/json.h"

namespace muster::jobs {

// Points into the list, which outlives it.
class NamedItems {
 public:
  explicit NamedItems(const nlohmann::json& list) {
    for (const nlohmann::json& item : list) items_.try_emplace(string_at(item, {"name"}), &item);
  }
  // The first of that name; nullptr when there is none.
  const nlohmann::json* find(std::string_view name) const {
    const auto found = items_.find(name);
    return found == items_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const nlohmann::json*> items_;
};

}  // namespace muster::jobs
