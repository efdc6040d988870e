// The ClusterView that rules read, kept up to date with the state. Readers on other threads get immutable pictures.
#pragma once

#include "api/review/cluster_view.h"
#include "engine/observer.h"

namespace muster::engine {

class PublishedView final : public Observer {
 public:
  // The same picture as long as nothing in it changes, so that the pods of a gang, which are not in it, cost nothing.
  ClusterViewPtr publish() const;
  const ClusterView& latest() const { return view_; }

  void put(const state::ClusterState::Change& change, Now) override { show(*change.after); }
  void remove(const TypedObject& removed, Now) override;
  void reset(Now) override;
  void restore(const TypedObject& object, Now) override { show(object); }

 private:
  void show(const TypedObject& object);

  ClusterView view_;
  mutable ClusterViewPtr published_;  // null: view_ has changed since
};

}  // namespace muster::engine
