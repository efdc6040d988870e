// What a waiter concludes from the two files of its gang's ConfigMap: pure, so that
// the rule is tested without files and time. jobs/group_scheduling.h has the contract;
// this program includes nothing of muster's, because it is linked into a small
// static executable that runs in users' pods.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster::wait {

// How long after the gang's own timeout a waiter gives up: only when muster is gone.
inline constexpr int64_t kGraceSeconds = 120;

enum class Verdict {
  kWaiting,    // neither file lists the token, and the waiter's own limit has not passed
  kStarted,    // the whole group can start
  kExpired,    // the group's deadline passed first
  kAbandoned,  // nothing was decided until the waiter's own limit
};

// Whether one line of `content` is exactly `token`. Lines end with '\n'; the last can lack it.
bool lists(std::string_view content, std::string_view token);

// `started` and `expired` are the contents of the two files, empty when there is none.
// `started` wins, and both win over the limit: a decision that arrives late is one.
Verdict judge(std::string_view started, std::string_view expired, std::string_view token, int64_t waited_seconds,
              int64_t limit_seconds);

}  // namespace muster::wait
