#include "kinds/value_path.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace value_path_test {

using namespace muster;
using nlohmann::json;

TEST_CASE("value paths: what is one, and what is none") {
  for (const char* good : {"spec.suspend", "spec.x[Worker].replicas", "a[b.c/d][e]", "status.list.*.state", "spec_1-x"})
    CHECK_MESSAGE(ValuePath::parse(good).ok(), good);
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a b", "a[", "a[]", "a[b", "a[b]c", "a.**", "a.b*", "[x]",
                          "a.b.c.d.e.f.g.h.i.j.k.l.m"})
    CHECK_MESSAGE(!ValuePath::parse(bad).ok(), bad);
  CHECK(ValuePath::parse("a[b.c].d")->steps() == std::vector<std::string>{"a", "b.c", "d"});
  CHECK(ValuePath::parse("a.*.b")->has_wildcard());
  CHECK_FALSE(ValuePath::parse("a[x].b")->has_wildcard());
}

TEST_CASE("value paths: finding and setting leave other shapes alone") {
  const ValuePath path = *ValuePath::parse("spec.run.suspend");
  json object = {{"spec", {{"run", {{"suspend", true}}}}}};
  REQUIRE(path.find(object) != nullptr);
  CHECK(*path.find(object) == true);
  CHECK(path.set(object, false));
  CHECK(object == json{{"spec", {{"run", {{"suspend", false}}}}}});
  json empty = json::object();
  CHECK(path.find(empty) == nullptr);
  CHECK(path.set(empty, 1));
  CHECK(empty == json{{"spec", {{"run", {{"suspend", 1}}}}}});
  for (const json& wrong : {json{{"spec", 3}}, json{{"spec", {{"run", json::array()}}}}, json::array(), json("x")}) {
    json kept = wrong;
    CHECK(path.find(kept) == nullptr);
    CHECK_FALSE(path.set(kept, true));
    CHECK(kept == wrong);
  }
  CHECK(ValuePath().find(object) == nullptr);
  CHECK_FALSE(ValuePath().set(object, 1));
  CHECK(path.patch(true) == json{{"spec", {{"run", {{"suspend", true}}}}}});
}

TEST_CASE("value paths: a wildcard visits elements of lists and maps, and no more than its bound") {
  const auto all = [](const char* path, const json& object) {
    json found = json::array();
    ValuePath::parse(path)->for_each(object, [&](const json& value) {
      found.push_back(value);
      return true;
    });
    return found;
  };
  const json object = {{"list", {{{"n", 1}}, {{"n", 2}}, 7}}, {"map", {{"a", {{"n", 3}}}, {"b", {{"m", 4}}}}}};
  CHECK(all("list.*.n", object) == json{1, 2});
  CHECK(all("map.*.n", object) == json{3});
  CHECK(all("map.*", object).size() == 2);
  CHECK(all("none.*.n", object).empty());
  CHECK(all("list.*.n.*", object).empty());
  json large = {{"list", json::array()}};
  for (size_t i = 0; i < 3 * ValuePath::kMostElements; ++i) large["list"].push_back(i);
  CHECK(all("list.*", large).size() == ValuePath::kMostElements);
}

}  // namespace value_path_test
