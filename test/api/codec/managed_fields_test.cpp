#include "api/codec/managed_fields.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/json.h"

namespace managed_fields_test {

using muster::without_managed_fields;
using nlohmann::json;

namespace {

// Without what without_managed_fields takes away.
json pruned(json value) {
  if (value.is_object()) {
    if (const auto fields = value.find("managedFields"); fields != value.end() && fields->is_array())
      value.erase(fields);
  }
  if (value.is_structured()) {
    for (json& child : value) child = pruned(child);
  }
  return value;
}

// Of keys and strings that look like what is searched for.
std::string any_text() {
  return *rc::gen::elementOf(std::vector<std::string>{"managedFields", "a", "managedFields\":[",
                                                      ",\"managedFields\":[1]", ",\"managedFields", "[", "]", "\\\"",
                                                      "\\", "é"});
}

json any_json(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 3);
  if (kind == 0) return *rc::gen::inRange(0, 1000);
  if (kind == 1) return any_text();
  if (kind == 2) return nullptr;
  json value = kind == 3 ? json::array() : json::object();
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    if (kind == 3)
      value.push_back(any_json(depth - 1));
    else
      value[any_text()] = any_json(depth - 1);
  }
  return value;
}

}  // namespace

TEST_CASE("managed fields: arrays of that name are cut out with one comma, and nothing else") {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"metadata":{"managedFields":[{"a":{"b":[1,{}]}},"]","\"]"],"name":"n"},"spec":{"a":1}})",
       R"({"metadata":{"name":"n"},"spec":{"a":1}})"},
      {R"({"a":{"labels":{},"managedFields":[]},"b":1})", R"({"a":{"labels":{}},"b":1})"},
      {R"({"managedFields":[]})", R"({})"},
      {R"({"a":1,"managedFields":[],"b":2})", R"({"a":1,"b":2})"},
      {R"([{"managedFields":[1]},{"managedFields":[2]}])", R"([{},{}])"},
      {R"({"managedFields":null})", R"({"managedFields":null})"},
      {R"({"managedFields":"[]"})", R"({"managedFields":"[]"})"},
      {R"({"a\"managedFields":[1],"b":2})", R"({"a\"managedFields":[1],"b":2})"},
      {R"({"a":"\"managedFields\":[1]"})", R"({"a":"\"managedFields\":[1]"})"},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    CHECK(without_managed_fields(row.first) == row.second);
  }
}

TEST_CASE("managed fields: text that ends too early is left as it is") {
  for (const char* text : {"", R"("managedFields":[)", R"({"managedFields":[)", R"({"managedFields":["a)",
                           R"({"managedFields":["a\)", R"({"managedFields":[[])"}) {
    INFO(text);
    CHECK(without_managed_fields(text) == text);
  }
}

TEST_CASE("managed fields: any JSON without them reads as if they had been taken out after reading") {
  CHECK(rc::check("parse(without(text(x))) == pruned(x)", [] {
    const json value = any_json(5);
    const auto parsed = muster::parse_json(without_managed_fields(value.dump()));
    RC_ASSERT(parsed.ok());
    RC_ASSERT(*parsed == pruned(value));
  }));
}

}  // namespace managed_fields_test
