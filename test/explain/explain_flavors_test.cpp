// What muster says of the flavors that a Workload has tried (KEP-2560).
#include "test/explain/reason_scenes.h"

namespace explain_flavors_test {

using namespace muster::test;

TEST_CASE("explain: which flavors were tried, for how long, why they failed and what comes next and when") {
  for (const ExplainRow& row : flavor_scenes()) check_row(row);
}

}  // namespace explain_flavors_test
