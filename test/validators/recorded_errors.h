// Errors of rules beside those that upstream's webhooks were recorded to give.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/meta/field_error.h"

namespace muster::test {

// Long messages are recorded by their two ends; for an address any number may stand.
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

// The same errors in any order. Kueue's checks say some sentences twice; its answer, like muster's, has each once.
template <class Same>
void check_errors(const FieldErrors& ours, const std::vector<nlohmann::json>& recorded, Same same) {
  for (const FieldError& error : ours) {
    CHECK_MESSAGE(std::any_of(recorded.begin(), recorded.end(),
                              [&](const nlohmann::json& candidate) { return same(error, candidate); }),
                  error.text());
  }
  for (const nlohmann::json& candidate : recorded) {
    CHECK_MESSAGE(
        std::any_of(ours.begin(), ours.end(), [&](const FieldError& error) { return same(error, candidate); }),
        "not found by muster: ", candidate.dump());
  }
}

}  // namespace muster::test
