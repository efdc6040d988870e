#include "jobs/workload_name.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/support/recorded_gates.h"
#include "test/support/vectors.h"

namespace workload_name_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("workload name: a name too long is cut and keeps its hash") {
  const std::string long_name(300, 'a');
  const WorkloadOwner owner{"batch", "Job", long_name, "uid"};
  const WorkloadOwner other{"batch", "Job", long_name, "other"};
  const std::string name = workload_name(owner, "", 253);
  CHECK(name.size() == 253);
  CHECK(name.starts_with("job-aaa"));
  CHECK(name != workload_name(other, "", 253));
  CHECK(workload_name(owner, "", 63).size() == 63);
}

TEST_SUITE("vectors") {
  TEST_CASE("workload names are those that upstream gives") {
    const auto lines = muster::test::load_vectors("workload_names");
    for (const json& line : lines) {
      const json& input = line["input"];
      // muster makes no variants of a Workload (Kueue's gate ConcurrentAdmission).
      if (input["kind"] != "workload-name" || input.contains("variantFlavor")) continue;
      INFO(line["id"].get<std::string>());
      RuleSettings settings;
      muster::test::set_named_gates(input, settings.feature_gates);
      const jobs::WorkloadOwner owner{string_at(input, {"ownerGroup"}), string_at(input, {"ownerKind"}),
                                      string_at(input, {"ownerName"}), string_at(input, {"ownerUID"})};
      std::string extra(string_at(input, {"extra"}));
      if (const auto generation = int_at(input, {"generation"})) extra = std::to_string(*generation);
      const size_t max = jobs::max_workload_name(settings);
      CHECK(jobs::workload_name(owner, extra, max) == string_at(line["output"], {"name"}));
    }
  }
}

}  // namespace workload_name_test
