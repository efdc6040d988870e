// The recorded behaviour of Kueue's hooks for Jobs, JobSets and described kinds: webhook_vectors.h.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "test/support/unrecorded_kinds.h"
#include "test/support/vectors.h"
#include "test/validators/webhook_vectors.h"

namespace job_webhook_vectors_test {

using namespace muster;
using nlohmann::json;
using test::check_line;

TEST_SUITE("vectors") {
  TEST_CASE("jobs of described kinds are changed and refused as by the recorded hooks") {
    std::set<std::string> seen;
    for (const json& line : test::load_vectors("job_kinds")) {
      const json& object = object_at(line, {"input", "object"});
      const std::string kind(string_at(object, {"kind"}));
      if (find_described_kind(group_of(string_at(object, {"apiVersion"})), kind) == nullptr) continue;
      seen.insert(kind);
      INFO(line.at("id").get<std::string>(), " ", line.value("case", ""));
      check_line(line.at("input"), line.at("output"));
    }
    CHECK(test::kinds_without_lines(seen) == std::set<std::string>());
  }

  TEST_CASE("Jobs and JobSets are changed and refused as by the recorded hooks") {
    const auto lines = test::load_vectors("job_webhook");
    for (const json& line : lines) {
      INFO(line.at("id").get<std::string>());
      check_line(line.at("input"), line.at("output"));
    }
  }
}

}  // namespace job_webhook_vectors_test
