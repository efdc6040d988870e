// The status of a JobSet as it shall be, and when it is worth a write. Pure.
//
// Conditions, reasons and messages are upstream's (kubernetes-sigs/jobset, pkg/constants and
// pkg/controllers), and so are the texts of events. Conditions of other types (GroupStarted) stay
// unchanged.
//
// Writes are few. The end or a restart of a JobSet is written at once. All other
// changes wait until the reconciler plans no other write, so that they include the
// counts after its own writes. Counts alone are written when every replicated job
// that can start becomes stable (its Jobs are ready, finished or suspended), or is
// no longer stable. Changes in between, while Jobs become active and ready one by
// one, are written once a second, first when the JobSet is a second old: the times
// depend only on the clock and the JobSet, because the last write is not
// remembered, and are spread by its uid, so that a thousand JobSets do not write
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/jobset.h"
#include "base/clock.h"
#include "reconcilers/command.h"
#include "reconcilers/jobset/jobset_attempt.h"
#include "reconcilers/jobset/jobset_policies.h"

namespace muster::reconcilers {

// An event about a JobSet.
ObjectEvent event_about(const JobSet& jobset, EventReason reason, std::string note);

// The number of the present run, as its Jobs say it: status.executionAttempts, and one more from the moment when the
// JobSet is resumed until the status says so. Without a number the restarts count, which are known already.
int32_t execution_attempt_of(const JobSet& jobset);

class StatusDraft {
 public:
  // Starts as what is stored, with these counts. `jobset` must outlive the draft.
  StatusDraft(const JobSet& jobset, std::vector<ReplicatedJobStatus> counts, Now now);

  // The JobSet has ended or restarts; its unfinished Jobs will be deleted, so they do not count any
  // more.
  void complete();
  void fail(const Verdict& verdict);
  // It has run longer than spec.activeDeadlineSeconds.
  void exceed_deadline();
  void restart(const Verdict& verdict);
  // One Job restarts; the others continue.
  void restart_job(const Verdict& verdict);

  void suspend();
  // Only what was suspended is resumed.
  void resume();
  void startup_in_progress();
  void startup_completed();
  // Whether every Job of the attempt is ready or has succeeded: then a restart is over.
  void all_jobs_ready();
  // What in-place restarts have reached; nullopt: nothing.
  void in_place_attempts(std::optional<int32_t> current, std::optional<int32_t> previous);
  // JobSet's gate JobSetActiveDeadlineSeconds: the start time is that of the present run; off, there is none.
  void keep_start_time(bool enabled);
  // When the present run has lasted for spec.activeDeadlineSeconds; nullopt: it can last for ever.
  std::optional<TimePoint> deadline() const;
  // JobSet's gate ExecutionAttemptsTracking, of a JobSet that is not suspended: the present run has its number, and a
  // restart the next one.
  void count_execution();
  // muster cannot run it; what is not supported is named once.
  void unsupported(const std::vector<std::string>& what);
  // It asks for none of that any more.
  void supported();

  // Adds the write to the plan, or the time when it will be due.
  void write_into(Plan& plan, const jobs::StartupGates& gates) const;

 private:
  // As upstream: reason and message stay while the status does, and a condition becomes False only if it was True. The
  // event has the same reason. Whether it changed.
  bool turn(std::string_view type, std::string_view status, EventReason reason, const std::string& message);
  // Without news, and for the reason that made it true.
  void turn_off(std::string_view type);
  // Nothing while the status stays, and nothing that is False and was not there. Whether it changed.
  bool set(Condition condition);
  // The same, and reason and message change also while the status stays, which keeps its time.
  bool update(Condition condition);
  // The condition RestartingJobSet, with its event. `rule`: the end of the reason, of an open row.
  void report_restart(std::string_view status, EventReason reason, const std::string& rule, const std::string& message);
  // No restart is in progress, for this reason; nothing if the JobSet has never restarted.
  void end_restart(EventReason reason, const std::string& message);
  void end(std::string_view state);
  bool is_worth_a_write(const Plan& plan, const jobs::StartupGates& gates) const;

  const JobSet& jobset_;
  const Now now_;
  JobSetStatus status_;
  std::vector<ObjectEvent> events_;
  std::vector<Measurement> measurements_;
  bool counts_attempts_ = false;
  bool changed_ = false;  // more than the counts
  bool urgent_ = false;
};

// The write of zero running Jobs for a finished JobSet, if its status differs: the controller that finished it might
// not have updated the counts.
void settle_counts_of_finished(const JobSet& jobset, Plan& plan);

}  // namespace muster::reconcilers
