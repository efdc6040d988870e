// The Workloads that wait for one ClusterQueue: those that compete, best first, and those
// that were refused and are parked until something changes.
//
// Workloads of one shape are kept together, so that parking a refused shape and waking it
// again cost the same for one Workload as for ten thousand. Every operation is at most
// logarithmic in the number of Workloads; waking is linear in the number of parked shapes,
// but for those that wait for hurdles to fall (scheduler/hurdles.h): they are found one by one.
// Order: priority, then time, then UID (queued_before); a Workload whose preemptions are
// under way comes before all (`preferred`). Holds no ownership.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/meta/time.h"
#include "scheduler/hurdles.h"
#include "scheduler/shape.h"

namespace muster {

class PendingQueue {
 public:
  // Competes; moves it if it was parked.
  void push(WorkloadState& workload);
  // Parked until wake().
  void park(WorkloadState& workload);
  // Parked until it is pushed, or wake() comes at `until` or later; the zero time is never.
  void hold_back(WorkloadState& workload, Timestamp until);
  void remove(WorkloadState& workload);

  // The best one of those that compete, or null.
  WorkloadState* front() const;

  // Parks all that compete in this shape, and all that come in it until it is woken.
  void refuse_shape(const Shape& shape);
  bool refused(const Shape& shape) const;
  // A refused shape needs no look after a release as long as these stand: see hurdles_of().
  void await(const Shape& shape, std::vector<Hurdle> hurdles);
  // All that are parked compete again, but for those that are held back.
  void wake(Timestamp now);
  // The same after a release: what waits for hurdles stays parked.
  void wake_released(Timestamp now);
  // Of the shapes that wait for hurdles and have one that fell, the one with the first
  // Workload competes again, if that Workload comes before front().
  void wake_first(const HurdleIndex::Reach& reach);

  void prefer(const WorkloadState* workload) { preferred_ = workload; }
  const WorkloadState* preferred() const { return preferred_; }

  // Of a Workload that is in this queue.
  bool competes(const WorkloadState& workload) const;
  size_t active() const { return active_; }
  size_t parked() const { return parked_ + held_.size(); }
  // How many come before a Workload that is in this queue, and the first of them. Costs as
  // much as there are.
  struct Ahead {
    size_t count = 0;
    std::vector<const WorkloadState*> first;
  };
  Ahead ahead_of(const WorkloadState& workload, size_t most) const;
  // The first of a shape that has been looked at, or null.
  const WorkloadState* evaluated(const Shape& shape) const;
  // All of them, in the order of the queue.
  std::vector<const WorkloadState*> list() const;

 private:
  struct Earlier {
    bool operator()(const WorkloadState* a, const WorkloadState* b) const;
  };
  using Members = std::set<WorkloadState*, Earlier>;
  // Two heaps of members that change roles when the whole shape is parked or woken.
  struct Group {
    Shape shape{};
    Members sides[2];
    int competing = 0;  // the side that does; the other one is parked
    bool refused = false;
    std::optional<std::vector<Hurdle>> hurdles;
    WorkloadState* indexed = nullptr;  // its first one, as hurdles_ has it
    bool waiting = false;              // wake() has to look at it; until then it is not dropped

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
  void drop_hurdles(Group& group);
  void index_first(Group& group);
  void wake(Group& group);
  void wake_held(Timestamp now);
  void insert(WorkloadState& workload, bool compete);
  bool comes_before(const WorkloadState& a, const WorkloadState& b) const;
  static void join(Members& from, Members& into, int side);

  std::unordered_map<Shape, Group, ShapeHash> groups_;
  std::set<Group*, EarlierFront> order_;  // those with Workloads that compete
  std::vector<Group*> waiting_;
  HurdleIndex hurdles_;
  std::set<std::pair<Timestamp, WorkloadState*>> held_;
  const WorkloadState* preferred_ = nullptr;
  size_t active_ = 0;
  size_t parked_ = 0;
};

}  // namespace muster
