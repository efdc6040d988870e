// The same table is read by the test of the dashboard's page (commands/dashboard/page/test).
#include "api/meta/readable_quantity.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/support/files.h"

namespace muster::readable_quantity_test {

TEST_CASE("readable quantity: the table that the dashboard's page has too") {
  const auto table = nlohmann::json::parse(
      test::read_file(std::string(MUSTER_SOURCE_DIR) + "/test/api/meta/readable_quantities.json"));
  CHECK(table.size() > 30);
  for (const auto& row : table) {
    const std::string resource = row[0], text = row[1], wanted = row[2];
    CHECK_MESSAGE(readable_quantity(resource, text) == wanted, resource, " ", text);
  }
}

TEST_CASE("readable quantity: what is no quantity, or no size that anything has, stays readable") {
  CHECK(readable_quantity("cpu", "?") == "?");
  CHECK(readable_quantity("cpu", Quantity()) == "0");
  CHECK(readable_quantity("memory", "9223372036854775807") == "8Ei");
  CHECK(readable_quantity("memory", "1e40").find("Ei") != std::string::npos);
  CHECK(readable_quantity("cpu", "1e40").find('.') == std::string::npos);
  CHECK(readable_quantity("pods", "1e40").find('E') != std::string::npos);
}

}  // namespace muster::readable_quantity_test
