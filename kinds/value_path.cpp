#include "kinds/value_path.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kEveryElement = "*";

bool is_name(std::string_view step) {
  return !step.empty() && std::all_of(step.begin(), step.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

template <class Json>
Json* step_into(Json& value, const std::string& step) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(step);
  return found == value.end() ? nullptr : &*found;
}

template <class Json>
Json* walk(Json& object, const std::vector<std::string>& steps) {
  Json* value = steps.empty() ? nullptr : &object;
  for (const std::string& step : steps) {
    if (value == nullptr) return nullptr;
    value = step_into(*value, step);
  }
  return value;
}

// False: the visit ends. `left`: number of elements that can still be visited.
bool visit_from(const json& value, std::span<const std::string> steps, size_t& left,
                const std::function<bool(const json&)>& visit) {
  if (steps.empty()) return visit(value);
  if (steps.front() != kEveryElement) {
    const json* next = step_into(value, steps.front());
    return next == nullptr || visit_from(*next, steps.subspan(1), left, visit);
  }
  if (!value.is_structured()) return true;
  for (const json& element : value) {
    if (left == 0) return false;
    --left;
    if (!visit_from(element, steps.subspan(1), left, visit)) return false;
  }
  return true;
}

Failure<Error> wrong(std::string_view text, const std::string& why) {
  return fail("\"" + std::string(text) + "\" is no path: " + why);
}

}  // namespace

Result<ValuePath> ValuePath::parse(std::string_view text) {
  ValuePath path;
  path.text_ = text;
  std::string_view rest = text;
  while (true) {
    const size_t end = std::min(rest.find_first_of(".["), rest.size());
    const std::string_view step = rest.substr(0, end);
    if (step != kEveryElement && !is_name(step))
      return wrong(text, "a step is a name of letters, digits, '-' and '_', or '*'");
    path.steps_.emplace_back(step);
    rest.remove_prefix(end);
    while (rest.starts_with('[')) {
      const size_t close = rest.find(']');
      if (close == std::string_view::npos || close == 1) return wrong(text, "a key in brackets ends with ']'");
      path.steps_.emplace_back(rest.substr(1, close - 1));
      rest.remove_prefix(close + 1);
    }
    if (rest.empty()) break;
    if (!rest.starts_with('.')) return wrong(text, "after ']' comes '.' or the end");
    rest.remove_prefix(1);
  }
  if (path.steps_.size() > kMostSteps) return wrong(text, "it has more than " + std::to_string(kMostSteps) + " steps");
  return path;
}

bool ValuePath::has_wildcard() const {
  return std::find(steps_.begin(), steps_.end(), kEveryElement) != steps_.end();
}

const json* ValuePath::find(const json& object) const {
  return walk(object, steps_);
}

json* ValuePath::find(json& object) const {
  return walk(object, steps_);
}

bool ValuePath::set(json& object, json value) const {
  if (steps_.empty()) return false;
  const json* there = &object;
  for (const std::string& step : steps_) {
    if (there != nullptr && !there->is_object() && !there->is_null()) return false;
    there = there == nullptr || there->is_null() ? nullptr : step_into(*there, step);
  }
  json* place = &object;
  for (const std::string& step : steps_) {
    if (place->is_null()) *place = json::object();
    place = &(*place)[step];
  }
  *place = std::move(value);
  return true;
}

json ValuePath::patch(json value) const {
  json patch = std::move(value);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) patch = json{{*step, std::move(patch)}};
  return patch;
}

void ValuePath::for_each(const json& object, const std::function<bool(const json&)>& visit) const {
  if (steps_.empty()) return;
  size_t left = kMostElements;
  visit_from(object, steps_, left, visit);
}

}  // namespace muster
