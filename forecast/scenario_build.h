// How a Scenario is made of objects, step by step; see scenario_reader.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/json.h"
#include "forecast/annotations.h"
#include "forecast/job_shapes.h"
#include "forecast/scenario_reader.h"
#include "jobs/job_kind.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"

namespace muster::forecast {

inline std::string_view group_in(const nlohmann::json& object) {
  return group_of(string_at(object, {"apiVersion"}));
}

inline std::string name_in(const nlohmann::json& object) {
  return std::string(string_at(object, {"metadata", "name"}));
}

// Of what is beside jobs and Workloads and has a part in a simulation; nullptr: of nothing else.
const ResourceType* basic_type(std::string_view group, std::string_view kind);

class ScenarioBuild {
 public:
  ScenarioBuild(const std::vector<SourceObject>& objects, const ScenarioOptions& options);
  Result<ReadScenario> read();

 private:
  struct Stored {
    const SourceObject* source;
    WorkloadPtr workload;
    JobTraits traits;
  };

  static Failure<Error> wrong(const SourceObject& source, const std::string& sentence);
  // A refusal, or a note of what others wrote.
  Outcome<> wrong_annotation(const SourceObject& source, const std::string& sentence);
  Now now() const { return {read_.scenario.start, MonotonicTime{}}; }

  // Names, uids and versions, which the API server would give; and the time at which all this is.
  Outcome<> complete();
  void put(TypedObject object);
  Outcome<> take_basics();
  Outcome<> take_traits(const ResourceType& type, SourceObject& source, const Labels& annotations);
  void say_what_was_left_out();

  // Workloads that a cluster holds, jobs and pods (scenario_jobs.cpp).
  Outcome<> take_workloads();
  ShapeContext scene_in(std::string_view ns);
  Outcome<> take_jobs();
  static bool is_known(const nlohmann::json& object);
  Outcome<> take_job(const jobs::JobKind& kind, const SourceObject& source);
  // A StatefulSet or a group of a LeaderWorkerSet is queued as a whole if the object names a queue; otherwise the pods
  // are queued one by one where their template names one.
  Outcome<> take_serving(const jobs::JobKind& kind, const SourceObject& source, const JobTraits& traits);
  // Of a job that is in the input as well.
  bool is_part_of_another(const ObjectMeta& meta) const;
  Outcome<> take_pods();
  void add(JobShape shape, const JobTraits& traits, bool serves);
  Duration assumed_run_time(const Workload& workload);

  // On a node, and no queue counts it.
  static bool is_bound_outside(const nlohmann::json& pod);
  Outcome<> take_nodes();
  // Of flavors that count nodes: which nodes are theirs.
  void mark_counted_nodes();
  void say_which_flavors_have_no_nodes();

  // When they come (scenario_arrivals.cpp).
  Outcome<> take_table();
  Outcome<> arrange();
  Outcome<> arrange_jobs();
  // What is left of it, of a whole run time.
  std::optional<Duration> left_of(const Workload& workload, Duration run_time) const;
  bool serves(const Workload& workload) const;
  void arrange_stored();

  const ScenarioOptions& options_;
  std::vector<SourceObject> objects_;
  state::ClusterState state_;
  state::SchedulerDriver decisions_;  // decides nothing
  ReadScenario read_;
  std::vector<Stored> stored_;
  std::vector<JobTraits> traits_;  // of the shapes
  std::vector<JobShape> table_shapes_;
  std::vector<Arrival> table_;
  std::set<std::string> uids_of_jobs_;
  std::set<std::string> owned_;  // uids of jobs that have a stored Workload
  std::map<std::string, JobTraits> traits_of_owners_;
  std::set<std::string> serving_owners_;  // uids of what serves
  size_t without_replicas_ = 0;
  std::vector<const SourceObject*> bound_;  // pods on nodes that no queue counts
  size_t nodeless_ = 0;                     // of these, on no node of the input
  size_t unread_ = 0, assumed_ = 0, queueless_ = 0, over_ = 0, foreign_ = 0, stored_beside_templates_ = 0;
  std::map<std::string, size_t> others_;
};

}  // namespace muster::forecast
