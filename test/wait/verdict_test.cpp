#include "commands/wait/verdict.h"

#include <doctest/doctest.h>

#include <string>

#include "jobs/group_scheduling.h"

namespace muster::wait {
namespace {

struct Row {
  std::string name;
  const char* started;
  const char* expired;
  int64_t waited;
  Verdict expected;
};

const Row kRows[] = {
    {"no file yet", "", "", 0, Verdict::kWaiting},
    {"the token alone without a line end", "uid/0/e1", "", 0, Verdict::kStarted},
    {"the token among other runs", "uid/0/e0\nuid/0/e1\nuid/1/e1\n", "", 0, Verdict::kStarted},
    {"an expired run", "uid/0/e0\n", "uid/0/e1\n", 0, Verdict::kExpired},
    {"an earlier attempt has started", "uid/1/e1\n", "", 0, Verdict::kWaiting},
    {"a longer token that contains this one", "uid/0/e1x\nxuid/0/e1\n", "", 0, Verdict::kWaiting},
    {"a beginning of the token only", "uid/0/e\n", "", 0, Verdict::kWaiting},
    {"a token with a blank behind it", "uid/0/e1 \n", "", 0, Verdict::kWaiting},
    {"empty lines", "\n\n\nuid/0/e1\n", "", 0, Verdict::kStarted},
    {"both files list it, and what has started stays started", "uid/0/e1\n", "uid/0/e1\n", 0, Verdict::kStarted},
    {"one second before its own limit", "", "", 419, Verdict::kWaiting},
    {"at its own limit", "", "", 420, Verdict::kAbandoned},
    {"a start that arrives at the limit still counts", "uid/0/e1\n", "", 420, Verdict::kStarted},
    {"an expiry that arrives at the limit still counts", "", "uid/0/e1\n", 420, Verdict::kExpired},
};

TEST_CASE("the waiter judges by whole lines and by its limit last") {
  for (const Row& row : kRows) {
    INFO(row.name);
    CHECK(judge(row.started, row.expired, "uid/0/e1", row.waited, 420) == row.expected);
  }
}

TEST_CASE("the waiter and the webhook agree on the grace period") {
  CHECK(kGraceSeconds == jobs::kWaiterGraceSeconds);
}

}  // namespace
}  // namespace muster::wait
