#include <doctest/doctest.h>

#include <string>

#include "test/limits/muster_process.h"
#include "test/support/vectors.h"

using namespace muster::test;

TEST_CASE("Kueue's configuration as it is shipped starts the process, which says once what it does not queue") {
  const Muster muster(nullptr, 0, read_source_file("test/support/kueue_as_shipped.yaml"));
  const std::string log = muster.log(), told = "muster does not queue ray.io/rayjob, ";
  const size_t first = log.find(told);
  CHECK(first != std::string::npos);
  CHECK(log.find("muster does not queue", first + 1) == std::string::npos);
  CHECK(log.find("controller.groupKindConcurrency") != std::string::npos);
}
