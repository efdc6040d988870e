#include "scheduler/order/pending_queue.h"

#include <algorithm>
#include <limits>

#include "scheduler/order/workload_order.h"
#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

using Waiting = WorkloadState::Waiting;
using Place = Waiting::Place;

// Held back forever: the largest time.
constexpr Timestamp kNever{std::numeric_limits<int64_t>::max(), 0};

// Begins to wait, unless it does: what is known of its last attempt stays when it only changes its place.
Waiting& waiting_part_of(WorkloadState& workload) {
  if (auto* waiting = std::get_if<Waiting>(&workload.phase)) return *waiting;
  return workload.phase.emplace<Waiting>();
}

}  // namespace

bool PendingQueue::Earlier::operator()(const WorkloadState* a, const WorkloadState* b) const {
  return queued_before(*a, *b);
}

// Workloads whose backoff ends at the same time come back in the order of the queue.
bool PendingQueue::EarlierHeld::operator()(const WorkloadState* a, const WorkloadState* b) const {
  const Timestamp left = a->waiting().held_until, right = b->waiting().held_until;
  if (left != right) return left < right;
  return queued_before(*a, *b);
}

PendingQueue::Group& PendingQueue::group_of(const Shape& shape) {
  Group& found = groups_[shape];
  found.shape = shape;
  return found;
}

void PendingQueue::drop_if_empty(Group& group) {
  // waiting_ has a pointer to a group that a wake must still visit.
  if (!group.sides[0].empty() || !group.sides[1].empty() || group.waiting) return;
  drop_wake_conditions(group);
  groups_.erase(Shape(group.shape));
}

void PendingQueue::await_waking(Group& group) {
  if (!std::exchange(group.waiting, true)) waiting_.push_back(&group);
}

void PendingQueue::drop_wake_conditions(Group& group) {
  if (group.indexed != nullptr) {
    for (const WakeCondition& wake_condition : *group.wake_conditions) wake_index_.remove(wake_condition, group.shape);
  }
  group.indexed = nullptr;
  group.wake_conditions.reset();
}

// Updates the index with the first parked Workload.
void PendingQueue::index_first(Group& group) {
  if (!group.wake_conditions) return;
  // The others of the shape ask for the same and come later, so only the first one can be the reason for a wake.
  WorkloadState* first = group.parked().empty() ? nullptr : *group.parked().begin();
  if (first == group.indexed) return;
  for (const WakeCondition& wake_condition : *group.wake_conditions) {
    if (group.indexed != nullptr) wake_index_.remove(wake_condition, group.shape);
    if (first != nullptr) wake_index_.add(wake_condition, group.shape, *first);
  }
  group.indexed = first;
}

void PendingQueue::insert(WorkloadState& workload, bool compete) {
  Group& group = group_of(workload.shape);
  if (compete) {
    // order_ sorts groups by their first competing Workload: a group must not be in it while that Workload changes.
    if (!group.active().empty()) order_.erase(&group);
    group.active().insert(&workload);
    order_.insert(&group);
    ++active_;
  } else {
    group.parked().insert(&workload);
    ++parked_;
    if (group.wake_conditions)
      index_first(group);
    else
      await_waking(group);
  }
  Waiting& waiting = waiting_part_of(workload);
  waiting.place = Place::kQueued;
  waiting.side = static_cast<uint8_t>(compete ? group.competing : 1 - group.competing);
}

bool PendingQueue::competes(const WorkloadState& workload) const {
  const auto* waiting = std::get_if<Waiting>(&workload.phase);
  if (waiting == nullptr || waiting->place != Place::kQueued) return false;
  return groups_.at(workload.shape).competing == waiting->side;
}

// A Workload that competes already keeps its place.
void PendingQueue::push(WorkloadState& workload) {
  if (competes(workload)) return;
  remove(workload);
  insert(workload, true);
}

void PendingQueue::park(WorkloadState& workload) {
  remove(workload);
  insert(workload, false);
}

// Backoff after an eviction (KEP-1282), or a Workload that must not be started again before its object changes.
void PendingQueue::hold_back(WorkloadState& workload, Timestamp until) {
  remove(workload);
  Waiting& waiting = waiting_part_of(workload);
  waiting.held_until = until.is_zero() ? kNever : until;
  held_.insert(&workload);
  waiting.place = Place::kHeldBack;
}

void PendingQueue::remove(WorkloadState& workload) {
  auto* waiting = std::get_if<Waiting>(&workload.phase);
  if (waiting == nullptr) return;
  if (waiting->place == Place::kHeldBack) held_.erase(&workload);
  if (waiting->place == Place::kQueued) {
    Group& group = group_of(workload.shape);
    const bool competed = group.competing == waiting->side;
    if (competed) order_.erase(&group);
    group.sides[waiting->side].erase(&workload);
    if (competed && !group.active().empty()) order_.insert(&group);
    if (!competed) index_first(group);
    --(competed ? active_ : parked_);
    drop_if_empty(group);
  }
  waiting->place = Place::kOutside;
}

WorkloadState* PendingQueue::front() const {
  // The victims of the preferred Workload are on their way out. If a Workload of higher priority that came later went
  // first, it would take the quota that they free, and the evictions would have been for nothing.
  if (preferred_ != nullptr && competes(*preferred_)) return const_cast<WorkloadState*>(preferred_);
  return order_.empty() ? nullptr : *(*order_.begin())->active().begin();
}

// The smaller set moves, so that a Workload is moved seldom however often its shape is.
void PendingQueue::join(Members& from, Members& into, int side) {
  for (WorkloadState* workload : from) workload->waiting().side = static_cast<uint8_t>(side);
  into.merge(from);
  from.clear();
}

// Kueue's scheduling equivalence classes: what is refused for one Workload is refused for all that ask for the same.
// The two sides exchange their roles, so that only the smaller side is moved.
void PendingQueue::refuse_shape(const Shape& shape) {
  Group& group = group_of(shape);
  drop_wake_conditions(group);
  group.refused = true;
  await_waking(group);
  if (group.active().empty()) return;
  order_.erase(&group);
  active_ -= group.active().size();
  parked_ += group.active().size();
  if (group.parked().size() < group.active().size()) group.competing = 1 - group.competing;
  join(group.active(), group.parked(), 1 - group.competing);
}

// The conditions of the last refusal replace the ones of an earlier refusal, which had other causes.
void PendingQueue::await(const Shape& shape, std::vector<WakeCondition> wake_conditions) {
  Group& group = group_of(shape);
  drop_wake_conditions(group);
  group.wake_conditions = std::move(wake_conditions);
  index_first(group);
}

bool PendingQueue::refused(const Shape& shape) const {
  const auto it = groups_.find(shape);
  return it != groups_.end() && it->second.refused;
}

// The conditions belong to an evaluation that no longer counts: a new refusal brings new ones.
void PendingQueue::wake(Group& group) {
  drop_wake_conditions(group);
  group.refused = false;
  if (group.parked().empty()) return;
  if (!group.active().empty()) order_.erase(&group);
  active_ += group.parked().size();
  parked_ -= group.parked().size();
  if (group.active().size() < group.parked().size()) group.competing = 1 - group.competing;
  join(group.parked(), group.active(), group.competing);
  order_.insert(&group);
}

void PendingQueue::wake_held(Timestamp now) {
  while (!held_.empty() && (*held_.begin())->waiting().held_until <= now) push(**held_.begin());
}

// After a change of structure it is not known which Workloads it helps: all shapes are evaluated again.
void PendingQueue::wake(Timestamp now) {
  waiting_.clear();
  for (auto next = groups_.begin(); next != groups_.end();) {
    Group& group = (next++)->second;
    group.waiting = false;
    wake(group);
    drop_if_empty(group);
  }
  wake_held(now);
}

// Shapes with wake conditions stay parked: wake_first() finds those that the release helps by the index.
void PendingQueue::wake_released(Timestamp now) {
  for (Group* group : std::exchange(waiting_, {})) {
    group->waiting = false;
    if (!group->wake_conditions) wake(*group);
    drop_if_empty(*group);
  }
  wake_held(now);
}

// One shape at a time: the first Workload takes the released quota, and the others would be refused again.
void PendingQueue::wake_first(const WakeIndex::Reach& reach) {
  // While the preferred Workload waits for its victims, another one must not take what they free.
  const WorkloadState* competing = front();
  if (competing != nullptr && competing == preferred_) return;
  WorkloadState* first = wake_index_.first_within(reach);
  if (first != nullptr && (competing == nullptr || queued_before(*first, *competing))) wake(group_of(first->shape));
}

// The whole order, which only readers need: decisions look at the first Workload of each shape.
std::vector<const WorkloadState*> PendingQueue::list() const {
  std::vector<const WorkloadState*> all;
  all.reserve(active() + parked());
  for (const auto& [shape, group] : groups_) {
    for (const Members& side : group.sides) all.insert(all.end(), side.begin(), side.end());
  }
  all.insert(all.end(), held_.begin(), held_.end());
  std::sort(all.begin(), all.end(),
            [&](const WorkloadState* a, const WorkloadState* b) { return comes_before(*a, *b); });
  return all;
}

bool PendingQueue::comes_before(const WorkloadState& a, const WorkloadState& b) const {
  return compare(queue_terms(a, &a == preferred_), queue_terms(b, &b == preferred_)).first;
}

PendingQueue::Ahead PendingQueue::ahead_of(const WorkloadState& workload, size_t most) const {
  std::vector<const WorkloadState*> before;
  const auto consider = [&](const WorkloadState* other) {
    if (other != &workload && comes_before(*other, workload)) before.push_back(other);
  };
  for (const auto& [shape, group] : groups_) {
    for (const Members& side : group.sides) {
      for (const WorkloadState* other : side) {
        if (other == preferred_) continue;
        // Each side is in the order of the queue.
        if (!queued_before(*other, workload)) break;
        consider(other);
      }
    }
  }
  for (const WorkloadState* other : held_) {
    if (other != preferred_) consider(other);
  }
  if (preferred_ != nullptr) consider(preferred_);
  Ahead ahead{.count = before.size(), .first = {}};
  const auto end = before.begin() + static_cast<std::ptrdiff_t>(std::min(most, before.size()));
  // Thousands can be ahead, and a reader sees the first few.
  std::partial_sort(before.begin(), end, before.end(),
                    [&](const WorkloadState* a, const WorkloadState* b) { return comes_before(*a, *b); });
  ahead.first.assign(before.begin(), end);
  return ahead;
}

// The Workloads that were parked with their shape were not evaluated themselves.
const WorkloadState* PendingQueue::evaluated(const Shape& shape) const {
  const auto found = groups_.find(shape);
  if (found == groups_.end()) return nullptr;
  for (const Members& side : found->second.sides) {
    for (const WorkloadState* workload : side) {
      if (workload->waiting().refusal != nullptr) return workload;
    }
  }
  return nullptr;
}

}  // namespace muster::scheduler
