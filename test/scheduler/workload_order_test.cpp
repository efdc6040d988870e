#include "scheduler/order/workload_order.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/support/vectors.h"

namespace workload_order_test {

using namespace muster;
using nlohmann::json;

TEST_SUITE("vectors") {
  TEST_CASE("backoff: the place in the queue is by the timestamp that the configuration names") {
    const auto lines = muster::test::load_vectors("backoff");
    for (const json& line : lines) {
      const json& input = line["input"];
      if (input["kind"] != "orderTimestamp") continue;
      const std::string id = line["id"];
      CAPTURE(id);
      const auto by = input["timestamp"] == "Creation" ? RequeuingStrategy::Timestamp::kCreation
                                                       : RequeuingStrategy::Timestamp::kEviction;
      const json* gate = find_path(input, {"featureGates", "PrioritySortingWithinCohort"});
      const Timestamp time =
          scheduler::order_timestamp(*read_workload(input["workload"]), by, gate == nullptr || gate->get<bool>());
      std::string text = format_rfc3339_micro(time);
      text.replace(text.find('.') + 4, 3, "");
      CHECK(text == line["output"]["timestamp"]);
    }
  }
}

}  // namespace workload_order_test
