// This replica's part in the election of a leader, between the Lease and the engine. Whether it takes part is
// decided by engine/loop/candidacy.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "api/config/configuration.h"
#include "base/mutex.h"
#include "engine/loop/candidacy.h"
#include "kube/leases/leader_election.h"
#include "runtime/cluster.h"
#include "runtime/engine_loop.h"

namespace muster::runtime {

class Leadership {
 public:
  // `cluster` must outlive it; `identity` is process_identity().
  Leadership(Cluster& cluster, const LeaderElectionSettings& settings, const std::string& own_namespace,
             std::string identity);

  // Takes part from now on, or, where leaders are not elected, leads. The loop must
  // outlive the leadership that stop() ends.
  void start(EngineLoop& loop) EXCLUDES(mutex_);
  using Pause = engine::Candidacy::Pause;
  // Gives the Lease back, as stop() does, and takes part again when no pause is left. Repeating
  // one changes nothing.
  void pause(Pause why) EXCLUDES(mutex_);
  void resume(Pause why) EXCLUDES(mutex_);
  // Whether a watch has not caught up with the term of begin_leadership(). A replica that stays behind for
  // Candidacy::kLongestBehind takes no part in elections until it has caught up. Any thread.
  void set_behind(bool behind) EXCLUDES(mutex_);
  // For whoever starts the watches: when this has returned, and no other replica led, they begin in the term of this
  // replica and have nothing to catch up with.
  void await_first_attempt() const { attempted_.wait(false); }
  // Ends leadership: when it returns no write is under way, and the Lease is free.
  void stop() EXCLUDES(mutex_);

  // For Outbox: until when this replica leads; nullopt: it does not. Any thread.
  std::optional<MonotonicTime> leads_until() const EXCLUDES(mutex_);
  // A sentence while no replica leads, for some seconds already; empty: one leads, or this one does not look. Any
  // thread.
  std::string alarm() const EXCLUDES(mutex_);

 private:
  void take_part(EngineLoop& loop) REQUIRES(mutex_);
  void lead(EngineLoop& loop);
  void note_attempt();
  void yield_when_behind(const std::stop_token& stop) EXCLUDES(mutex_);

  Cluster& cluster_;
  const LeaderElectionSettings settings_;
  const std::string namespace_;
  const std::string identity_;

  mutable Mutex mutex_;
  EngineLoop* loop_ GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<kube::LeaderElection> election_ GUARDED_BY(mutex_);
  engine::Candidacy candidacy_ GUARDED_BY(mutex_);
  std::atomic<uint64_t> term_ = 0;
  std::atomic<bool> attempted_ = false;
  CondVar behind_changed_;
  std::jthread yielding_;  // last, so that it ends before the rest
};

// Whether these settings can work; the error names the field.
Outcome<> check(const LeaderElectionSettings& settings);

// "node-1_3c1f0d5e...": names this process and no other, ever; another one with each call.
std::string process_identity();

}  // namespace muster::runtime
