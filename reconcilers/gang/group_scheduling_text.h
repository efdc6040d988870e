// The message of GroupStarted=False while a gang waits: "3 of 5 pods have started as of 2026-01-01T00:00:00Z; missing:
// ...". The message has the time because a condition's own time changes only with its status, and a restarted muster
// must not write more often than before.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/meta/time.h"
#include "base/clock.h"

namespace muster::reconcilers {

struct WaitingText {
  std::string count;                // "3 of 5 pods have started"
  std::optional<TimePoint> time{};  // in whole seconds; nullopt: the message has none
  std::string missing{};            // empty: not known

  bool operator==(const WaitingText&) const = default;
};
std::string waiting_message(const WaitingText& text);
// Of a message that is not of this form all is `count`.
WaitingText read_waiting(std::string_view message);

}  // namespace muster::reconcilers
