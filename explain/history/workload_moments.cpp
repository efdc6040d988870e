#include "explain/history/workload_moments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <utility>

#include "api/texts/workload_texts.h"
#include "api/workload.h"

namespace muster::explain {
namespace {

constexpr std::string_view kByUid = "uid:";

// Types whose changes are recorded. muster does not know other types, and their number has no limit.
constexpr std::array<std::string_view, 7> kTypes = {kPreemptedCondition,     kEvictedCondition,  kRequeuedCondition,
                                                    kQuotaReservedCondition, kAdmittedCondition, kPodsReadyCondition,
                                                    kFinishedCondition};
// The same limit as in Kueue; further items are not recorded.
constexpr size_t kMostChecks = 16;

uint32_t short_digest(std::string_view text) {
  uint32_t sum = 2166136261U;  // FNV-1a
  for (const char letter : text) sum = (sum ^ static_cast<unsigned char>(letter)) * 16777619U;
  return sum;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// "(reason)", "(reason): message".
std::string said(const Condition& condition, bool with_message = true) {
  std::string text = "(" + condition.reason.text() + ")";
  if (with_message && !condition.message.empty() && !names_preemptor(condition.message))
    text += ": " + condition.message.text();
  return text;
}

// The number of reservations: an eviction ended each of them except the last.
int64_t attempt_of(const Workload& workload) {
  int64_t evictions = 0;
  for (const EvictionCount& each : workload.status.evictions) evictions += each.count;
  return evictions + 1;
}

// "", or " (attempt 2)".
std::string attempt_text(const Workload& workload) {
  const int64_t attempt = attempt_of(workload);
  return attempt > 1 ? " (attempt " + std::to_string(attempt) + ")" : "";
}

std::string reserved_text(const Workload& workload) {
  std::string text;
  if (workload.status.admission) text = "in ClusterQueue " + workload.status.admission->cluster_queue;
  return text + attempt_text(workload);
}

std::string admitted_text(const Workload& workload) {
  std::string flavors;
  if (workload.status.admission) flavors = joined(assigned_flavors(*workload.status.admission));
  return (flavors.empty() ? "" : "on " + flavors) + attempt_text(workload);
}

std::string backoff_text(const Workload& workload, const Condition& condition) {
  std::string text = "(" + condition.reason.text() + ")";
  const auto& requeue = workload.status.requeue_state;
  if (requeue && !requeue->requeue_at.is_zero()) text += " until " + format_rfc3339(requeue->requeue_at);
  return text;
}

Moment moment(MomentKind kind, int64_t seconds, std::string_view text) {
  return {.seconds = seconds, .text = SharedText(cut_text(text)), .kind = kind};
}

// The meaning of a changed condition; nullopt: another condition has it, or the change only removes a state.
std::optional<Moment> meaning_of(const Workload& workload, const Condition& condition, int64_t at) {
  const std::string_view type = condition.type;
  const bool is_true = condition.is_true();
  if (type == kQuotaReservedCondition) {
    if (is_true) return moment(MomentKind::kReserved, at, reserved_text(workload));
    // No attempt comes while it is inactive.
    if (!workload.active) return std::nullopt;
    // Which other Workload blocks admissions is in that message.
    return moment(MomentKind::kWaits, at, said(condition, condition.reason != kWaitingForPodsReadyReason));
  }
  if (type == kRequeuedCondition) {
    if (is_true) return moment(MomentKind::kRequeued, at, said(condition, false));
    // Nor after a deactivation: only a user ends that.
    if (!workload.active || says_deactivated(condition.reason)) return std::nullopt;
    return moment(MomentKind::kBackoff, at, backoff_text(workload, condition));
  }
  if (type == kPodsReadyCondition) {
    if (is_true) return moment(MomentKind::kReady, at, said(condition, false));
    if (condition.reason == kWaitForStartReason) return std::nullopt;
    return moment(MomentKind::kNotReady, at, said(condition));
  }
  if (!is_true) return std::nullopt;
  if (type == kAdmittedCondition) return moment(MomentKind::kAdmitted, at, admitted_text(workload));
  if (type == kFinishedCondition) return moment(MomentKind::kFinished, at, said(condition));
  if (type == kPreemptedCondition) {
    Moment made = moment(MomentKind::kPreempted, at, said(condition, false));
    if (const auto uid = preemptor_uid_of(condition.message); !uid.empty())
      made.preemptor = SharedText(std::string(kByUid).append(cut_text(uid)));
    return made;
  }
  // The condition Preempted has more information.
  if (condition.reason == kPreemptedReason && workload.is_true(kPreemptedCondition)) return std::nullopt;
  return moment(MomentKind::kEvicted, at, said(condition));
}

std::string_view words_of(MomentKind kind) {
  switch (kind) {
    case MomentKind::kCreated:
      return "Workload created";
    case MomentKind::kPreempted:
      return "Preempted for another Workload";
    case MomentKind::kEvicted:
      return "Evicted";
    case MomentKind::kDeactivated:
      return "Deactivated";
    case MomentKind::kActivated:
      return "Activated";
    case MomentKind::kBackoff:
      return "Waits before the next attempt";
    case MomentKind::kWaits:
      return "Waits";
    case MomentKind::kRequeued:
      return "Requeued";
    case MomentKind::kMoved:
      return "Moved to LocalQueue";
    case MomentKind::kPriority:
      return "Priority is";
    case MomentKind::kReserved:
      return "Quota reserved";
    case MomentKind::kCheck:
      return "AdmissionCheck";
    case MomentKind::kAdmitted:
      return "Admitted";
    case MomentKind::kReady:
      return "Pods are ready";
    case MomentKind::kNotReady:
      return "Pods are not ready";
    case MomentKind::kFinished:
      return "Finished";
    case MomentKind::kDeleting:
      return "Deletion requested";
    case MomentKind::kDeleted:
      return "Workload deleted";
    case MomentKind::kGap:
      return "Earlier moments are not kept:";
  }
  return "";
}

}  // namespace

std::string_view cut_text(std::string_view text) {
  if (text.size() <= Moment::kMostText) return text;
  size_t end = Moment::kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string sentence_of(const Moment& moment) {
  std::string sentence(words_of(moment.kind));
  if (!moment.text.empty()) sentence += (moment.text.starts_with(":") ? "" : " ") + moment.text.text();
  // The largest texts were cut.
  if (moment.text.text().size() > Moment::kMostText - 4) sentence += "...";
  return sentence;
}

ExplainedMoment explained(const Moment& moment, const FindWorkload& find) {
  ExplainedMoment made{.time = {moment.seconds, 0},
                       .what = sentence_of(moment),
                       .by = std::nullopt,
                       .from_conditions = moment.from_conditions};
  const std::string& preemptor = moment.preemptor.text();
  if (preemptor.starts_with(kByUid)) {
    made.by = find(std::string_view(preemptor).substr(kByUid.size()));
  } else if (const size_t slash = preemptor.find('/'); slash != std::string::npos) {
    made.by = ExplainedOthers::Name{preemptor.substr(0, slash), preemptor.substr(slash + 1)};
  }
  return made;
}

void say_deleted(ExplainReply& reply) {
  if (reply.found || reply.timeline.empty()) return;
  std::string object = reply.kind + "/" + reply.name;
  for (char& letter : object) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const ExplainedMoment& last = reply.timeline.back();
  // The Workload goes some moments after its job.
  const bool is_gone = last.what == words_of(MomentKind::kDeleted);
  const std::string ago =
      is_gone
          ? " " + format_duration(std::chrono::seconds(std::max<int64_t>(0, reply.at.seconds - last.time.seconds))) +
                " ago"
          : "";
  reply.say(ExplainReason::kNotFound, reply.subject() + " was deleted" + ago + ".");
  reply.change = {"What happened to it: muster history " + object + " -n " + reply.ns};
}

WorkloadTrace::Seen& WorkloadTrace::seen(uint8_t type, bool& first) {
  const auto found =
      std::find_if(conditions_.begin(), conditions_.end(), [&](const Seen& one) { return one.type == type; });
  first = found == conditions_.end();
  if (!first) return *found;
  // With exactly the needed size: the number of traces is very large.
  conditions_.reserve(conditions_.size() + 1);
  return conditions_.emplace_back(Seen{.type = type});
}

void WorkloadTrace::take_conditions(const Workload& workload, int64_t now, News& news) {
  for (size_t type = 0; type < kTypes.size(); ++type) {
    const Condition* condition = find_condition(workload.status.conditions, kTypes[type]);
    if (condition == nullptr) continue;
    bool first = false;
    Seen& last = seen(static_cast<uint8_t>(type), first);
    const Seen next{.seconds = static_cast<uint32_t>(condition->last_transition.seconds),
                    .reason = short_digest(condition->reason.text()),
                    .message = short_digest(condition->message.text()),
                    .type = static_cast<uint8_t>(type),
                    .is_true = condition->is_true()};
    const Seen before = std::exchange(last, next);
    const bool turned = first || before.is_true != next.is_true || before.seconds != next.seconds;
    if (!turned && before.reason == next.reason) {
      const bool waits = kTypes[type] == kQuotaReservedCondition && !next.is_true;
      if (waits && before.message != next.message)
        if (const auto meant = meaning_of(workload, *condition, now)) news.waits = meant->text;
      continue;
    }
    const int64_t at =
        turned && !condition->last_transition.is_zero() ? std::min(condition->last_transition.seconds, now) : now;
    auto meant = meaning_of(workload, *condition, at);
    if (!meant) continue;
    meant->from_conditions = !known_;
    news.moments.push_back(*std::move(meant));
  }
}

void WorkloadTrace::take_spec(const Workload& workload, int64_t now, std::vector<Moment>& news) {
  const uint32_t queue = short_digest(workload.queue_name);
  if (known_) {
    if (queue != queue_) news.push_back(moment(MomentKind::kMoved, now, workload.queue_name));
    if (workload.priority != priority_)
      news.push_back(moment(MomentKind::kPriority, now, std::to_string(workload.priority)));
    if (workload.active != active_)
      news.push_back(moment(workload.active ? MomentKind::kActivated : MomentKind::kDeactivated, now, ""));
    if (workload.meta.deleting && !deleting_) news.push_back(moment(MomentKind::kDeleting, now, ""));
  }
  queue_ = queue;
  priority_ = workload.priority;
  active_ = workload.active;
  deleting_ = workload.meta.deleting;
}

void WorkloadTrace::take_checks(const Workload& workload, int64_t now, std::vector<Moment>& news) {
  const auto& checks = workload.status.admission_checks;
  std::vector<uint64_t> digests;
  digests.reserve(std::min(checks.size(), kMostChecks));
  for (size_t i = 0; i < checks.size() && i < kMostChecks; ++i) {
    digests.push_back((static_cast<uint64_t>(short_digest(checks[i].name)) << 32U) | short_digest(checks[i].state));
    if (checks[i].state == kCheckPending) continue;
    if (std::find(checks_.begin(), checks_.end(), digests.back()) != checks_.end()) continue;
    const Timestamp& turned = checks[i].last_transition;
    Moment made = moment(MomentKind::kCheck, turned.is_zero() ? now : std::min(turned.seconds, now),
                         checks[i].name + " is " + checks[i].state);
    made.from_conditions = !known_;
    news.push_back(std::move(made));
  }
  checks_ = std::move(digests);
}

WorkloadTrace::News WorkloadTrace::take(const Workload& workload, Timestamp now) {
  News news;
  if (!known_) {
    const Timestamp& created = workload.meta.created;
    const int64_t at = created.is_zero() ? now.seconds : std::min(created.seconds, now.seconds);
    news.moments.push_back(moment(MomentKind::kCreated, at, ""));
  }
  take_spec(workload, now.seconds, news.moments);
  take_conditions(workload, now.seconds, news);
  take_checks(workload, now.seconds, news.moments);
  known_ = true;
  std::stable_sort(news.moments.begin(), news.moments.end(), [](const Moment& a, const Moment& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.kind < b.kind;
  });
  return news;
}

}  // namespace muster::explain
