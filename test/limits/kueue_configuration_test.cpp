#include <doctest/doctest.h>

#include <string>

#include "test/limits/muster_process.h"
#include "test/support/vectors.h"

using namespace muster::test;

TEST_CASE("Kueue's configuration as it is shipped starts the process, which says what has no effect") {
  const Muster muster(nullptr, 0, read_source_file("test/support/kueue_as_shipped.yaml"));
  const std::string log = muster.log();
  CHECK(log.find("muster does not queue") == std::string::npos);
  CHECK(log.find("controller.groupKindConcurrency") != std::string::npos);
}
