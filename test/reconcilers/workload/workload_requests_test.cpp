// Which changes concern a Workload.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "kinds/kind_description.h"
#include "reconcilers/workload/workload.h"

namespace workload_requests_test {

using namespace muster;
using namespace muster::reconcilers;
using nlohmann::json;

// The Workload's own event, that it is being deleted, can come before the event of its job.
TEST_CASE("workload: the end of a job of any kind concerns its Workload, which then loses its finalizer") {
  state::ClusterState state{QueueSettings()};
  state.put(read_object(kWorkloads, {{"metadata",
                                      {{"namespace", "team-a"},
                                       {"name", "job-train"},
                                       {"uid", "workload-uid"},
                                       {"ownerReferences",
                                        {{{"apiVersion", "batch/v1"},
                                          {"kind", "Job"},
                                          {"name", "train"},
                                          {"uid", "job-uid"},
                                          {"controller", true}}}}}}}));
  std::vector<const ResourceType*> types = {&kJobs, &kJobSets};
  for (const KindDescriptionPtr& kind : described_kinds()) types.push_back(&kind->type());
  REQUIRE(types.size() > 10);
  for (const ResourceType* type : types) {
    CAPTURE(type->kind);
    const json job = {{"apiVersion", type->api_version},
                      {"kind", type->kind},
                      {"metadata", {{"namespace", "team-a"}, {"name", "train"}, {"uid", "job-uid"}}}};
    std::vector<ObjectKey> keys;
    workload_reconciler.requests_for(state, read_object(*type, job), keys);
    REQUIRE(keys.size() == 1);
    CHECK(to_text(keys[0]) == "workloads/team-a/job-train");
  }
}

}  // namespace workload_requests_test
