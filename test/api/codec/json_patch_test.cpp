#include "api/codec/json_patch.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

namespace json_patch_test {

using muster::json_diff;
using nlohmann::json;

TEST_CASE("json patch: the smallest operations that tell the difference") {
  struct Row {
    std::string name;
    const char* before;
    const char* after;
    const char* patch;
  };
  const Row rows[] = {
      {"nothing changed", R"({"a":[1,{"b":2}]})", R"({"a":[1,{"b":2}]})", "[]"},
      {"a value", R"({"a":1})", R"({"a":2})", R"([{"op":"replace","path":"/a","value":2}])"},
      {"a new field", R"({})", R"({"a":{"b":1}})", R"([{"op":"add","path":"/a","value":{"b":1}}])"},
      {"a field gone", R"({"a":1,"b":2})", R"({"b":2})", R"([{"op":"remove","path":"/a"}])"},
      {"slash and tilde in a key", R"({"a":{}})", R"({"a":{"x/y~z":1}})",
       R"([{"op":"add","path":"/a/x~1y~0z","value":1}])"},
      {"an element appended", R"({"l":[1,2]})", R"({"l":[1,2,3]})", R"([{"op":"add","path":"/l/2","value":3}])"},
      {"an element put in front is one add", R"({"l":[1,2]})", R"({"l":[0,1,2]})",
       R"([{"op":"add","path":"/l/0","value":0}])"},
      {"an element removed from the middle", R"({"l":[1,2,3]})", R"({"l":[1,3]})",
       R"([{"op":"remove","path":"/l/1"}])"},
      {"a field inside an element", R"({"l":[{"a":1,"b":1},{"a":2}]})", R"({"l":[{"a":1,"b":2},{"a":2}]})",
       R"([{"op":"replace","path":"/l/0/b","value":2}])"},
      {"another type", R"({"a":[]})", R"({"a":{}})", R"([{"op":"replace","path":"/a","value":{}}])"},
      {"null is a value", R"({"a":null})", R"({"a":1})", R"([{"op":"replace","path":"/a","value":1}])"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const json before = json::parse(row.before), after = json::parse(row.after);
    CHECK(json_diff(before, after) == json::parse(row.patch));
    CHECK(before.patch(json_diff(before, after)) == after);
  }
}

TEST_CASE("json patch: the deepest object that is accepted is compared without harm") {
  const int depth = 9'000;
  std::string text;
  for (int i = 0; i < depth; ++i) text += R"({"key":)";
  const json before = json::parse(text + "1" + std::string(depth, '}'));
  const json after = json::parse(text + "2" + std::string(depth, '}'));
  const json patch = json_diff(before, after);
  REQUIRE(patch.size() == 1);
  CHECK(patch[0]["op"] == "replace");
  CHECK(patch[0]["path"].get<std::string>().size() == 4 * depth);
}

namespace {
json any_json(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 5 : 3);
  if (kind == 0) return *rc::gen::inRange(0, 4);
  if (kind == 1) return std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 3)));
  if (kind == 2) return nullptr;
  const int size = *rc::gen::inRange(0, 5);
  json value = kind == 3 ? json::array() : json::object();
  for (int i = 0; i < size; ++i) {
    if (kind == 3)
      value.push_back(any_json(depth - 1));
    else
      value[std::string(1, "ab/~"[*rc::gen::inRange(0, 4)])] = any_json(depth - 1);
  }
  return value;
}
}  // namespace

TEST_CASE("json patch: applying the difference always gives the other value") {
  CHECK(rc::check("patch(before, diff(before, after)) == after", [] {
    const json before = any_json(3), after = any_json(3);
    RC_ASSERT(before.patch(json_diff(before, after)) == after);
  }));
}

}  // namespace json_patch_test
