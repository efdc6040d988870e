// What must hold in every state of every run, whatever fails:
//
//   all-or-nothing   no main container of a gang's run starts before all pods that were
//                    expected of the run had started their waiters, at one and the same
//                    time, as far as the API server knew
//   one verdict      a run's token is in `started` or in `expired`, never in both, not
//                    twice; muster never says the other later, and takes none back while a
//                    pod of the run lives
//   no write twice   a process does not repeat a write that was answered and after which no other client
//                    has changed the object
//   quota            see test/world/invariants/quota_invariants.h
//   flavors          see test/world/invariants/flavor_invariants.h and idle_flavors.h
//   preemption       see test/world/invariants/preemption_invariants.h
//   backoff          see test/world/invariants/backoff_invariants.h
//   no storms        see test/world/invariants/write_storms.h
//   few in vain      see test/world/invariants/futile_writes.h
//   no breakage      muster reads every object, and fails over none (engine/quarantine.h)
//   no orphans       asked for at the end: nothing is left whose owner is gone
//
// It watches the API server's history, step by step, and knows nothing of muster's insides.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/job.h"
#include "engine/quarantine.h"
#include "test/world/api_server.h"
#include "test/world/invariants/backoff_invariants.h"
#include "test/world/invariants/flavor_invariants.h"
#include "test/world/invariants/futile_writes.h"
#include "test/world/invariants/idle_flavors.h"
#include "test/world/invariants/preemption_invariants.h"
#include "test/world/invariants/quota_invariants.h"
#include "test/world/invariants/write_storms.h"

namespace muster::world {

class Invariants {
 public:
  // Both must outlive the invariants. `strategy`: what muster is configured with; `clock_skew`: see Faults.
  Invariants(ApiServer& server, Timeline& timeline, const RequeuingStrategy& strategy = {}, double clock_skew = 0);

  // A write of muster's was answered. `process`: of which start of which replica;
  // `heard`: the answer will get back; `before`: the object that it found.
  void see_write(const std::string& process, const reconcilers::Write& write, const Answer& answer,
                 const ObjectPtr& before, bool heard);
  void see_breakage(const engine::Breakage& breakage);
  void check_orphans();
  // While true, changes are muster's.
  void muster_writes(bool writes) { muster_writes_ = writes; }
  // muster hears of a change.
  void see_heard(const Change& change) { storms_.see_heard(change); }
  // Something happened that is no write: see WriteStorms.
  void note_disturbance() {
    storms_.note_disturbance();
    futile_writes_.forget();
  }
  void clock_was_set() {
    storms_.note_disturbance();
    backoffs_.clock_was_set();
  }

  // One sentence each, with the virtual time.
  const std::vector<std::string>& violations() const { return violations_; }
  // Whether all pods of a run have been there at once.
  bool was_complete(const std::string& token) const { return complete_.contains(token); }

 private:
  struct PodFacts {
    std::string token, job_uid;
    bool live = false;
    bool started = false;  // its waiter runs or has passed, and it is live
    bool main_seen = false;
  };
  struct LastWrite {
    std::string process, text;
    bool heard = false;
    uint64_t version = 0;  // of the object after it
  };

  void see(const Change& change);
  void see_pod(const Change& change);
  void see_job(const Change& change);
  void evaluate(const std::string& token);
  bool jobs_complete(const std::string& token) const;
  bool lives(const std::string& token) const;
  void see_verdicts(const nlohmann::json& config_map, const ObjectPtr& before);
  void violated(std::string what);

  ApiServer& server_;
  Timeline& timeline_;
  QuotaInvariants quota_;
  FlavorInvariants flavors_;
  IdleFlavors idle_flavors_;
  PreemptionInvariants preemptions_;
  BackoffInvariants backoffs_;
  WriteStorms storms_;
  FutileWrites futile_writes_;
  bool muster_writes_ = false;
  std::map<std::string, PodFacts> pods_;                          // live or not, by uid, until removed
  std::map<std::string, std::map<std::string, int>> started_;     // token -> the Job's uid -> pods
  std::map<std::string, std::set<std::string>> tokens_of_owner_;  // owner's uid -> tokens not complete yet
  std::map<std::string, JobPtr> jobs_;                            // by uid
  std::map<std::string, std::set<std::string>> jobs_of_owner_;    // owner's uid (or its own) -> uids
  std::set<std::string> complete_;                                // tokens
  std::map<std::string, std::string> verdicts_;                   // token -> key
  std::map<ObjectKey, LastWrite> last_writes_;
  std::vector<std::string> violations_;
};

}  // namespace muster::world
