// The one way in which reconcilers change the status of a Workload: the next status while a pass decides, and the one
// write of the changes with its events, measurements and log lines. Words of conditions, reasons, messages and events
// are Kueue's: tools know them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/workload.h"
#include "api/workload_conditions.h"
#include "reconcilers/command.h"

namespace muster::reconcilers {

struct ReconcileContext;

// The time of the changes. The API server stores whole seconds in both cases; the durations of the write's measurements
// are computed from this time.
enum class Stamp {
  kWholeSeconds,
  kExact,  // with the fraction of a second: for what a job has done, whose times are measured
};

class WorkloadEditor {
 public:
  // `workload` must outlive the editor.
  WorkloadEditor(const Workload& workload, const ReconcileContext& context, Stamp stamp = Stamp::kWholeSeconds);

  const Workload& workload() const { return workload_; }
  TimePoint time() const { return now_; }
  // Since Admitted is True, before this pass; see SchedulerDriver::admitted_for().
  Duration admitted_for() const { return admitted_for_; }
  const Condition* find(std::string_view type) const { return find_condition(status.conditions, type); }
  bool is_true(std::string_view type) const { return condition_is_true(status.conditions, type); }
  bool changed() const { return status != workload_.status; }

  // Whether anything changed.
  bool set(std::string_view type, bool is_true, std::string_view reason, std::string_view message);
  void remove(std::string_view type);

  // It is over: Finished is True.
  void finish(std::string_view reason, std::string_view message);
  // PodsReady. The flavors that it has tried before are forgotten once it runs on its flavors.
  void set_pods_ready(bool is_true, std::string_view reason, std::string_view message);
  // The Workload is evicted: its job is stopped, then its quota is released (by the job's reconciler). schedulingStats
  // counts it, checks return to Pending. `cause` can be empty.
  void evict(std::string_view reason, std::string_view cause, const std::string& message);
  // Answers of checks belong to a reservation: each check is Pending again.
  void reset_checks();
  // It shall be deactivated, in a pass after this one: that is a write of the spec.
  void target_deactivation(std::string_view reason, std::string_view message);
  // What evicts or deactivates it in this pass is that its pods were late (Write::for_late_pods).
  void blame_late_pods() { for_late_pods_ = true; }
  // Releases a reservation that was never used.
  void release(std::string_view reason, std::string_view message);
  // The job of an evicted Workload has stopped: quota, admission and the assignment of its pods are released, and its
  // execution time is added up. It is requeued at once only when it did not cause the eviction. `evicted` is its
  // condition.
  void release_evicted(const Condition& evicted);
  // Admitted is: quota is reserved and every check is ready.
  void sync_admitted();
  // Recorded with the write.
  void record_event(EventReason reason, std::string note);
  // The same about another object.
  void record_event(ObjectEvent event) { events_.push_back(std::move(event)); }

  // A field of the status that rides on the write, if there is one; muster reads it nowhere. null removes it.
  void attach(std::string_view field, nlohmann::json value) { attached_[std::string(field)] = std::move(value); }

  // Counted with the write, beside what its change of the status stands for by itself
  // (state/metrics/measurements.h).
  void measure(Measurement measurement) { measurements_.push_back(std::move(measurement)); }

  // Nothing when nothing has changed.
  void write_into(Plan& plan) const;

  WorkloadStatus status;

 private:
  void end_execution();
  void count_eviction_of(std::string_view reason, std::string_view cause);

  const Workload& workload_;
  TimePoint now_;
  Timestamp stamp_;
  Duration admitted_for_;
  std::vector<ObjectEvent> events_;
  std::vector<Measurement> measurements_;
  bool for_late_pods_ = false;
  nlohmann::json attached_ = nlohmann::json::object();
};

ObjectEvent event_about(const Workload& workload, EventReason reason, std::string note);

}  // namespace muster::reconcilers
