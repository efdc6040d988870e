#include "reconcilers/gang/group_scheduling_text.h"

#include <doctest/doctest.h>

namespace group_scheduling_text_test {

using namespace muster;
using namespace muster::reconcilers;

TEST_CASE("gang texts: what is said of a gang that waits is read as it was written") {
  const TimePoint time = to_time_point(*parse_rfc3339("2026-01-01T00:00:05Z"));
  for (const char* missing : {"", "job-0/1 (not scheduled: 2 nodes; 1 cpu)"}) {
    const WaitingText text{.count = "3 of 5 pods have started", .time = time, .missing = missing};
    CHECK(read_waiting(waiting_message(text)) == text);
  }
  CHECK(waiting_message({.count = "3 of 5 pods have started", .time = time, .missing = "a"}) ==
        "3 of 5 pods have started as of 2026-01-01T00:00:05Z; missing: a");
}

TEST_CASE("gang texts: a message of another form has no time") {
  for (const char* message : {"", "all pods of the group have started", "3 of 5 pods have started as of yesterday",
                              "3 of 5 pods have started as of 2026-01-01T00:00:05Z, and more"}) {
    const WaitingText read = read_waiting(message);
    CHECK(read.count == message);
    CHECK_FALSE(read.time);
    CHECK(read.missing.empty());
  }
}

}  // namespace group_scheduling_text_test
