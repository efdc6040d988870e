#include "runtime/log.h"

#include <doctest/doctest.h>

namespace log_test {

using namespace muster;
using namespace muster::runtime;
using nlohmann::json;

TEST_CASE("log: a JSON line is one parsable object whatever the fields hold") {
  const std::string line = format_log_line(LogFormat::kJson, LogLevel::kWarning, "2026-01-01T00:00:00.000Z",
                                           "it \"broke\"", {{"file", "a\nb"}, {"count", 3}, {"bytes", "\xff"}});
  CHECK(line.find('\n') == std::string::npos);
  const json parsed = json::parse(line);
  CHECK(parsed["ts"] == "2026-01-01T00:00:00.000Z");
  CHECK(parsed["level"] == "warning");
  CHECK(parsed["msg"] == "it \"broke\"");
  CHECK(parsed["file"] == "a\nb");
  CHECK(parsed["count"] == 3);
}

TEST_CASE("log: text for terminals quotes only what needs it") {
  CHECK(format_log_line(LogFormat::kText, LogLevel::kInfo, "T", "ready",
                        {{"port", 9443}, {"who", "me"}, {"why", "a b"}}) ==
        "T info: ready port=9443 who=me why=\"a b\"");
}

TEST_CASE("log: text for terminals holds no control characters") {
  CHECK(format_log_line(LogFormat::kText, LogLevel::kInfo, "T", "seen", {{"name", "a\x1b[2J"}, {"bell", "\x07"}}) ==
        R"(T info: seen name="a\u001b[2J" bell="\u0007")");
  CHECK(format_log_line(LogFormat::kText, LogLevel::kInfo, "T", "seen", {{"name", "a\x7f"}}).find('"') !=
        std::string::npos);
}

TEST_CASE("log: levels are parsed or refused with what is possible") {
  CHECK(*parse_log_level("warning") == LogLevel::kWarning);
  CHECK(parse_log_level("loud").error().message == "\"loud\" is no log level; use debug, info, warning or error");
}

}  // namespace log_test
