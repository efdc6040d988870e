// The heart of `muster serve`: a deterministic state machine that owns everything
// muster knows of the cluster. Events go in, commands come out; what readers on
// other threads can see is an immutable ClusterView.
//
// One thread owns an Engine; nothing here locks, waits or reads a clock. The loop around it
// (engine/loop/, with threads in runtime/engine_loop.h) feeds it and carries out its commands.
//
// Every replica takes in all events; only the leader plans for the cluster's objects.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/expiring_set.h"
#include "engine/deferrable_write_limiter.h"
#include "engine/events.h"
#include "engine/giving_way.h"
#include "engine/key_clocks.h"
#include "engine/known_kinds.h"
#include "engine/observers.h"
#include "engine/published_view.h"
#include "engine/quarantine.h"
#include "engine/reconcilers.h"
#include "engine/scheduler_rest.h"
#include "engine/step_watch.h"
#include "engine/work_queue.h"
#include "engine/write_expectations.h"
#include "engine/writes_under_way.h"
#include "reconcilers/webhooks/webhook_config_reconciler.h"
#include "state/cluster_state.h"
#include "state/metrics/resource_seconds.h"

namespace muster::engine {

class LoopObserver;

struct EngineSettings {
  manifests::WebhookRegistration webhooks{};
  bool keep_webhook_configurations = true;
  Duration webhook_write_interval = std::chrono::seconds(2);
  // No more Workloads are admitted while this many admissions are being written. When the API server is slow, quota
  // goes to the first Workload once there is room, and is not held by Workloads whose write waits in line. At least
  // one.
  size_t admissions_at_a_time = 32;
  // While this many writes are under way nothing more is planned, but for namespaces that have less than a share of
  // them (kShares) under way: a write in a line is planned from what was known when it was put there, and the line has
  // no other bound.
  size_t writes_at_a_time = 1024;
  ReconcilerSettings reconcilers{};
  // Rows must outlive the engine; tests pass their own controllers.
  reconcilers::CheckControllers check_controllers = engine::check_controllers();
  // Called at every step; must outlive the engine. Null: none.
  StepWatch* watch = nullptr;
  // Called by engine/loop/ for every batch; must outlive it. Null: none.
  LoopObserver* observer = nullptr;
};

class Engine {
 public:
  // `table` must outlive the engine; tests pass their own reconcilers.
  explicit Engine(EngineSettings settings, std::span<const reconcilers::Reconciler* const> table = reconcilers());
  // Its parts refer to each other.
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Takes in one event. Commands come from plan(), after a batch of events.
  void apply(const Event& event, Now now);
  // What is to be done now, given everything applied so far. Every command must be
  // answered with a WriteFinished, also one that is dropped unsent (outcome kFailed).
  Commands plan(Now now);

  // While kinds are missing, nothing is planned: a whole kind that is not there says nothing about its objects, so no
  // job is stopped or started because of it. While kinds are behind, a leader plans nothing for the cluster's objects.
  const KnownKinds& kinds() const { return kinds_; }
  bool leads() const { return leads_; }
  // A picture of the state as it is; see PublishedView::publish().
  ClusterViewPtr view() const { return view_.publish(); }
  // The keeper of the webhook configurations. What it has seen is taken from it.
  reconcilers::WebhookConfigReconciler& webhooks() { return webhooks_; }
  // When plan() wants to be called although nothing happened; nullopt: only after events.
  std::optional<MonotonicTime> next_tick() const;

  // Keys that are set aside. An exception never leaves apply() or plan(): it is reported as a Breakage of the next
  // plan, and all other keys go on.
  size_t quarantined() const { return quarantine_.size(); }

  const state::ClusterState& state() const { return state_; }
  // What the scheduler has decided, also what is not written yet.
  const state::SchedulerDriver& decisions() const { return scheduler_feed_.driver(); }
  reconcilers::CheckControllers check_controllers() const { return check_controllers_; }
  const QueueSettings& queue_settings() const { return settings_.queues; }
  const UnsupportedObjects& unsupported() const { return unsupported_; }
  const state::ResourceSeconds& resource_seconds() const { return resource_seconds_; }

 private:
  void take_in(const Event& event, Now now);
  void put(const TypedObject& object, bool watched, Now now);
  void put_unguarded(const TypedObject& object, bool watched, Now now);
  // Whether the scheduler broke over this very version of the object.
  bool is_kept_from(const Observer& observer, const TypedObject& object) const;
  void remove(const TypedObject& object, Now now);
  void forget(const TypedObject& removed, Now now);
  void replace(const KindListed& list, Now now);
  std::vector<ObjectKey> take_ready_keys(Now now);
  bool may_plan() const { return leads_ && kinds_.current() && kinds_.whole(); }
  bool rests_on_unknown(const ObjectKey& key) const;
  void finish(const WriteFinished& finished, Now now);
  WorkQueue::Result result_of(const WriteUnderWay& write, const WriteFinished& finished) const;
  // Refused by a word of the API server's, and nothing else of its key needs to wait.
  static bool only_it_waits(const WriteUnderWay& write, const WriteFinished& finished);
  bool shows(const ObjectKey& target, uint64_t version) const;
  void take_answer(WriteUnderWay& write, const WriteFinished& finished, Now now);
  void take_refusal(WriteUnderWay& write, const WriteFinished& finished);
  void note_search(const WriteUnderWay& search, const WriteFinished& finished, Now now);
  void lead(const LeadershipChanged& changed, Now now);
  void catch_up(const KindCaughtUp& kind, Now now);

  // When something broke (engine_recovery.cpp).
  void set_aside(const Breakage& breakage);
  void set_aside(const Breakage& breakage, uint64_t version);
  void set_subject_aside(const std::exception& thrown, Now now);
  uint64_t version_of(const ObjectKey& key) const;
  void recover(Now now);
  std::optional<Breakage> try_to_rebuild(Now now);
  std::optional<MonotonicTime> next_decision() const;

  void enqueue_requests(const TypedObject& object);
  void measure(Measurement measurement);
  void add(Commands& commands, std::optional<ObjectKey> request, reconcilers::Write write, Now now);
  void schedule(Now now);
  void decide(Now now);
  // Each puts the key back into line and returns true when the plan's writes are to be made later.
  bool defer_deferrable_writes(const ObjectKey& key, const reconcilers::Plan& plan, Now now);
  bool queue_writes_that_give_way(const ObjectKey& key, const reconcilers::Plan& plan, Now now);
  // Takes out what is not sent because its maker pauses; the key is asked again then.
  void hold_paused_writes(const ObjectKey& key, reconcilers::Plan& plan, Now now);
  void reconcile(const ObjectKey& key, Commands& commands, Now now);

  const ReconcilerSettings settings_;
  const std::span<const reconcilers::Reconciler* const> reconcilers_;
  const reconcilers::CheckControllers check_controllers_;
  state::ClusterState state_;
  SchedulerFeed scheduler_feed_;
  PublishedView view_;
  reconcilers::WebhookConfigReconciler webhooks_;
  WorkQueue work_queue_;
  KeyClocks clocks_;
  KnownKinds kinds_;
  WritesUnderWay under_way_;
  WriteExpectations expectations_;  // under way for the work queue
  // Keys whose name another owner's object has, and when to look again.
  ExpiringSet<ObjectKey> blocked_{std::chrono::minutes(1)};
  // To be handed out.
  std::vector<ObjectEvent> events_;
  std::vector<Measurement> measurements_;
  std::vector<LoggedDecision> logged_decisions_;
  DeferrableWriteLimiter deferrable_writes_;
  GivingWay giving_way_;
  UnsupportedObjects unsupported_;
  state::ResourceSeconds resource_seconds_;
  bool leads_ = false;

  SeenWrites seen_writes_;
  EndedSeries ended_series_;
  UsedSeconds used_seconds_;
  UnsupportedNews unsupported_news_;
  RequestMapper request_mapper_;
  // In the order in which they see a change: a write that it finishes frees its key before the key is enqueued again,
  // and reconcilers come last.
  const std::array<Observer*, 7> observers_;

  StepWatch* const watch_;
  Quarantine quarantine_;
  std::vector<Breakage> breakages_;  // to be handed out
  // What is being done to the object that is being put, for when that throws.
  Broke doing_ = Broke::kState;
  SchedulerRest scheduler_rest_;
};

}  // namespace muster::engine
