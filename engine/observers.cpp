#include "engine/observers.h"

#include "state/metrics/measurements.h"

namespace muster::engine {

void SeenWrites::put(const state::ClusterState::Change& change, Now now) {
  finish(expectations_.take_seen(*change.after), now);
}

void SeenWrites::remove(const TypedObject& removed, Now now) {
  finish(expectations_.take_gone(removed), now);
}

void SeenWrites::finish(const std::vector<ObjectKey>& requests, Now now) {
  for (const ObjectKey& request : requests)
    work_queue_.write_finished(request, WorkQueue::Result::kDone, now.monotonic);
}

SchedulerFeed::SchedulerFeed(const state::ClusterState& state, const QueueSettings& settings)
    : state_(state),
      settings_(settings),
      nodes_(settings.watch_nodes ? std::make_unique<scheduler::NodeTable>() : nullptr),
      driver_(new_driver()) {}

// What is known of nodes outlives a driver.
state::SchedulerDriver SchedulerFeed::new_driver() {
  return nodes_ == nullptr ? state::SchedulerDriver(settings_) : state::SchedulerDriver(settings_, *nodes_, state_);
}

void SchedulerFeed::take(const scheduler::NodeNews& news) {
  if (nodes_ != nullptr) nodes_->take(news);
}

void SchedulerFeed::await_nodes(uint64_t term) {
  if (nodes_ != nullptr) nodes_->await(term);
}

void EndedSeries::put(const state::ClusterState::Change& change, Now) {
  if (change.before) state::note_ended_series(*change.before, state_, settings_, measurements_);
}

void EndedSeries::remove(const TypedObject& removed, Now) {
  state::note_ended_series(removed, state_, settings_, measurements_);
}

void UsedSeconds::put(const state::ClusterState::Change& change, Now now) {
  seconds_.note(change.before ? &*change.before : nullptr, change.after, state_, now.monotonic);
}

void UsedSeconds::remove(const TypedObject& removed, Now now) {
  seconds_.note(&removed, nullptr, state_, now.monotonic);
}

void UnsupportedNews::put(const state::ClusterState::Change& change, Now) {
  const TypedObject& object = *change.after;
  for (const state::Unsupported& news : objects_.put(key_of(object), state::unsupported_in(object, settings_))) {
    if (leads_) events_.push_back(event_about_unsupported(object, news));
  }
}

void UnsupportedNews::remove(const TypedObject& removed, Now) {
  objects_.remove(key_of(removed));
}

void RequestMapper::put(const state::ClusterState::Change& change, Now) {
  if (!leads_) return;
  if (change.before) enqueue_(*change.before);
  enqueue_(*change.after);
}

void RequestMapper::remove(const TypedObject& removed, Now) {
  if (leads_) enqueue_(removed);
}

}  // namespace muster::engine
