#include "runtime/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "base/clock.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

LogFormat g_format = LogFormat::kJson;  // set once, before threads start

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Strings are written without quotes if this is readable; all other values as JSON.
std::string text_of(const json& value) {
  if (value.is_string()) {
    const auto& text = *value.get_ptr<const std::string*>();
    // Control characters would speak to the terminal.
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte > 0x20 && byte != 0x7f && c != '"' && c != '=';
    });
    if (!text.empty() && plain) return text;
  }
  return to_text(value);
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == name_of(level)) return level;
  }
  return fail("\"" + std::string(text) + "\" is no log level; use debug, info, warning or error");
}

std::string format_log_line(LogFormat format, LogLevel level, std::string_view timestamp, std::string_view message,
                            std::span<const LogField> fields) {
  if (format == LogFormat::kText) {
    std::string line(timestamp);
    line += " " + std::string(name_of(level)) + ": " + std::string(message);
    for (const auto& [key, value] : fields) line += " " + std::string(key) + "=" + text_of(value);
    return line;
  }
  // Written by this code, so that time, level and message come first.
  std::string line = "{\"ts\":" + to_text(json(timestamp)) + ",\"level\":" + to_text(json(name_of(level))) +
                     ",\"msg\":" + to_text(json(message));
  for (const auto& [key, value] : fields) line += "," + to_text(json(key)) + ":" + to_text(value);
  return line + "}";
}

void set_up_log(LogFormat format, LogLevel level) {
  g_format = format;
  auto logger = spdlog::stderr_logger_mt("muster");
  logger->set_pattern("%v");
  logger->set_level(spdlog_level(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

namespace {

void write_line(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  auto* logger = spdlog::default_logger_raw();
  if (!logger->should_log(spdlog_level(level))) return;
  const std::string now = format_rfc3339_micro(to_timestamp(system_clock().now().wall));
  logger->log(spdlog_level(level), "{}", format_log_line(g_format, level, now, message, fields));
}

}  // namespace

void log(LogLevel level, std::string_view message, LogFields fields) {
  write_line(level, message, std::span(fields.begin(), fields.size()));
}

void log(const LoggedDecision& decision) {
  const std::vector<LogField> fields(decision.fields.begin(), decision.fields.end());
  write_line(LogLevel::kInfo, decision.message, fields);
}

}  // namespace muster::runtime
