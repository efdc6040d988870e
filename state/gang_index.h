// The Jobs and pods of gangs, counted per run, so that one pod's event costs the same in
// a gang of five and of five thousand.
//
// A run is named by its token (jobs/group_scheduling.h). Which run a pod belongs to is
// read off what its waiter reads: labels and the epoch annotation. Which run a Job's
// pods are to belong to is read off the Job. A pod counts for a Job only if both agree,
// the Job is its controller by uid, and that Job is known.
//
// Labels are written by whoever makes a pod or a Job, in any namespace; so a gang is what
// lies in one namespace, and a pod without its Job proves nothing, whatever became of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kinds/typed_object.h"

namespace muster::state {

// One Job in one run.
struct GangJob {
  JobPtr job;  // null: only pods of it are known, or the Job bears another token by now
  // Live pods by completion index, or by name (index -1) where there is none. A place has
  // more than one pod only for moments.
  std::map<std::pair<int32_t, std::string>, std::vector<PodPtr>> places;
  int32_t started = 0;  // places with a pod whose waiter has started
  int32_t passed = 0;   // pods whose waiter exited 0, whatever became of them since
  int32_t refused = 0;  // the same, exited 1
  // When the first of its waiters started, as kubelets say it, but not before the pod
  // was created. Kept while anything of the Job is known.
  std::optional<TimePoint> first_started;

  bool empty() const { return job == nullptr && places.empty() && passed == 0 && refused == 0; }

  int32_t expected() const;
  // Everything that is still expected of this Job has started.
  bool filled() const;
};

struct GangRun {
  int64_t attempt = 0;
  std::map<std::string, GangJob, std::less<>> jobs;  // by uid

  // Sums over those of `jobs` whose Job is known.
  int32_t known = 0;
  int32_t filled = 0;
  int32_t active = 0;     // neither finished nor suspended
  int32_t suspended = 0;  // and not finished
  int64_t expected = 0;
  int64_t started = 0;  // at most what is expected of each
  // Pods that prove what was decided, before the last suspension at least. Of the present
  // run those are proof that are live.
  int32_t passed = 0;
  int32_t refused = 0;
  // Of the first of its Jobs. Kept while anything of the run is known.
  std::optional<TimePoint> first_started;
  // Live pods whose waiter runs, by the time from which they can be nudged (again).
  std::map<std::pair<TimePoint, std::string>, PodPtr> waiting;
};

struct Gang {
  std::map<std::string, GangRun, std::less<>> runs;  // by token
  // Which Jobs there are of each replicated job, by restart attempt; of a Job that is a
  // gang by itself one, of "". Jobs that are being deleted are not there any more.
  std::map<int64_t, std::map<std::string, std::set<int64_t>, std::less<>>> attempts;
};

// What a pod's nudge annotation says: "<verdict> <count> <time>".
struct Nudge {
  std::string verdict;
  int32_t count = 0;
  TimePoint time;
};
std::optional<Nudge> read_nudge(std::string_view annotation);
std::string to_text(const Nudge& nudge);
// A nudge can overtake the ConfigMap on its way to the kubelet, so it is repeated until
// the waiter has gone: after 2 s, 4 s, ..., 30 s.
inline constexpr Duration kLongestNudgeInterval = std::chrono::seconds(30);
Duration nudge_interval(int32_t count);

class GangIndex {
 public:
  // The Job or JobSet whose gang a pod or Job belongs to; nullopt: to none.
  static std::optional<ObjectKey> owner_of(const Pod& pod);
  static std::optional<ObjectKey> owner_of(const Job& job);
  // The run it belongs to; empty when a label or annotation is missing.
  static std::string token_of(const Pod& pod);
  static std::string token_of(const Job& job);

  void put(const PodPtr& pod);
  void remove(const Pod& pod);
  void put(const JobPtr& job);
  void remove(const Job& job);

  // Of this Job or JobSet; nullptr: nothing of it is known.
  const Gang* find(const ObjectMeta& owner) const;

 private:
  // Nodes of the maps below, which stay where they are.
  struct Place {
    Gang* gang;
    GangRun* run;
  };
  Place place_of(std::string_view ns, const std::string& token);
  void drop_if_empty(std::string_view ns, const std::string& token);
  static void count(GangRun& run, const GangJob& job, int sign);

  std::map<std::string, Gang, std::less<>> gangs_;  // by "<namespace>/<uid of the owner>"
};

}  // namespace muster::state
