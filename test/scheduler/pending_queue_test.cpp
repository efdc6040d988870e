#include "scheduler/order/pending_queue.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>

#include "scheduler/state.h"
#include "test/scheduler/scheduler_fixture.h"

namespace pending_queue_test {

using namespace muster;
using namespace muster::scheduler;

namespace {

std::unique_ptr<WorkloadState> waiting(const std::string& name, int32_t priority, uint64_t shape) {
  auto state = std::make_unique<WorkloadState>();
  state->object = std::make_shared<const Workload>(test::workload(name, "a", priority));
  state->rank = priority;
  state->shape = {0, shape};
  return state;
}

}  // namespace

TEST_CASE("pending queue: higher priority first and then the older one and then the smaller uid") {
  PendingQueue queue;
  const auto low = waiting("a", 1, 1), high = waiting("b", 2, 2), equal = waiting("c", 2, 3), old = waiting("d", 2, 4);
  old->queued_since = {-5, 0};
  for (const auto* workload : {&low, &equal, &high, &old}) {
    (*workload)->queued_since = workload == &old ? Timestamp{-5, 0} : Timestamp{0, 0};
    queue.push(**workload);
  }
  for (const auto* expected : {&old, &high, &equal, &low}) {
    CHECK(queue.front() == expected->get());
    queue.remove(**expected);
  }
  CHECK(queue.front() == nullptr);
}

TEST_CASE("pending queue: a preferred Workload comes before all others while it competes") {
  PendingQueue queue;
  const auto high = waiting("a", 9, 1), low = waiting("b", 1, 2);
  queue.push(*high);
  queue.push(*low);
  queue.prefer(low.get());
  CHECK(queue.front() == low.get());
  queue.park(*low);
  CHECK(queue.front() == high.get());
}

TEST_CASE("pending queue: a Workload that changes its place keeps its last result") {
  PendingQueue queue;
  const auto workload = waiting("a", 1, 1);
  CHECK_FALSE(workload->in_queue());
  queue.push(*workload);
  workload->waiting().refusal = std::make_unique<LastAttempt>();
  queue.hold_back(*workload, {5, 0});
  CHECK(workload->is_held_back());
  queue.wake({4, 0});
  CHECK_FALSE(queue.competes(*workload));
  queue.wake({5, 0});
  CHECK(queue.competes(*workload));
  queue.remove(*workload);
  CHECK_FALSE(workload->in_queue());
  queue.park(*workload);
  CHECK(workload->in_queue());
  CHECK(workload->waiting().refusal != nullptr);
}

TEST_CASE("pending queue: a refused shape is parked whole and so is what comes in it later") {
  PendingQueue queue;
  const auto one = waiting("a", 1, 7), two = waiting("b", 1, 7), other = waiting("c", 1, 8);
  for (const auto* workload : {&one, &two, &other}) queue.push(**workload);
  queue.refuse_shape(one->shape);
  queue.await(one->shape, {{0, 5}});
  CHECK(queue.active() == 1);
  CHECK(queue.parked() == 2);
  CHECK(queue.front() == other.get());
  CHECK(queue.refused(two->shape));
  queue.wake_released({});
  CHECK(queue.refused(two->shape));
  queue.wake_first([](CapacityKey) { return 4; });
  CHECK(queue.refused(two->shape));
  queue.wake({});
  CHECK_FALSE(queue.refused(two->shape));
  CHECK(queue.active() == 3);
}

TEST_CASE("pending queue: what is held back wakes when its time has come and not before") {
  PendingQueue queue;
  const auto later = waiting("a", 1, 1), never = waiting("b", 1, 1);
  queue.hold_back(*later, {100, 0});
  queue.hold_back(*never, {});
  queue.wake({99, 0});
  CHECK(queue.front() == nullptr);
  queue.wake({100, 0});
  CHECK(queue.front() == later.get());
  CHECK(queue.active() == 1);
  CHECK(queue.parked() == 1);
}

// The model is a list of who competes and who is parked.
TEST_CASE("pending queue: any sequence of pushes and parkings and refusals and wakings keeps the order") {
  const bool holds = rc::check([] {
    constexpr int kCount = 12;
    PendingQueue queue;
    std::vector<std::unique_ptr<WorkloadState>> all;
    for (int i = 0; i < kCount; ++i) all.push_back(waiting("w" + std::to_string(i), i * 7 % 5, i % 3));
    std::map<WorkloadState*, bool> competes;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 5), rc::gen::inRange(0, kCount)));
    for (const auto& [step, which] : steps) {
      WorkloadState* workload = all[which].get();
      if (step == 0) {
        queue.push(*workload);
        competes[workload] = true;
      } else if (step == 1) {
        queue.park(*workload);
        competes[workload] = false;
      } else if (step == 2) {
        queue.remove(*workload);
        competes.erase(workload);
      } else if (step == 3) {
        queue.refuse_shape(workload->shape);
        for (auto& [other, active] : competes) active = active && !(other->shape == workload->shape);
      } else {
        queue.wake({});
        for (auto& [other, active] : competes) active = true;
      }
      WorkloadState* best = nullptr;
      size_t active = 0;
      for (const auto& [other, is_active] : competes) {
        RC_ASSERT(queue.competes(*other) == is_active);
        if (!is_active) continue;
        ++active;
        if (best == nullptr || queued_before(*other, *best)) best = other;
      }
      RC_ASSERT(queue.front() == best);
      RC_ASSERT(queue.active() == active);
      RC_ASSERT(queue.parked() == competes.size() - active);
    }
  });
  CHECK(holds);
}

TEST_CASE("pending queue: of shapes that wait for quota only the first wakes when its condition is met") {
  PendingQueue queue;
  const auto small = waiting("a", 1, 1), large = waiting("b", 5, 2), medium = waiting("c", 3, 3);
  for (const auto* workload : {&small, &large, &medium}) {
    queue.push(**workload);
    queue.refuse_shape((*workload)->shape);
  }
  queue.await(small->shape, {{0, 2}});
  queue.await(large->shape, {{0, 8}});
  queue.await(medium->shape, {{0, 4}});
  queue.wake_first([](CapacityKey) { return 5; });
  CHECK(queue.front() == medium.get());
  CHECK(queue.active() == 1);
  // One that comes after the front is not needed yet.
  queue.wake_first([](CapacityKey) { return 5; });
  CHECK(queue.active() == 1);
  queue.remove(*medium);
  queue.wake_first([](CapacityKey) { return 1; });
  CHECK(queue.front() == nullptr);
  queue.wake({});
  CHECK(queue.front() == large.get());
  CHECK(queue.active() == 2);
}

TEST_CASE("pending queue: a shape that waits for quota is known by the first of it that is left") {
  PendingQueue queue;
  const auto first = waiting("a", 9, 1), second = waiting("b", 3, 1), other = waiting("c", 5, 2);
  for (const auto* workload : {&first, &other}) {
    queue.push(**workload);
    queue.refuse_shape((*workload)->shape);
    queue.await((*workload)->shape, {{0, 2}});
  }
  queue.park(*second);
  queue.remove(*first);
  queue.wake_first([](CapacityKey) { return 2; });
  CHECK(queue.front() == other.get());
  queue.remove(*other);
  queue.wake_first([](CapacityKey) { return 2; });
  CHECK(queue.front() == second.get());
  queue.remove(*second);
  queue.wake_first([](CapacityKey) { return 2; });
  CHECK(queue.front() == nullptr);
}

}  // namespace pending_queue_test
