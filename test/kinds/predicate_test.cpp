#include "kinds/predicate.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace predicate_test {

using namespace muster;
using nlohmann::json;

namespace {

bool holds(const json& test, const json& object) {
  FieldErrors errors;
  const Predicate read = read_predicate(test, FieldPath("active"), errors);
  CHECK(errors.empty());
  return read.holds(object);
}

std::string errors_of(const json& test) {
  FieldErrors errors;
  read_predicate(test, FieldPath("active"), errors);
  std::string text;
  for (const FieldError& error : errors) text += error.text() + "\n";
  return text;
}

}  // namespace

TEST_CASE("predicates: fields, conditions, and their combinations") {
  const json object = {
      {"status",
       {{"state", "RUNNING"},
        {"active", {{"a", 0}, {"b", 2}}},
        {"conditions",
         {{{"type", "Ready"}, {"status", "True"}, {"reason", "X"}}, {{"type", "Old"}, {"status", "False"}}}}}}};
  struct Row {
    json test;
    bool wanted;
  };
  const Row rows[] = {
      {{{"path", "status.state"}, {"in", {"RUNNING", "DONE"}}}, true},
      {{{"path", "status.state"}, {"in", {"DONE"}}}, false},
      {{{"path", "status.none"}, {"in", {""}}}, false},
      {{{"path", "status.state"}, {"notIn", {"", "NEW"}}}, true},
      {{{"path", "status.none"}, {"notIn", {"", "NEW"}}}, false},
      {{{"path", "status.none"}, {"notIn", {"NEW"}}}, true},
      {{{"path", "status.active.*"}, {"nonzero", true}}, true},
      {{{"path", "status.active.a"}, {"nonzero", true}}, false},
      {{{"path", "status.active.b"}, {"in", {2}}}, true},
      {{{"condition", "Ready"}}, true},
      {{{"condition", "Ready"}, {"reason", "X"}}, true},
      {{{"condition", "Ready"}, {"reason", "Y"}}, false},
      {{{"condition", "Old"}}, false},
      {{{"condition", "Old"}, {"status", "False"}}, true},
      {{{"all", {{{"condition", "Ready"}}, {{"condition", "Old"}}}}}, false},
      {{{"any", {{{"condition", "Ready"}}, {{"condition", "Old"}}}}}, true},
      {{{"not", {{"condition", "Old"}}}}, true},
  };
  for (const Row& row : rows) CHECK_MESSAGE(holds(row.test, object) == row.wanted, row.test.dump());
  for (const Row& row : rows) CHECK_NOTHROW(holds(row.test, json::array({1})));
}

TEST_CASE("predicates: what is wrong is told with its place") {
  struct Row {
    json test;
    const char* said;
  };
  const Row rows[] = {
      {"x", "active"},
      {json::object(), "active"},
      {{{"path", "a b"}, {"in", {"x"}}}, "active.path"},
      {{{"path", "a"}}, "active.in"},
      {{{"path", "a"}, {"in", json::array()}}, "active.in"},
      {{{"path", "a.*"}, {"notIn", {"x"}}}, "active.notIn"},
      {{{"path", "a"}, {"in", {"x"}}, {"tehn", 1}}, "active.tehn"},
      {{{"condition", 3}}, "active.condition"},
      {{{"all", {{{"condition", "A"}, {"stats", "B"}}}}}, "active.all[0].stats"},
      {{{"any", json::array()}}, "active.any"},
      {{{"not", {{"not", {{"not", {{"not", {{"not", {{"condition", "A"}}}}}}}}}}}}, "deep"},
  };
  for (const Row& row : rows)
    CHECK_MESSAGE(errors_of(row.test).find(row.said) != std::string::npos, row.test.dump(), ": ", errors_of(row.test));
}

}  // namespace predicate_test
