#include "reconcilers/job/job_indexes.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "kinds/described_job.h"
#include "kinds/kind_description.h"
#include "state/cluster_state.h"
#include "test/support/versioned_objects.h"

namespace job_indexes_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::state;
using nlohmann::json;
using namespace muster::test;

TEST_CASE("job indexes: jobs of any kind are found by the Workload that they name") {
  ClusterState state;
  const auto naming = [](TypedObject (*make)(int, json)) {
    return [make](int version, const char* annotated, const char* labelled) {
      json metadata = versioned_meta("job", version);
      if (annotated != nullptr) metadata["annotations"] = {{"kueue.x-k8s.io/prebuilt-workload-name", annotated}};
      if (labelled != nullptr) metadata["labels"] = {{"kueue.x-k8s.io/prebuilt-workload-name", labelled}};
      return make(version, {{"metadata", metadata}});
    };
  };
  const auto job = naming([](int, json object) { return read_object(kJobs, object); });
  const auto jobset = naming([](int, json object) { return read_object(kJobSets, object); });
  const auto workload = naming([](int, json object) { return read_object(kWorkloads, object); });
  state.put_watched(job(1, "one", nullptr));
  state.put_watched(jobset(2, "one", "two"));
  state.put_watched(workload(3, "one", nullptr));
  CHECK(state.by(kJobsByPrebuiltWorkload, {"team-a", "one"}).size() == 2);
  REQUIRE(state.by(kJobsByPrebuiltWorkload, {"team-a", "two"}).size() == 1);
  CHECK(key_of(*state.by(kJobsByPrebuiltWorkload, {"team-a", "two"})[0]) == ObjectKey{&kJobSets, "team-a", "job"});
  CHECK(state.by(kJobsByPrebuiltWorkload, {"team-b", "one"}).empty());
  // The newest version counts, and what has gone names nothing.
  state.put_watched(job(4, nullptr, "two"));
  CHECK(state.by(kJobsByPrebuiltWorkload, {"team-a", "one"}).size() == 1);
  CHECK(state.by(kJobsByPrebuiltWorkload, {"team-a", "two"}).size() == 2);
  state.remove_watched(jobset(5, "one", "two"));
  CHECK(state.by(kJobsByPrebuiltWorkload, {"team-a", "one"}).empty());
  CHECK(state.by(kJobsByPrebuiltWorkload, {"team-a", "two"}).size() == 1);
}

TEST_CASE("job indexes: described jobs are found by their kind in a namespace") {
  const ResourceType& pytorch = []() -> const ResourceType& {
    for (const KindDescriptionPtr& kind : described_kinds()) {
      if (kind->type().kind == "PyTorchJob") return kind->type();
    }
    throw std::runtime_error("there is no PyTorchJob");
  }();
  ClusterState state;
  const auto job = [&](const char* ns, const char* name, int version) {
    json metadata = versioned_meta(name, version);
    metadata["namespace"] = ns;
    return read_object(pytorch, {{"metadata", metadata}});
  };
  state.put_watched(job("team-a", "b", 1));
  state.put_watched(job("team-a", "a", 2));
  state.put_watched(job("team-b", "c", 3));
  const auto found = state.by(kDescribedJobsByKind, {"team-a", pytorch.plural});
  REQUIRE(found.size() == 2);
  CHECK(meta_of(*found[0]).name == "a");
  state.remove_watched(job("team-a", "a", 4));
  CHECK(state.by(kDescribedJobsByKind, {"team-a", pytorch.plural}).size() == 1);
}

}  // namespace job_indexes_test
