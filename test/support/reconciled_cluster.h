// A cluster of which muster's reconcilers are asked, one plan at a time: the objects of an ObjectServer, what muster
// knows of them, and the plans carried out as the engine does it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconcilers/reconciler.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"
#include "test/support/object_server.h"

namespace muster::test {

class ReconciledCluster : public ObjectServer {
 public:
  using Reconcilers = std::vector<const reconcilers::Reconciler*>;

  explicit ReconciledCluster(Reconcilers given, ReconcilerSettings its = {}, world::ApiServerOptions options = {});

  Reconcilers reconcilers;
  ReconcilerSettings settings;
  reconcilers::CheckControllers check_controllers;  // none, until a test sets them
  state::ClusterState state;
  state::SchedulerDriver decisions;
  std::vector<ObjectEvent> events;  // recorded so far
  std::vector<Measurement> measurements;
  std::map<std::string, int> writes;  // asked for so far: "jobs", "workloads/status"
  std::vector<ObjectKey> concerned;   // by changes since they were settled last

  reconcilers::ReconcileContext context() const { return {state, decisions, settings, now(), check_controllers}; }
  // What the reconcilers plan for this key.
  reconcilers::Plan reconcile(const ObjectKey& key) const;
  // The API server takes it, unless another object has the name.
  void apply(const reconcilers::Write& write);
  void apply(const reconcilers::Plan& plan);
  world::Answer carry_out(const reconcilers::Write& write);
  // The next plan for the key, carried out; and its writes.
  reconcilers::Plan carried_out(const ObjectKey& key);
  Texts step(const ObjectKey& key) { return texts(carried_out(key)); }
  // Until nothing more is planned, which every test checks by this; all writes.
  Texts settle(const ObjectKey& key);
  // Only keys that a change has concerned, as the engine does.
  void settle_concerned();

  Texts event_reasons() const;
  // "Normal: 5 pods started"; empty when there is none.
  std::string note_of(const std::string& reason) const;
  int64_t count_events(const std::string& reason) const;

 protected:
  void shown(const ResourceType& type, const json& object) override;
  void gone(const ResourceType& type, const json& last) override;

 private:
  void enqueue_requests(const TypedObject& object);

  mutable ObjectKey reconciled_{};  // the last one
};

}  // namespace muster::test
