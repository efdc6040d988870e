// A decision of muster as one line of the log: a constant message and fields. docs/log.md has the table.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

struct LoggedDecision {
  const char* message;  // a constant, for grep
  std::vector<std::pair<const char*, std::string>> fields{};

  bool operator==(const LoggedDecision& other) const {
    return std::string_view(message) == other.message && fields_as_text() == other.fields_as_text();
  }
  // "reason=Preempted queue=team-a", for tests.
  std::string fields_as_text() const {
    std::string text;
    for (const auto& [name, value] : fields)
      text.append(text.empty() ? "" : " ").append(name).append("=").append(value);
    return text;
  }
};

}  // namespace muster
