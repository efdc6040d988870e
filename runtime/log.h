// Structured logs: a constant message and fields, as one JSON object per line or,
// for terminals, as text. Thread-safe. Never pass secrets: fields are written as
// they are.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/config/muster_configuration.h"
#include "api/logged_decision.h"
#include "base/result.h"

namespace muster::runtime {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

Result<LogLevel> parse_log_level(std::string_view text);

using LogField = std::pair<std::string_view, nlohmann::json>;
using LogFields = std::initializer_list<LogField>;

// Before any other call and before threads start. Logs go to stderr.
void set_up_log(LogFormat format, LogLevel level);

void log(LogLevel level, std::string_view message, LogFields fields = {});
void log(const LoggedDecision& decision);  // at info
inline void log_debug(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kDebug, message, fields);
}
inline void log_info(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kInfo, message, fields);
}
inline void log_warning(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kWarning, message, fields);
}
inline void log_error(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kError, message, fields);
}

// One line without its line feed; what log() writes. Pure, for tests.
std::string format_log_line(LogFormat format, LogLevel level, std::string_view timestamp, std::string_view message,
                            std::span<const LogField> fields);
inline std::string format_log_line(LogFormat format, LogLevel level, std::string_view timestamp,
                                   std::string_view message, LogFields fields) {
  return format_log_line(format, level, timestamp, message, std::span(fields.begin(), fields.size()));
}

}  // namespace muster::runtime
