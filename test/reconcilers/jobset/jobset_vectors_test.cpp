#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"
#include "jobs/jobset/jobset_fields.h"
#include "reconcilers/jobset/jobset_child.h"
#include "test/support/vectors.h"

namespace jobset_vectors_test {

using namespace muster;
using nlohmann::json;

namespace {

json or_null(const json& object, std::initializer_list<std::string_view> path) {
  const json* found = find_path(object, path);
  return found == nullptr ? json() : *found;
}

// A Job as the vectors show it. The label that JobSet's webhook for pods sets is in the template here.
json seen(json job) {
  if (json* labels = jobs::existing_object(job, {"spec", "template", "metadata", "labels"}))
    labels->erase(std::string(kJobSetPriorityLabel));
  const json& pod_template = object_at(job, {"spec", "template"});
  return {{"name", or_null(job, {"metadata", "name"})},
          {"labels", or_null(job, {"metadata", "labels"})},
          {"annotations", or_null(job, {"metadata", "annotations"})},
          {"podTemplateLabels", or_null(pod_template, {"metadata", "labels"})},
          {"podTemplateAnnotations", or_null(pod_template, {"metadata", "annotations"})},
          {"subdomain", string_at(pod_template, {"spec", "subdomain"})},
          {"nodeSelector", or_null(pod_template, {"spec", "nodeSelector"})},
          {"tolerations", or_null(pod_template, {"spec", "tolerations"})},
          {"suspend", or_null(job, {"spec", "suspend"})}};
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("jobset children: jobs and names and the service are what upstream makes") {
    const auto lines = muster::test::load_vectors("workload_names");
    for (const json& line : lines) {
      if (line["input"]["kind"] != "jobset-children") continue;
      INFO(line["id"].get<std::string>());
      const json& expected = line["output"];
      const JobSetPtr jobset = read_jobset(line["input"]["jobSet"]);
      json jobs = json::array();
      json first_pods = json::array();
      for (const ReplicatedJob& replicated : jobset->replicated_jobs) {
        const reconcilers::ChildJobMaker maker(*jobset, replicated);
        for (int32_t index = 0; index < replicated.replicas; ++index) jobs.push_back(seen(maker.make(index)));
        if (replicated.replicas > 0)
          first_pods.push_back(jobs::child_job_name(jobset->meta.name, replicated.name, 0) + "-0");
      }
      CHECK(jobs == expected["jobs"]);
      CHECK(first_pods == expected["firstPodNames"]);
      CHECK(reconcilers::coordinator_endpoint(*jobset) == string_at(expected, {"coordinator"}));
      const json service = jobset->dns_hostnames ? reconcilers::headless_service(*jobset)["metadata"]["name"] : json();
      CHECK(service == expected["serviceName"]);
    }
  }
}

}  // namespace jobset_vectors_test
