#include "api/codec/json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace json_test {

using muster::parse_json;
using nlohmann::json;

TEST_CASE("json: what Kubernetes would refuse is refused with a reason") {
  struct Row {
    std::string name;
    std::string text;
    const char* reason;
  };
  const Row rows[] = {
      {"nothing at all", "", "unexpected end of input"},
      {"cut off inside an object", R"({"a":)", "unexpected end of input"},
      {"something after the value", "{} {}", "expected end of input"},
      {"a repeated key", R"({"a":1,"a":2})", "duplicate key a"},
      {"a repeated key deep inside names its path", R"({"spec":{"jobs":[{},{"name":1,"name":2}]}})",
       "duplicate key spec.jobs[1].name"},
      {"invalid UTF-8 in a string", "{\"a\":\"\xff\"}", "ill-formed UTF-8"},
      {"a surrogate encoded as UTF-8", "{\"a\":\"\xed\xa0\x80\"}", "ill-formed UTF-8"},
      {"a number too large for a double", "[1e999]", "number overflow"},
      {"a comment", "{/* no */}", "syntax error"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    auto parsed = parse_json(row.text);
    REQUIRE_FALSE(parsed.ok());
    INFO(parsed.error().message);
    CHECK(parsed.error().message.find(row.reason) != std::string::npos);
  }
}

TEST_CASE("json: nesting is bounded and the bound itself is accepted") {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(parse_json(nested(10'000)).ok());
  auto deeper = parse_json(nested(10'001));
  REQUIRE_FALSE(deeper.ok());
  CHECK(deeper.error().message == "nested deeper than 10000 levels");
  CHECK_FALSE(parse_json(nested(1'000'000)).ok());
}

TEST_CASE("json: managedFields are left out, and what is wrong is told of the whole") {
  const auto parsed = muster::parse_without_managed_fields(R"({"metadata":{"managedFields":[{}],"name":"a"}})");
  REQUIRE(parsed.ok());
  CHECK(muster::to_text(*parsed) == R"({"metadata":{"name":"a"}})");
  const auto wrong = muster::parse_without_managed_fields(R"({"managedFields":[{}],"name":"a",})");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().message.find("column 34") != std::string::npos);
  const auto deep = muster::parse_without_managed_fields(R"({"managedFields":[],"a":[[[]]]})", {.max_depth = 3});
  REQUIRE_FALSE(deep.ok());
  CHECK(deep.error().message == "nested deeper than 3 levels");
}

TEST_CASE("json: values keep their types") {
  auto parsed = parse_json(R"({"n":null,"b":true,"i":-3,"u":18446744073709551615,"d":1.5,"s":"é","a":[1,{"x":[]}]})");
  REQUIRE(parsed.ok());
  CHECK(*parsed ==
        json::parse(R"({"n":null,"b":true,"i":-3,"u":18446744073709551615,"d":1.5,"s":"é","a":[1,{"x":[]}]})"));
}

TEST_CASE("json: reading at a path survives whatever stands there") {
  const json object = json::parse(R"({"metadata":{"name":"a","labels":{"q":"x","n":1}},"n":7,"list":[1],"b":true})");
  CHECK(muster::string_at(object, {"metadata", "name"}) == "a");
  CHECK(muster::string_at(object, {"metadata", "labels", "n"}).empty());
  CHECK(muster::string_at(object, {"metadata", "name", "deeper"}).empty());
  CHECK(muster::string_at(object, {"none"}).empty());
  CHECK(muster::int_at(object, {"n"}) == 7);
  CHECK(muster::int_at(object, {"b"}) == std::nullopt);
  CHECK(muster::int_at(json{{"n", UINT64_MAX}}, {"n"}) == std::nullopt);
  CHECK(muster::bool_at(object, {"b"}));
  CHECK_FALSE(muster::bool_at(object, {"n"}));
  CHECK(muster::array_at(object, {"list"}).size() == 1);
  CHECK(muster::array_at(object, {"n"}).empty());
  CHECK(muster::object_at(object, {"list"}).empty());
  CHECK(muster::label(object, "q") == "x");
  CHECK(muster::label(object, "n") == std::nullopt);
  CHECK(muster::annotation(object, "q") == std::nullopt);
}

}  // namespace json_test
