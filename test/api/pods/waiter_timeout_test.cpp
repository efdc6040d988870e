#include "api/pods/waiter_timeout.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::waiter_timeout_test {

TEST_CASE("waiter timeout: what the waiter itself refuses is no timeout") {
  struct Row {
    const char* args;
    std::optional<int64_t> seconds;
  };
  const Row rows[] = {
      {R"(["--dir=/x", "--timeout-seconds=300"])", 300},
      {R"(["--timeout-seconds=1"])", 1},
      {R"(["--timeout-seconds=2147483647"])", 2147483647},
      {R"(["--timeout-seconds=2147483648"])", std::nullopt},
      {R"(["--timeout-seconds=9223372036854775807"])", std::nullopt},
      {R"(["--timeout-seconds=0"])", std::nullopt},
      {R"(["--timeout-seconds=-5"])", std::nullopt},
      {R"(["--timeout-seconds=5m"])", std::nullopt},
      {R"(["--timeout-seconds="])", std::nullopt},
      {R"([7, {"a": "--timeout-seconds=3"}])", std::nullopt},
      {R"("--timeout-seconds=3")", std::nullopt},
      {R"([])", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.args);
    CHECK(waiter_timeout_seconds({{"args", nlohmann::json::parse(row.args)}}) == row.seconds);
  }
  CHECK_FALSE(waiter_timeout_seconds(nlohmann::json::object()));
}

}  // namespace muster::waiter_timeout_test
