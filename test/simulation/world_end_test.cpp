// What holds in every state of every world is asked at its end, whatever its test is about.
#include <doctest/doctest.h>

#include "test/world/world.h"

namespace world_end_test {

using muster::world::World;

namespace {

[[maybe_unused]] const bool kInspects = [] {
  World::end_inspector() = [](const World& world) {
    if (!world.violations().empty()) FAIL_CHECK(world.report());
  };
  return true;
}();

}  // namespace

}  // namespace world_end_test
