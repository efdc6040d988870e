#include "api/pods/waiter_timeout.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/codec/json.h"
#include "base/whole_number.h"

namespace muster {

std::optional<int64_t> waiter_timeout_seconds(const nlohmann::json& container) {
  constexpr std::string_view kFlag = "--timeout-seconds=";
  for (const nlohmann::json& argument : array_at(container, {"args"})) {
    const auto* text = argument.get_ptr<const std::string*>();
    if (text == nullptr || !text->starts_with(kFlag)) continue;
    const auto seconds = whole_number<int32_t>(std::string_view(*text).substr(kFlag.size()));
    return seconds && *seconds >= 1 ? std::optional<int64_t>(*seconds) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace muster
