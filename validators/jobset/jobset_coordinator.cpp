// The coordinator is one pod. Its replicated job, Job and index must exist, and its address, which becomes a
// label of every pod, must fit into a label. Rejected, for example, if leader has one replica:
//
//   coordinator: {replicatedJob: leader, jobIndex: 1}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_coordinator {
namespace {

using nlohmann::json;

struct Coordinator {
  std::string replicated_job;
  int64_t job_index, pod_index;
};

// The first error; each check makes sense only after the previous one.
std::optional<FieldError> check_place(const json& jobset, const Coordinator& coordinator) {
  const std::string& name = coordinator.replicated_job;
  const json* replicated_job = jobs::find_replicated_job(jobset, name);
  if (!replicated_job) {
    return invalid("spec.coordinator.replicatedJob", name, "coordinator replicatedJob " + name + " does not exist");
  }
  const int64_t job_index = coordinator.job_index;
  if (job_index < 0 || job_index >= jobs::replicas_of(*replicated_job)) {
    return invalid("spec.coordinator.jobIndex", job_index,
                   "coordinator job index " + std::to_string(job_index) + " is invalid for replicatedJob " + name);
  }
  const std::optional<int64_t> completions = jobs::completions_of(*replicated_job);
  if (!completions || !jobs::is_indexed(*replicated_job)) {
    return invalid("spec.coordinator.replicatedJob", name,
                   "job for coordinator pod must be indexed completion mode, and completions number must be set");
  }
  const int64_t pod_index = coordinator.pod_index;
  if (pod_index < 0 || pod_index >= *completions) {
    return invalid("spec.coordinator.podIndex", pod_index,
                   "coordinator pod index " + std::to_string(pod_index) + " is invalid for replicatedJob " + name +
                       " job index " + std::to_string(job_index));
  }
  return std::nullopt;
}

std::optional<FieldError> check_address(const json& jobset, const Coordinator& coordinator) {
  const std::string name = jobs::jobset_name_or_alike(jobset);
  std::string subdomain(string_at(jobset, {"spec", "network", "subdomain"}));
  if (subdomain.empty()) subdomain = name;
  const std::string address = jobs::pod_address(
      jobs::child_job_name(name, coordinator.replicated_job, coordinator.job_index), coordinator.pod_index, subdomain);
  const std::vector<std::string> complaints = is_valid_label_value(address);
  if (complaints.empty()) return std::nullopt;
  return invalid("spec.coordinator", address,
                 "spec will lead to invalid label value \"" + address + "\" for coordinator label \"" +
                     std::string(kCoordinatorKey) +
                     "\" (long JobSet / ReplicatedJob / SubDomain name?): " + join(complaints, ", "));
}

FieldErrors check(const Review& review) {
  const json& jobset = review.request.object;
  const json* said = find_path(jobset, {"spec", "coordinator"});
  if (!said || !said->is_object()) return {};
  const Coordinator coordinator{std::string(string_at(*said, {"replicatedJob"})),
                                int_at(*said, {"jobIndex"}).value_or(0), int_at(*said, {"podIndex"}).value_or(0)};
  FieldErrors errors;
  if (auto error = check_place(jobset, coordinator)) errors.push_back(*std::move(error));
  if (auto error = check_address(jobset, coordinator)) errors.push_back(*std::move(error));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_coordinator",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_coordinator
