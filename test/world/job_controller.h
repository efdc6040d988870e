// Kubernetes' Job controller, as far as gangs meet it: pods for Jobs that run, indexed or
// not, replaced with backoff; counts and conditions in the status; suspend and resume; the
// ends by completions, backoffLimit, activeDeadlineSeconds, or a FailureTarget that another client has set. It sees
// objects as they are, but acts a moment later.
//
// Left out: pod failure and success policies, backoffLimitPerIndex, TTL.
// Source: kube-controller-manager pkg/controller/job (1.36).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/pod.h"
#include "test/world/api_server.h"

namespace muster::world {

class JobController {
 public:
  // Both must outlive the controller.
  JobController(ApiServer& server, Timeline& timeline, uint64_t seed);

 private:
  struct Pod {
    ObjectKey key;
    ObjectPtr object;
    int64_t index = -1;
    bool counted = false;  // no longer has the tracking finalizer
    bool succeeded = false, failed = false, deleting = false;

    bool ended() const { return succeeded || failed; }
    bool active() const { return !ended() && !deleting; }
  };
  struct Backoff {
    int failures = 0;  // since the last success
    MonotonicTime last{};
  };
  // One look at one Job.
  struct Sync {
    ObjectKey key;
    ObjectPtr object;
    std::string uid;
    JobPtr job;
    JobStatus status;  // as it will be written
    bool indexed = false;
    std::set<int64_t> completed;  // indexes
    std::vector<Pod> pods;
  };

  void see(const Change& change);
  void look_soon(const ObjectKey& job);
  void look_at(const ObjectKey& job);
  void release_orphan_soon(const ObjectKey& pod);
  std::vector<Pod> pods_of(const std::string& uid) const;
  void count_ended(Sync& sync);
  void check_limits(Sync& sync);
  void suspend_or_resume(Sync& sync);
  void manage_pods(Sync& sync);
  void create_pods(Sync& sync, int64_t missing);
  void create_pod(const Sync& sync, int64_t index);
  void delete_active(const Sync& sync, size_t keep);
  void finish_if_over(Sync& sync);
  void write_status(Sync& sync);
  void release_pods(const Sync& sync);
  void set(Sync& sync, const char* type, const char* reason, const std::string& message, const char* status = "True");

  ApiServer& server_;
  Timeline& timeline_;
  Chance chance_;
  std::set<ObjectKey> queued_;
  std::map<std::string, Backoff> backoff_;  // by the Job's uid
};

}  // namespace muster::world
