#include "jobs/queued_job.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace queued_job_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("pods that are too many to count are as many as can be") {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  struct Row {
    int replicas;
    int parallelism;
    int32_t count;
  };
  // The first product is 2 in 32 bits.
  for (const Row& row : {Row{3, 1431655766, kMost}, Row{65536, 65536, kMost}, Row{kMost, 1, kMost}, Row{2, 3, 6}}) {
    const TypedObject object = read_object(
        kJobSets,
        {{"metadata", {{"name", "train"}, {"uid", "u"}}},
         {"spec",
          {{"replicatedJobs", json::array({{{"name", "w"},
                                            {"replicas", row.replicas},
                                            {"template",
                                             {{"spec",
                                               {{"parallelism", row.parallelism},
                                                {"template", {{"spec", {{"containers", json::array()}}}}}}}}}}})}}},
         {"status", {{"replicatedJobsStatus", json::array({{{"name", "w"}, {"succeeded", row.replicas}}})}}}});
    const QueuedJob job(jobset, object);
    REQUIRE(job.pod_set_shapes({}).size() == 1);
    CHECK(job.pod_set_shapes({})[0].count == row.count);
    REQUIRE(job.reclaimable_pods().size() == 1);
    CHECK(job.reclaimable_pods()[0].count == row.count);
  }
}

}  // namespace queued_job_test
