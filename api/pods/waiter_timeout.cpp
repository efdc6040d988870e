#include "api/pods/waiter_timeout.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/codec/json.h"
#include "base/whole_number.h"

namespace muster {

namespace {

std::optional<int64_t> seconds_of(const nlohmann::json& container, std::string_view flag, int32_t least) {
  for (const nlohmann::json& argument : array_at(container, {"args"})) {
    const auto* text = argument.get_ptr<const std::string*>();
    if (text == nullptr || !text->starts_with(flag)) continue;
    const auto seconds = whole_number<int32_t>(std::string_view(*text).substr(flag.size()));
    return seconds && *seconds >= least ? std::optional<int64_t>(*seconds) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> waiter_timeout_seconds(const nlohmann::json& container) {
  return seconds_of(container, "--timeout-seconds=", 1);
}

std::optional<int64_t> waiter_grace_seconds(const nlohmann::json& container) {
  return seconds_of(container, "--grace-seconds=", 0);
}

}  // namespace muster
