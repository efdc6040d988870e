#include "reconcilers/gang/group_scheduling_text.h"

namespace muster::reconcilers {
namespace {

constexpr std::string_view kAsOf = " as of ";
constexpr std::string_view kMissing = "; missing: ";

}  // namespace

std::string waiting_message(const WaitingText& text) {
  std::string message = text.count;
  if (text.time) message.append(kAsOf).append(format_rfc3339(to_timestamp(*text.time)));
  if (!text.missing.empty()) message.append(kMissing).append(text.missing);
  return message;
}

WaitingText read_waiting(std::string_view message) {
  WaitingText unread{.count = std::string(message)};
  const size_t mark = message.find(kAsOf);
  if (mark == std::string_view::npos) return unread;
  std::string_view time = message.substr(mark + kAsOf.size());
  std::string_view missing;
  if (const size_t end = time.find(kMissing); end != std::string_view::npos) {
    missing = time.substr(end + kMissing.size());
    time = time.substr(0, end);
  }
  const auto stamp = parse_rfc3339(time);
  if (!stamp.ok()) return unread;
  return {
      .count = std::string(message.substr(0, mark)), .time = to_time_point(*stamp), .missing = std::string(missing)};
}

}  // namespace muster::reconcilers
