// Errors of rules beside those that upstream's webhooks were recorded to give.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "api/meta/field_error.h"

namespace muster::test {

// Long messages are recorded by their two ends; for an address any number can stand.
inline bool same_text(const std::string& ours, const nlohmann::json& recorded) {
  if (!recorded.contains("message")) {
    return ours.size() > 400 && ours.starts_with(recorded.at("messageStart").get<std::string>()) &&
           ours.ends_with(recorded.at("messageEnd").get<std::string>());
  }
  const std::string text = recorded["message"];
  const size_t address = text.find("<address>");
  if (address == std::string::npos) return ours == text;
  return ours.starts_with(text.substr(0, address)) &&
         ours.find_first_not_of("0123456789", address) == std::string::npos;
}

inline bool same_error(const FieldError& ours, const nlohmann::json& recorded) {
  return ours.field == recorded.at("field") && reason_of(ours.type) == recorded.at("type") &&
         same_text(ours.message(), recorded);
}

// Kueue's checks say some sentences twice; its answer, like muster's, has each once.
inline FieldErrors once_each(FieldErrors errors) {
  std::set<std::string> texts;
  std::erase_if(errors, [&](const FieldError& error) { return !texts.insert(error.text()).second; });
  return errors;
}

inline std::vector<nlohmann::json> once_each(std::vector<nlohmann::json> recorded) {
  std::sort(recorded.begin(), recorded.end());
  recorded.erase(std::unique(recorded.begin(), recorded.end()), recorded.end());
  return recorded;
}

// The same errors in any order.
template <class Same>
void check_errors(const FieldErrors& ours, std::vector<nlohmann::json> recorded, Same same) {
  for (const FieldError& error : ours) {
    const auto match = std::find_if(recorded.begin(), recorded.end(),
                                    [&](const nlohmann::json& candidate) { return same(error, candidate); });
    CHECK_MESSAGE(match != recorded.end(), error.text());
    if (match != recorded.end()) recorded.erase(match);
  }
  for (const nlohmann::json& error : recorded) FAIL_CHECK("not found by muster: ", error.dump());
}

}  // namespace muster::test
