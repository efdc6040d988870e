#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/reconcilers/job/job_vectors.h"
#include "test/support/vectors.h"

namespace job_workload_vectors_test {

using namespace muster;
using nlohmann::json;

TEST_SUITE("vectors") {
  TEST_CASE("jobs and their Workloads take the steps that upstream takes") {
    const auto lines = muster::test::load_vectors("job_workload");
    for (const json& line : lines) {
      INFO(line["id"].get<std::string>(), " ", line.value("case", ""));
      muster::test::check_job_line(line);
    }
  }
}

}  // namespace job_workload_vectors_test
