#include "scheduler/pending_queue.h"

#include <algorithm>
#include <limits>

#include "scheduler/state.h"

namespace muster {
namespace {

using Place = WorkloadState::Place;

// Held back for ever: after every time that there is.
constexpr Timestamp kNever{std::numeric_limits<int64_t>::max(), 0};

}  // namespace

bool PendingQueue::Earlier::operator()(const WorkloadState* a, const WorkloadState* b) const {
  return queued_before(*a, *b);
}

PendingQueue::Group& PendingQueue::group_of(const Shape& shape) {
  Group& found = groups_[shape];
  found.shape = shape;
  return found;
}

void PendingQueue::drop_if_empty(Group& group) {
  if (!group.sides[0].empty() || !group.sides[1].empty() || group.waiting) return;
  drop_hurdles(group);
  groups_.erase(Shape(group.shape));
}

void PendingQueue::await_waking(Group& group) {
  if (!std::exchange(group.waiting, true)) waiting_.push_back(&group);
}

void PendingQueue::drop_hurdles(Group& group) {
  if (group.indexed != nullptr) {
    for (const Hurdle& hurdle : *group.hurdles) hurdles_.remove(hurdle, group.shape);
  }
  group.indexed = nullptr;
  group.hurdles.reset();
}

// Brings the index up to date with who is the first that is parked.
void PendingQueue::index_first(Group& group) {
  if (!group.hurdles) return;
  WorkloadState* first = group.parked().empty() ? nullptr : *group.parked().begin();
  if (first == group.indexed) return;
  for (const Hurdle& hurdle : *group.hurdles) {
    if (group.indexed != nullptr) hurdles_.remove(hurdle, group.shape);
    if (first != nullptr) hurdles_.add(hurdle, group.shape, *first);
  }
  group.indexed = first;
}

void PendingQueue::insert(WorkloadState& workload, bool compete) {
  Group& its = group_of(workload.shape);
  if (compete) {
    if (!its.active().empty()) order_.erase(&its);
    its.active().insert(&workload);
    order_.insert(&its);
    ++active_;
  } else {
    its.parked().insert(&workload);
    ++parked_;
    if (its.hurdles)
      index_first(its);
    else
      await_waking(its);
  }
  workload.place = Place::kQueued;
  workload.side = static_cast<uint8_t>(compete ? its.competing : 1 - its.competing);
}

bool PendingQueue::competes(const WorkloadState& workload) const {
  if (workload.place != Place::kQueued) return false;
  return groups_.at(workload.shape).competing == workload.side;
}

void PendingQueue::push(WorkloadState& workload) {
  if (competes(workload)) return;
  remove(workload);
  insert(workload, true);
}

void PendingQueue::park(WorkloadState& workload) {
  remove(workload);
  insert(workload, false);
}

void PendingQueue::hold_back(WorkloadState& workload, Timestamp until) {
  remove(workload);
  workload.held_until = until.is_zero() ? kNever : until;
  held_.emplace(workload.held_until, &workload);
  workload.place = Place::kHeld;
}

void PendingQueue::remove(WorkloadState& workload) {
  if (workload.place == Place::kHeld) held_.erase({workload.held_until, &workload});
  if (workload.place == Place::kQueued) {
    Group& its = group_of(workload.shape);
    const bool competed = its.competing == workload.side;
    if (competed) order_.erase(&its);
    its.sides[workload.side].erase(&workload);
    if (competed && !its.active().empty()) order_.insert(&its);
    if (!competed) index_first(its);
    --(competed ? active_ : parked_);
    drop_if_empty(its);
  }
  workload.place = Place::kNowhere;
}

WorkloadState* PendingQueue::front() const {
  if (preferred_ != nullptr && competes(*preferred_)) return const_cast<WorkloadState*>(preferred_);
  return order_.empty() ? nullptr : *(*order_.begin())->active().begin();
}

// The smaller set moves, so that a Workload is moved seldom however often its shape is.
void PendingQueue::join(Members& from, Members& into, int side) {
  for (WorkloadState* workload : from) workload->side = static_cast<uint8_t>(side);
  into.merge(from);
  from.clear();
}

void PendingQueue::refuse_shape(const Shape& shape) {
  Group& its = group_of(shape);
  drop_hurdles(its);
  its.refused = true;
  await_waking(its);
  if (its.active().empty()) return;
  order_.erase(&its);
  active_ -= its.active().size();
  parked_ += its.active().size();
  if (its.parked().size() < its.active().size()) its.competing = 1 - its.competing;
  join(its.active(), its.parked(), 1 - its.competing);
}

void PendingQueue::await(const Shape& shape, std::vector<Hurdle> hurdles) {
  Group& its = group_of(shape);
  drop_hurdles(its);
  its.hurdles = std::move(hurdles);
  index_first(its);
}

bool PendingQueue::refused(const Shape& shape) const {
  const auto it = groups_.find(shape);
  return it != groups_.end() && it->second.refused;
}

void PendingQueue::wake(Group& its) {
  drop_hurdles(its);
  its.refused = false;
  if (its.parked().empty()) return;
  if (!its.active().empty()) order_.erase(&its);
  active_ += its.parked().size();
  parked_ -= its.parked().size();
  if (its.active().size() < its.parked().size()) its.competing = 1 - its.competing;
  join(its.parked(), its.active(), its.competing);
  order_.insert(&its);
}

void PendingQueue::wake_held(Timestamp now) {
  while (!held_.empty() && held_.begin()->first <= now) push(*held_.begin()->second);
}

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

void PendingQueue::wake_released(Timestamp now) {
  for (Group* its : std::exchange(waiting_, {})) {
    its->waiting = false;
    if (!its->hurdles) wake(*its);
    drop_if_empty(*its);
  }
  wake_held(now);
}

void PendingQueue::wake_first(const HurdleIndex::Reach& reach) {
  const WorkloadState* competing = front();
  if (competing != nullptr && competing == preferred_) return;
  WorkloadState* first = hurdles_.first_within(reach);
  if (first != nullptr && (competing == nullptr || queued_before(*first, *competing))) wake(group_of(first->shape));
}

std::vector<const WorkloadState*> PendingQueue::list() const {
  std::vector<const WorkloadState*> all;
  all.reserve(active() + parked());
  for (const auto& [shape, its] : groups_) {
    for (const Members& side : its.sides) all.insert(all.end(), side.begin(), side.end());
  }
  for (const auto& [until, workload] : held_) all.push_back(workload);
  std::sort(all.begin(), all.end(),
            [&](const WorkloadState* a, const WorkloadState* b) { return comes_before(*a, *b); });
  return all;
}

bool PendingQueue::comes_before(const WorkloadState& a, const WorkloadState& b) const {
  if ((&a == preferred_) != (&b == preferred_)) return &a == preferred_;
  return queued_before(a, b);
}

PendingQueue::Ahead PendingQueue::ahead_of(const WorkloadState& workload, size_t most) const {
  std::vector<const WorkloadState*> before;
  const auto consider = [&](const WorkloadState* other) {
    if (other != &workload && comes_before(*other, workload)) before.push_back(other);
  };
  for (const auto& [shape, its] : groups_) {
    for (const Members& side : its.sides) {
      for (const WorkloadState* other : side) {
        if (other == preferred_) continue;
        if (!queued_before(*other, workload)) break;
        consider(other);
      }
    }
  }
  for (const auto& [until, other] : held_) {
    if (other != preferred_) consider(other);
  }
  if (preferred_ != nullptr) consider(preferred_);
  Ahead ahead{.count = before.size(), .first = {}};
  const auto end = before.begin() + static_cast<std::ptrdiff_t>(std::min(most, before.size()));
  std::partial_sort(before.begin(), end, before.end(),
                    [&](const WorkloadState* a, const WorkloadState* b) { return comes_before(*a, *b); });
  ahead.first.assign(before.begin(), end);
  return ahead;
}

const WorkloadState* PendingQueue::evaluated(const Shape& shape) const {
  const auto found = groups_.find(shape);
  if (found == groups_.end()) return nullptr;
  for (const Members& side : found->second.sides) {
    for (const WorkloadState* workload : side) {
      if (workload->refusal != nullptr) return workload;
    }
  }
  return nullptr;
}

}  // namespace muster
