#include "explain/workload_indexes.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/workload.h"
#include "state/cluster_state.h"
#include "test/support/versioned_objects.h"

namespace workload_indexes_test {

using namespace muster;
using namespace muster::explain;
using namespace muster::state;
using nlohmann::json;
using namespace muster::test;

TEST_CASE("workload indexes: a Workload is found by its uid and the victims of a preemptor while they hold quota") {
  ClusterState state;
  const auto put = [&](const char* name, int version, const char* uid, const char* evicted, const char* reserved) {
    json object = {{"metadata", versioned_meta(name, version, uid)}, {"spec", {{"queueName", "q"}}}};
    const auto condition = [](const char* type, const char* status) {
      return json{{"type", type},
                  {"status", status},
                  {"reason", "r"},
                  {"message",
                   "Preempted to accommodate a workload (UID: high-uid, JobUID: j) due to prioritization in the "
                   "ClusterQueue; preemptor path: /q; preemptee path: /q"}};
    };
    object["status"]["conditions"] = {condition("Preempted", evicted), condition("Evicted", evicted),
                                      condition("QuotaReserved", reserved)};
    state.put_watched(read_object(kWorkloads, object));
  };
  put("b", 1, "b-uid", "False", "True");
  put("a", 2, "a-uid", "True", "True");
  CHECK(names_of(state.by(kVictimsByPreemptor, {"", "high-uid"})) == "a");
  put("b", 3, "b-uid", "True", "True");
  CHECK(names_of(state.by(kVictimsByPreemptor, {"", "high-uid"})) == "a b");
  CHECK(state.by(kVictimsByPreemptor, {"", "b-uid"}).empty());
  put("a", 4, "a-uid", "True", "False");
  CHECK(names_of(state.by(kVictimsByPreemptor, {"", "high-uid"})) == "b");
  state.remove({&kWorkloads, "team-a", "b"});
  CHECK(state.by(kVictimsByPreemptor, {"", "high-uid"}).empty());

  CHECK(names_of(state.by(kWorkloadsByUid, {"", "a-uid"})) == "a");
  CHECK(state.by(kWorkloadsByUid, {"", "b-uid"}).empty());
  // Another one of the same name.
  put("a", 5, "other-uid", "False", "False");
  CHECK(state.by(kWorkloadsByUid, {"", "a-uid"}).empty());
  CHECK_FALSE(state.by(kWorkloadsByUid, {"", "other-uid"}).empty());
}

}  // namespace workload_indexes_test
