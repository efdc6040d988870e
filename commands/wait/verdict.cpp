#include "commands/wait/verdict.h"

namespace muster::wait {

bool lists(std::string_view content, std::string_view token) {
  while (!content.empty()) {
    const size_t end = content.find('\n');
    if (content.substr(0, end) == token) return true;
    if (end == std::string_view::npos) return false;
    content.remove_prefix(end + 1);
  }
  return false;
}

Verdict judge(std::string_view started, std::string_view expired, std::string_view token, int64_t waited_seconds,
              int64_t limit_seconds) {
  if (lists(started, token)) return Verdict::kStarted;
  if (lists(expired, token)) return Verdict::kExpired;
  return waited_seconds >= limit_seconds ? Verdict::kAbandoned : Verdict::kWaiting;
}

}  // namespace muster::wait
