#include "jobs/edit.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace edit_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("a label is set whether or not there are labels") {
  struct Row {
    std::string name;
    json before, after;
  };
  const Row rows[] = {
      {"no metadata", json::object(), {{"metadata", {{"labels", {{"a", "b"}}}}}}},
      {"no labels", {{"metadata", json::object()}}, {{"metadata", {{"labels", {{"a", "b"}}}}}}},
      {"null labels", {{"metadata", {{"labels", nullptr}}}}, {{"metadata", {{"labels", {{"a", "b"}}}}}}},
      {"other labels",
       {{"metadata", {{"labels", {{"c", "d"}}}}}},
       {{"metadata", {{"labels", {{"a", "b"}, {"c", "d"}}}}}}},
      {"an older value", {{"metadata", {{"labels", {{"a", "x"}}}}}}, {{"metadata", {{"labels", {{"a", "b"}}}}}}},
      {"labels that are no object stay", {{"metadata", {{"labels", 7}}}}, {{"metadata", {{"labels", 7}}}}},
      {"metadata that is no object stays", {{"metadata", "text"}}, {{"metadata", "text"}}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    json object = row.before;
    set_label(object, "a", "b");
    CHECK(object == row.after);
  }
}

TEST_CASE("only objects and arrays that exist are handed out") {
  json value = {{"list", {1, 2}}, {"map", {{"inner", json::object()}}}, {"text", "x"}};
  CHECK(existing_array(value, {"list"}) == &value["list"]);
  CHECK(existing_object(value, {"map", "inner"}) == &value["map"]["inner"]);
  CHECK(existing_array(value, {"map"}) == nullptr);
  CHECK(existing_object(value, {"list"}) == nullptr);
  CHECK(existing_object(value, {"text", "inner"}) == nullptr);
  CHECK(existing_object(value, {"missing"}) == nullptr);
  CHECK_FALSE(value.contains("missing"));
}

}  // namespace edit_test
