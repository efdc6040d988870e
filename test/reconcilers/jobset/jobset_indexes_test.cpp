#include "reconcilers/jobset/jobset_indexes.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/jobset.h"
#include "state/cluster_state.h"
#include "test/support/versioned_objects.h"

namespace jobset_indexes_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::state;
using nlohmann::json;
using namespace muster::test;

namespace {

TypedObject jobset(const char* name, int version, const char* subdomain = "") {
  json object = {{"metadata", versioned_meta(name, version)}, {"spec", {{"network", {{"subdomain", subdomain}}}}}};
  return read_object(kJobSets, object);
}

}  // namespace

TEST_CASE("jobset indexes: JobSets are found by the Service that they use") {
  ClusterState state;
  state.put_watched(jobset("a", 1, "shared"));
  state.put_watched(jobset("b", 2, "shared"));
  state.put_watched(jobset("c", 3));
  CHECK(state.by(kJobSetsBySubdomain, {"team-a", "shared"}).size() == 2);
  REQUIRE(state.by(kJobSetsBySubdomain, {"team-a", "c"}).size() == 1);
  CHECK(state.by(kJobSetsBySubdomain, {"team-a", "c"})[0]->meta.name == "c");
}

}  // namespace jobset_indexes_test
