#include "api/codec/member_texts.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"

namespace member_texts_test {

using namespace muster;
using nlohmann::json;

TEST_CASE("the members of an object are read from its text as a parser reads them") {
  const json objects[] = {
      json::object(),
      {{"a", 1}},
      {{"", ""}, {"a", nullptr}, {"b", true}, {"c", -1.5}},
      {{"a", "x,}]"}, {"b", "\\"}, {"c", "\\\""}, {"d", "\"\\\\\""}, {"e", "\",\"f\":{"}},
      {{"a", json::array()}, {"b", {{"c", {1, "]", {{"d", "}"}}}}}}, {"c", json::array({"[", "{"})}},
      {{"k\"ey\\", {{"k\"", "v"}}}, {"\n", "\n"}},
  };
  for (const json& object : objects) {
    json read = json::object();
    for_each_member(to_text(object), [&](std::string_view name, std::string_view value) {
      read[json::parse("\"" + std::string(name) + "\"").get<std::string>()] = json::parse(value);
    });
    CHECK(read == object);
  }
}

TEST_CASE("the members of what is no object end") {
  const std::string text = to_text(json{{"a", {"b\\\"", {{"c", "d"}}}}, {"e", "f"}});
  for (size_t length = 0; length <= text.size(); ++length) {
    for_each_member(std::string_view(text).substr(0, length), [](std::string_view, std::string_view) {});
    for_each_member(std::string_view(text).substr(length), [](std::string_view, std::string_view) {});
  }
}

}  // namespace member_texts_test
