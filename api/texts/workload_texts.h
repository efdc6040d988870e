// Texts in the conditions of Workloads that muster reads again: conditions are what is left of a decision after a
// restart, and their words are Kueue's, which tools know. What writes such a text stands here beside what reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// --- The message of Evicted and Preempted of a Workload that was preempted ---

struct PreemptionText {
  std::string_view preemptor_uid{};
  std::string_view job_uid{};  // of the preemptor's job; empty: not known
  std::string_view why{};      // "reclamation within the cohort"
  std::string_view preemptor_path{};
  std::string_view victim_path{};  // of ClusterQueues: "/root/cohort/queue"
};
std::string preemption_message(const PreemptionText& text);
// Empty: this is no such message.
std::string_view preemptor_uid_of(std::string_view message);
// Whether that text is somewhere in the message: other conditions repeat it. People know objects by their names, so a
// message with uids is not shown to them.
bool names_preemptor(std::string_view message);

// --- The reason of Evicted and Requeued of a Workload that was deactivated ---

// `cause`: the reason of the DeactivationTarget; empty: a user set spec.active to false.
std::string deactivated_reason(std::string_view cause);
// "RequeuingLimitExceeded" of "DeactivatedDueToRequeuingLimitExceeded". nullopt: muster has not deactivated it.
std::optional<std::string_view> deactivation_cause(std::string_view reason);
// By muster or by hand.
bool says_deactivated(std::string_view reason);

// --- The reason of Evicted of a Workload whose StatefulSet or LeaderWorkerSet names another queue ---

inline constexpr std::string_view kQueueChangedReason = "QueueChanged";

// --- The message of QuotaReserved=False of a Workload that its queues keep out ---

enum class QueueKind { kLocalQueue, kClusterQueue };
enum class QueueTrouble { kMissing, kInactive, kStopped, kTerminating };
// "LocalQueue main is inactive"
std::string queue_message(QueueKind kind, std::string_view name, QueueTrouble trouble);
// Whether it is one of these messages. The scheduler's own messages with the same reasons begin otherwise.
bool is_queue_message(std::string_view message);

std::string_view to_text(QueueKind kind);

}  // namespace muster
