#include "api/texts/workload_texts.h"

#include <algorithm>
#include <iterator>

#include "api/workload_conditions.h"

namespace muster {
namespace {

constexpr std::string_view kBeforePreemptor = "Preempted to accommodate a workload (UID: ";
constexpr std::string_view kBeforeJob = ", JobUID: ";
constexpr std::string_view kUnknownJob = "UNKNOWN";
constexpr std::string_view kDueTo = "DueTo";
// By QueueTrouble.
constexpr std::string_view kTroubles[] = {" doesn't exist", " is inactive", " is stopped",
                                          " is terminating or missing"};

}  // namespace

std::string preemption_message(const PreemptionText& text) {
  std::string message(kBeforePreemptor);
  message.append(text.preemptor_uid).append(kBeforeJob).append(text.job_uid.empty() ? kUnknownJob : text.job_uid);
  message.append(") due to ").append(text.why);
  message.append("; preemptor path: ").append(text.preemptor_path);
  message.append("; preemptee path: ").append(text.victim_path);
  return message;
}

std::string_view preemptor_uid_of(std::string_view message) {
  if (!message.starts_with(kBeforePreemptor)) return "";
  message.remove_prefix(kBeforePreemptor.size());
  const size_t end = message.find(kBeforeJob);
  return end == std::string_view::npos ? std::string_view() : message.substr(0, end);
}

bool names_preemptor(std::string_view message) {
  return message.find(kBeforePreemptor) != std::string_view::npos;
}

std::string deactivated_reason(std::string_view cause) {
  std::string reason(kDeactivatedReason);
  if (!cause.empty()) reason.append(kDueTo).append(cause);
  return reason;
}

std::optional<std::string_view> deactivation_cause(std::string_view reason) {
  if (!reason.starts_with(kDeactivatedReason)) return std::nullopt;
  reason.remove_prefix(kDeactivatedReason.size());
  if (!reason.starts_with(kDueTo)) return std::nullopt;
  return reason.substr(kDueTo.size());
}

bool says_deactivated(std::string_view reason) {
  return reason == kDeactivatedReason || deactivation_cause(reason).has_value();
}

std::string_view to_text(QueueKind kind) {
  return kind == QueueKind::kLocalQueue ? "LocalQueue" : "ClusterQueue";
}

std::string queue_message(QueueKind kind, std::string_view name, QueueTrouble trouble) {
  std::string message(to_text(kind));
  return message.append(" ").append(name).append(kTroubles[static_cast<size_t>(trouble)]);
}

bool is_queue_message(std::string_view message) {
  const auto begins = [&](QueueKind kind) {
    const std::string_view word = to_text(kind);
    return message.starts_with(word) && message.substr(word.size()).starts_with(' ');
  };
  return (begins(QueueKind::kLocalQueue) || begins(QueueKind::kClusterQueue)) &&
         std::any_of(std::begin(kTroubles), std::end(kTroubles),
                     [&](std::string_view trouble) { return message.ends_with(trouble); });
}

}  // namespace muster
