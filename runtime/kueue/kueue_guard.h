// Watches for Kueue itself (kueue_presence.h) as long as muster runs, and tells when it comes and goes.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>

#include "kube/api.h"
#include "kube/transport/timing.h"
#include "runtime/kueue/kueue_presence.h"

namespace muster::runtime {

// Reads the traces of Kueue. Any user who can create Leases in some namespace can make one of Kueue's
// name, so a Lease counts only where a service account of its namespace can write the status of all
// Workloads, which an administrator must have allowed: the API server is asked (SubjectAccessReview). Not
// thread-safe.
class KueueTraceReader {
 public:
  // `api` must outlive the reader.
  explicit KueueTraceReader(kube::KubeApi& api) : api_(api) {}

  // The error says what could not be found out, and why.
  Result<KueueTraces> read(MonotonicTime now, std::stop_token stop);

 private:
  Result<bool> is_there(const ResourceType& type, std::string_view name, const std::stop_token& stop);
  Result<bool> may_admit(const std::string& ns, const std::string& account, MonotonicTime now,
                         const std::stop_token& stop);
  Result<bool> is_kueues(const KueueLease& lease, MonotonicTime now, const std::stop_token& stop);

  struct Remembered {
    bool allowed;
    MonotonicTime until;
  };
  kube::KubeApi& api_;
  std::map<std::string, Remembered> answers_;  // by user name
};

// Called on the thread of run_kueue_guard(), one at a time.
struct KueueGuardCallbacks {
  // Kueue is there, or it is not known yet whether; at each reading that says so.
  std::function<void(const std::string& why)> wait;
  // Kueue is away: at the first reading that says so, and whenever it has gone.
  std::function<void()> go_on;
};

// Reads until it is stopped. A reading that fails changes nothing; before the first that succeeds
// muster waits.
void run_kueue_guard(kube::KubeApi& api, const kube::Timing& timing, const KueueGuardCallbacks& callbacks,
                     std::stop_token stop);

}  // namespace muster::runtime
