// Takes part in the election of one leader among muster's replicas, by a Lease; one thread. Its decisions are in
// kube/leases/lease_policy.h.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <thread>

#include "kube/api.h"
#include "kube/leases/lease_policy.h"
#include "kube/observer.h"
#include "kube/transport/timing.h"

namespace muster::kube {

// Called on the election's thread, in this order in time; each can be empty. They hold
// up renewals, so they should only hand the news on.
struct LeaderCallbacks {
  std::function<void()> became_leader{};
  // Also when the election stops. The lease is released after it has returned: what
  // must not overlap with the next leader's work has to be over then. `until`: the last valid_until(), also when it
  // is later than now (released) or long past (this process was frozen).
  std::function<void(MonotonicTime until)> lost_leadership{};
  // The lease has a new holder (can be this process). Empty: released.
  std::function<void(const std::string& identity)> new_leader{};
  // The first attempt to lead has ended, well or not (after became_leader), or the election has before it. Once.
  std::function<void()> attempted{};
};

struct LeaderElectionSettings {
  std::string ns{};
  std::string name{};      // of the Lease
  std::string identity{};  // hostname_uuid: of this process and of no other
  LeaseOptions lease{};
};

// If the API server does not answer, refuses or lacks the namespace, the request is repeated every retry period; the
// observer is notified.
class LeaderElection {
 public:
  // Starts at once; the settings have passed check(). Everything given by reference
  // must outlive the election. `api` should be a separate client, without a rate limit: a renewal that queues behind
  // other requests comes too late.
  LeaderElection(KubeApi& api, LeaderElectionSettings settings, LeaderCallbacks callbacks, KubeObserver& observer,
                 Timing timing);
  // stop(), and waits for the thread: at most retry_period, when the API server does not answer.
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  // Ends leadership, if there is any, and empties the lease. Returns at once.
  void stop() { thread_.request_stop(); }

  // While this process leads: a write must not start at this time or later, because then
  // another can lead. It is renew_deadline after the last successful renewal was sent.
  // nullopt: does not lead. Any thread, without a lock; ask before each write.
  std::optional<MonotonicTime> valid_until() const;
  // Until when some process leads by what this one has read; without a leader, when the last one ended. Any thread.
  MonotonicTime led_until() const { return MonotonicTime(Duration(led_until_.load())); }

 private:
  void run(std::stop_token stop);
  void read(const LeaseStep& step, std::stop_token stop);
  void write(const LeaseStep& step, std::stop_token stop);
  void attempt_ended();
  void failed(const StatusError& error);
  MonotonicTime now() const { return timing_.clock.now().monotonic; }
  void publish(MonotonicTime now);

  KubeApi& api_;
  const LeaderElectionSettings settings_;
  const LeaderCallbacks callbacks_;
  KubeObserver& observer_;
  const Timing timing_;

  static constexpr MonotonicTime::rep kNotLeading = std::numeric_limits<MonotonicTime::rep>::min();
  std::atomic<MonotonicTime::rep> valid_until_ = kNotLeading;
  std::atomic<MonotonicTime::rep> led_until_ = now().time_since_epoch().count();  // no replica must have led before

  // Of the thread.
  LeasePolicy policy_;
  const std::unique_ptr<nlohmann::json> lease_;  // as last answered, to keep what is not ours in it
  bool leads_ = false;                           // as reported
  bool attempted_ = false;                       // as reported
  std::string holder_;                           // as reported

  std::jthread thread_;  // last, so that it ends before the rest
};

}  // namespace muster::kube
