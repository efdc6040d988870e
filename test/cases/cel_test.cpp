#include "test/cases/cel.h"

#include <doctest/doctest.h>

namespace cel_test {

using muster::test::evaluate_cel;
using nlohmann::json;

TEST_CASE("cel: the operators and macros of matchConditions mean what they mean to the API server") {
  const json variables = json::parse(R"({
      "object": {"metadata": {"name": "a-gang", "labels": {"kueue.x-k8s.io/queue-name": "q", "b": ""}},
                 "spec": {"sets": [{"n": 1}, {"min": 2}], "on": true}},
      "oldObject": null,
      "request": {"operation": "UPDATE", "userInfo": {"username": "alice"}}})");
  struct Row {
    std::string expression, outcome;
  };
  const Row rows[] = {
      {"true", "true"},
      {"oldObject == null", "true"},
      {"oldObject != null", "false"},
      {"object.metadata.name == 'a-gang'", "true"},
      {"object.metadata.labels['b'] == ''", "true"},
      {"object.metadata.name.endsWith('-gang')", "true"},
      {"object.metadata.name.startsWith('-gang')", "false"},
      {"has(object.metadata.labels) && object.metadata.labels.exists(k, k.startsWith('kueue.x-k8s.io/'))", "true"},
      {"object.metadata.labels.exists(k, k.startsWith('muster.batch/'))", "false"},
      {"'b' in object.metadata.labels", "true"},
      {"!('c' in object.metadata.labels)", "true"},
      {"request.userInfo.username in ['bob', 'alice']", "true"},
      {"request.userInfo.username in ['bob']", "false"},
      {"has(request.subResource)", "false"},
      {"object.spec.sets.exists(s, has(s.min))", "true"},
      {"object.spec.sets.exists(s, has(s.max))", "false"},
      {"object.spec.on", "true"},
      // && binds more tightly than ||.
      {"true || true && false", "true"},
      {"(true || true) && false", "false"},
      {"!has(object.spec) || object.spec.on == true", "true"},
      // What is not there is an error, unless the other side decides.
      {"has(object.status.conditions)", "no such key: status"},
      {"object.status == 1", "no such key: status"},
      {"oldObject.spec == 1", "no such key: spec"},
      {"object.status == 1 || true", "true"},
      {"true || object.status == 1", "true"},
      {"object.status == 1 || false", "no such key: status"},
      {"object.status == 1 && false", "false"},
      {"object.status == 1 && true", "no such key: status"},
      {"!(object.status == 1)", "no such key: status"},
      {"object.spec.sets.exists(s, s.n == 1)", "true"},
      {"object.spec.sets.exists(s, s.n == 7)", "no such key: n"},
      {"object.spec.sets", "is neither true nor false: [{\"n\":1},{\"min\":2}]"},
      {"object.spec.on.exists(s, true)", "exists() of true"},
      // What this part of CEL does not have.
      {"object.spec.sets.all(s, true)", "expected the end at \"(s, true)\""},
      {"object.spec.sets.size() > 1", "expected the end at \"() > 1\""},
      {"(true", "expected ) at \"\""},
      {"'open", "expected ' at \"open\""},
      {"", "expected a name at \"\""},
  };
  for (const Row& row : rows) {
    INFO(row.expression);
    const auto value = evaluate_cel(row.expression, variables);
    CHECK((value ? json(*value).dump() : value.error().message) == row.outcome);
  }
}

}  // namespace cel_test
