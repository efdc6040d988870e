#include "jobs/size_limit.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/meta/resource_type.h"

namespace muster::jobs::size_limit_test {
namespace {

AdmissionRequest with(size_t replicated_jobs, std::string_view group = kJobSets.group) {
  AdmissionRequest request;
  request.group = group;
  request.object = {{"spec", {{"replicatedJobs", nlohmann::json(replicated_jobs, nlohmann::json::object())}}}};
  return request;
}

}  // namespace

TEST_CASE("a JobSet of more replicated jobs than anybody needs is refused before any rule looks at it") {
  CHECK_FALSE(beyond_size_limit(with(10'000)).has_value());
  const auto error = beyond_size_limit(with(10'001));
  REQUIRE(error.has_value());
  CHECK(error->text() == "spec.replicatedJobs: Too many: 10001: must have at most 10000 items");
  CHECK_FALSE(beyond_size_limit(with(10'001, "example.com")).has_value());
}

}  // namespace muster::jobs::size_limit_test
