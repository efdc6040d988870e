#include "base/shared_map.h"

#include <doctest/doctest.h>

namespace shared_map_test {

using muster::SharedMap;

TEST_CASE("shared map: values are set, replaced and erased") {
  SharedMap<int> map;
  CHECK(map.find("a") == nullptr);
  map.set("a", 1);
  map.set("a", 2);
  map.set("b", 3);
  CHECK(*map.find("a") == 2);
  CHECK(map.size() == 2);
  map.erase("a");
  map.erase("a");
  CHECK(map.find("a") == nullptr);
  CHECK(map.size() == 1);
}

TEST_CASE("shared map: a copy is unaffected by later changes of either side") {
  SharedMap<int> one;
  for (int i = 0; i < 1000; ++i) one.set("k" + std::to_string(i), i);
  SharedMap<int> two = one;
  one.set("k7", -1);
  two.erase("k8");
  CHECK(*one.find("k7") == -1);
  CHECK(*two.find("k7") == 7);
  CHECK(*one.find("k8") == 8);
  CHECK(two.size() == 999);
  int sum = 0;
  one.for_each([&](const std::string&, int) { ++sum; });
  CHECK(sum == 1000);
}

}  // namespace shared_map_test
