#include "state/template_pool.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/jobset.h"
#include "state/cluster_state.h"

namespace template_pool_test {

using namespace muster;
using namespace muster::state;
using nlohmann::json;

namespace {

json manifest(const std::string& name, const std::string& image, int version) {
  const json replicated = {
      {"name", "workers"},
      {"template", {{"spec", {{"template", {{"spec", {{"containers", {{{"image", image}}}}}}}}}}}}};
  return {{"metadata", {{"namespace", "team-a"}, {"name", name}, {"resourceVersion", std::to_string(version)}}},
          {"spec", {{"replicatedJobs", {replicated}}}}};
}

const PodSpec* spec_of(const JobSet& jobset) {
  return jobset.replicated_jobs.at(0).pod_template.spec.get();
}

}  // namespace

TEST_CASE("template pool: equal pod specs are one and others are not") {
  TemplatePool pool;
  const auto interned = [&](const json& object) {
    JobSetPtr jobset = read_jobset(object);
    pool.intern(*jobset);
    return jobset;
  };
  const JobSetPtr a = interned(manifest("a", "x:1", 1));
  const JobSetPtr b = interned(manifest("b", "x:1", 2));
  const JobSetPtr other = interned(manifest("c", "x:2", 3));
  CHECK(spec_of(*a) == spec_of(*b));
  CHECK(spec_of(*a) != spec_of(*other));
  CHECK(spec_of(*other)->text.find("x:2") != std::string::npos);
}

TEST_CASE("template pool: what nobody holds any more is forgotten") {
  TemplatePool pool;
  for (int i = 0; i < 1000; ++i) pool.intern(*read_jobset(manifest("a", "x:" + std::to_string(i), i)));
  CHECK(pool.size() <= 64 * 2);
}

TEST_CASE("cluster state: JobSets of one manifest share its pod specs") {
  ClusterState state;
  for (const char* name : {"a", "b"}) state.put_watched(read_object(kJobSets, manifest(name, "x:1", *name)));
  const PodSpec* before = spec_of(*state.find<JobSet>("team-a", "a"));
  CHECK(before == spec_of(*state.find<JobSet>("team-a", "b")));
  state.put_watched(read_object(kJobSets, manifest("a", "x:1", 500)));
  CHECK(spec_of(*state.find<JobSet>("team-a", "a")) == before);
}

}  // namespace template_pool_test
