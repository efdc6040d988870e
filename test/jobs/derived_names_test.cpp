// Names that muster derives for owners of two kinds never meet, whatever the owners are called.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "jobs/group_scheduling.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/workload_name.h"

namespace derived_names_test {

using namespace muster;
using namespace muster::jobs;

namespace {

// All words of up to four parts, of which some are parts of derived names.
std::vector<std::string> names(const char* separators) {
  const std::vector<std::string> parts = {"a", "job", "jobset", "group-scheduling"};
  std::vector<std::string> made = parts, last = parts;
  for (int length = 2; length <= 4; ++length) {
    std::vector<std::string> longer;
    for (const std::string& name : last) {
      for (const char* separator = separators; *separator != 0; ++separator) {
        for (const std::string& part : parts) longer.push_back(name + *separator + part);
      }
    }
    made.insert(made.end(), longer.begin(), longer.end());
    last = std::move(longer);
  }
  return made;
}

}  // namespace

TEST_CASE("derived names: the ConfigMaps of two gangs have two names") {
  std::map<std::string, std::string> owners;
  const auto add = [&](const JobKind& kind, const std::string& name) {
    const std::string config_map = group_config_map_name(kind, name);
    const std::string owner = std::string(kind.type.kind) + " " + name;
    const auto [known, is_new] = owners.emplace(config_map, owner);
    CHECK_MESSAGE(is_new, owner, " and ", known->second, " have ", config_map);
    CHECK(is_group_config_map_of(kind, name, config_map));
  };
  for (const std::string& name : names("-")) add(jobset, name);
  for (const std::string& name : names("-.")) add(batch_job, name);
}

TEST_CASE("derived names: a gang of a Job keeps the name of before only where no JobSet's gang can claim it") {
  for (const std::string& name : names("-.")) {
    const std::string before = name + "-job-group-scheduling";
    CHECK(is_group_config_map_of(batch_job, name, before));
    // The members of a JobSet's gang are no separate gangs.
    CHECK_FALSE(is_group_config_map_of(batch_job, child_job_name(name + "-job", "w", 0),
                                       group_config_map_name(jobset, name + "-job")));
  }
}

TEST_CASE("derived names: the Workloads of two kinds have two names") {
  const std::vector<std::pair<const char*, const char*>> kinds = {
      {"batch", "Job"}, {"batch.volcano.sh", "Job"}, {"jobset.x-k8s.io", "JobSet"}, {"ray.io", "RayJob"}, {"", "Pod"}};
  std::set<std::string> workloads;
  size_t count = 0;
  for (const char* name : {"a", "job-a", "set-a", "jobset-a", "a-job"}) {
    for (const auto& [group, kind] : kinds) {
      workloads.insert(workload_name({group, kind, name, "uid"}, "", 253));
      ++count;
    }
  }
  CHECK(workloads.size() == count);
}

}  // namespace derived_names_test
