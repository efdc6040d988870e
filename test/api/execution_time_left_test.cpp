#include <doctest/doctest.h>

#include "api/workload.h"

namespace execution_time_left_test {

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("execution time left: the limit without earlier admissions and the present one") {
  Workload workload;
  CHECK_FALSE(execution_time_left(workload, 1h).has_value());
  workload.maximum_execution_seconds = 100;
  workload.status.accumulated_past_execution_seconds = 30;
  CHECK(execution_time_left(workload, Duration::zero()) == Duration(70s));
  CHECK(execution_time_left(workload, 1500ms) == Duration(68'500ms));
  CHECK(execution_time_left(workload, 70s) == Duration::zero());
  CHECK(execution_time_left(workload, 71s) == Duration(-1s));
  // The longest limit of the API does not overflow.
  workload.maximum_execution_seconds = INT32_MAX;
  CHECK(execution_time_left(workload, Duration::zero()) == Duration(std::chrono::seconds(int64_t{INT32_MAX} - 30)));
}

}  // namespace execution_time_left_test
