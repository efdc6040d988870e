// The engine's observers that pass a change on to another part of the engine. The view of the rules is one by itself:
// published_view.h.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/config/reconciler_settings.h"
#include "api/measurement.h"
#include "api/meta/object_event.h"
#include "engine/observer.h"
#include "engine/unsupported_objects.h"
#include "engine/work_queue.h"
#include "engine/write_expectations.h"
#include "scheduler/nodes/node_table.h"
#include "state/metrics/resource_seconds.h"
#include "state/scheduler_driver.h"

namespace muster::engine {

// A write whose answer had only a version is finished once the object shows it.
class SeenWrites final : public Observer {
 public:
  SeenWrites(WriteExpectations& expectations, WorkQueue& work_queue)
      : expectations_(expectations), work_queue_(work_queue) {}

  void put(const state::ClusterState::Change& change, Now now) override;
  void remove(const TypedObject& removed, Now now) override;

 private:
  void finish(const std::vector<ObjectKey>& requests, Now now);

  WriteExpectations& expectations_;
  WorkQueue& work_queue_;
};

// Owns what has been decided about Workloads, and feeds its scheduler.
class SchedulerFeed final : public Observer {
 public:
  // `state` must outlive it.
  SchedulerFeed(const state::ClusterState& state, const QueueSettings& settings);

  // From a watch of nodes or pods; nothing where the settings ask for none.
  void take(const scheduler::NodeNews& news);
  void await_nodes(uint64_t term);

  const state::SchedulerDriver& driver() const { return driver_; }
  state::SchedulerDriver& driver() { return driver_; }

  Broke part() const override { return Broke::kQuota; }
  void put(const state::ClusterState::Change& change, Now now) override { driver_.put(*change.after, state_, now); }
  void remove(const TypedObject& removed, Now now) override { driver_.remove(removed, state_, now); }
  // With it go all decisions that are not written.
  void reset(Now) override { driver_ = new_driver(); }
  void restore(const TypedObject& object, Now now) override { driver_.put(object, state_, now); }

 private:
  state::SchedulerDriver new_driver();

  const state::ClusterState& state_;
  const QueueSettings settings_;
  const std::unique_ptr<scheduler::NodeTable> nodes_;  // null: they are not watched
  state::SchedulerDriver driver_;
};

// Series of metrics end with their queue.
class EndedSeries final : public Observer {
 public:
  // All must outlive it; measurements are added to `measurements`.
  EndedSeries(const state::ClusterState& state, const QueueSettings& settings, std::vector<Measurement>& measurements)
      : state_(state), settings_(settings), measurements_(measurements) {}

  void put(const state::ClusterState::Change& change, Now now) override;
  void remove(const TypedObject& removed, Now now) override;

 private:
  const state::ClusterState& state_;
  const QueueSettings& settings_;
  std::vector<Measurement>& measurements_;
};

class UsedSeconds final : public Observer {
 public:
  UsedSeconds(const state::ClusterState& state, state::ResourceSeconds& seconds) : state_(state), seconds_(seconds) {}

  void put(const state::ClusterState::Change& change, Now now) override;
  void remove(const TypedObject& removed, Now now) override;
  // Reads all objects itself, because series go on.
  void reset(Now now) override { seconds_.recount(state_, now.monotonic); }

 private:
  const state::ClusterState& state_;
  state::ResourceSeconds& seconds_;
};

// Every replica counts the objects that ask for what muster does not do; the leader tells their owners by an event.
class UnsupportedNews final : public Observer {
 public:
  UnsupportedNews(UnsupportedObjects& objects, const ReconcilerSettings& settings, const bool& leads,
                  std::vector<ObjectEvent>& events)
      : objects_(objects), settings_(settings), leads_(leads), events_(events) {}

  void put(const state::ClusterState::Change& change, Now now) override;
  void remove(const TypedObject& removed, Now now) override;

 private:
  UnsupportedObjects& objects_;
  const ReconcilerSettings& settings_;
  const bool& leads_;
  std::vector<ObjectEvent>& events_;
};

// What a change concerns is reconciled, by the leader.
class RequestMapper final : public Observer {
 public:
  // `enqueue` enqueues the keys of one version of an object.
  RequestMapper(const bool& leads, std::function<void(const TypedObject&)> enqueue)
      : leads_(leads), enqueue_(std::move(enqueue)) {}

  void put(const state::ClusterState::Change& change, Now now) override;
  void remove(const TypedObject& removed, Now now) override;

 private:
  const bool& leads_;
  const std::function<void(const TypedObject&)> enqueue_;
};

}  // namespace muster::engine
