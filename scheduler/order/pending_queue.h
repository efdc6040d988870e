// The pending Workloads of one ClusterQueue: the competing ones, best first, and the refused ones, which are parked
// until a change.
//
// Workloads of one shape are kept together, so that parking a refused shape and waking it again cost the
// same for one Workload as for ten thousand. Every operation is at most logarithmic in the number of
// Workloads; waking is linear in the number of parked shapes, except for shapes with wake conditions
// (scheduler/wake_conditions.h): an index finds them. Order: priority, then time, then UID
// (queued_before); a Workload whose preemptions are in progress comes first (`preferred`). Holds no
// ownership.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "api/meta/time.h"
#include "scheduler/shape.h"
#include "scheduler/wake_conditions.h"

namespace muster::scheduler {

class PendingQueue {
 public:
  // Competes; moves it if it was parked.
  void push(WorkloadState& workload);
  // Parked until wake().
  void park(WorkloadState& workload);
  // Parked until it is pushed, or wake() comes at `until` or later; the zero time is never.
  void hold_back(WorkloadState& workload, Timestamp until);
  void remove(WorkloadState& workload);

  // The best competing Workload, or null.
  WorkloadState* front() const;

  // Parks all competing Workloads of this shape, and all new ones until it is woken.
  void refuse_shape(const Shape& shape);
  bool refused(const Shape& shape) const;
  // A refused shape needs no evaluation after a release until one of these is met: see wake_conditions_of().
  void await(const Shape& shape, std::vector<WakeCondition> wake_conditions);
  // All parked Workloads compete again, except those that are held back.
  void wake(Timestamp now);
  // The same after a release: shapes with wake conditions stay parked.
  void wake_released(Timestamp now);
  // Of the shapes with a met wake condition, the shape with the first Workload competes again, if that Workload comes
  // before front().
  void wake_first(const WakeIndex::Reach& reach);

  void prefer(const WorkloadState* workload) { preferred_ = workload; }
  const WorkloadState* preferred() const { return preferred_; }

  // Of a Workload that is in this queue.
  bool competes(const WorkloadState& workload) const;
  size_t active() const { return active_; }
  size_t parked() const { return parked_ + held_.size(); }
  // The number of Workloads before a Workload of this queue, and the first of them. Linear in this
  // number.
  struct Ahead {
    size_t count = 0;
    std::vector<const WorkloadState*> first;
  };
  Ahead ahead_of(const WorkloadState& workload, size_t most) const;
  // The first evaluated Workload of a shape, or null.
  const WorkloadState* evaluated(const Shape& shape) const;
  // All of them, in the order of the queue.
  std::vector<const WorkloadState*> list() const;

 private:
  struct Earlier {
    bool operator()(const WorkloadState* a, const WorkloadState* b) const;
  };
  using Members = std::set<WorkloadState*, Earlier>;
  // Held back Workloads, by the time of their wake-up.
  struct EarlierHeld {
    bool operator()(const WorkloadState* a, const WorkloadState* b) const;
  };
  // Two heaps of members that change roles when the whole shape is parked or woken.
  struct Group {
    Shape shape{};
    Members sides[2];
    int competing = 0;  // index of the competing side; the other side is parked
    bool refused = false;
    std::optional<std::vector<WakeCondition>> wake_conditions;
    WorkloadState* indexed = nullptr;  // its first Workload in wake_index_
    bool waiting = false;              // wake() must still visit it; until then it is not dropped

    Members& active() { return sides[competing]; }
    const Members& active() const { return sides[competing]; }
    Members& parked() { return sides[1 - competing]; }
  };
  struct EarlierFront {
    bool operator()(const Group* a, const Group* b) const {
      return Earlier()(*a->active().begin(), *b->active().begin());
    }
  };

  Group& group_of(const Shape& shape);
  void drop_if_empty(Group& group);
  void await_waking(Group& group);
  void drop_wake_conditions(Group& group);
  void index_first(Group& group);
  void wake(Group& group);
  void wake_held(Timestamp now);
  void insert(WorkloadState& workload, bool compete);
  bool comes_before(const WorkloadState& a, const WorkloadState& b) const;
  static void join(Members& from, Members& into, int side);

  std::unordered_map<Shape, Group, ShapeHash> groups_;
  std::set<Group*, EarlierFront> order_;  // those with Workloads that compete
  std::vector<Group*> waiting_;
  WakeIndex wake_index_;
  std::set<WorkloadState*, EarlierHeld> held_;
  const WorkloadState* preferred_ = nullptr;
  size_t active_ = 0;
  size_t parked_ = 0;
};

}  // namespace muster::scheduler
