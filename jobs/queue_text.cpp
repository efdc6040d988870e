#include "jobs/queue_text.h"

#include <nlohmann/json.hpp>

#include "jobs/typed_text.h"

namespace muster::jobs {
namespace {

constexpr TypedField kTopologyRequestFields[] = {{"required"},           {"preferred"},
                                                 {"unconstrained"},      {"podIndexLabel"},
                                                 {"subGroupIndexLabel"}, {"subGroupCount"},
                                                 {"podSetGroupName"},    {"podSetSliceRequiredTopology"},
                                                 {"podSetSliceSize"},    {"podsetSliceRequiredTopologyConstraints"}};
constexpr TypedShape kTopologyRequest{kTopologyRequestFields};

constexpr TypedField kPodSetFields[] = {{"name"},
                                        {"template", &kTypedPodTemplate, "{}"},
                                        {"count", nullptr, "0"},
                                        {"minCount"},
                                        {"topologyRequest", &kTopologyRequest}};
constexpr TypedShape kPodSet{kPodSetFields};

constexpr TypedField kAssignmentFields[] = {{"name", nullptr, "\"\""}, {"flavors"},
                                            {"resourceUsage"},         {"count"},
                                            {"topologyAssignment"},    {"delayedTopologyRequest"}};
constexpr TypedShape kAssignment{kAssignmentFields};

constexpr TypedField kAdmissionFields[] = {{"clusterQueue", nullptr, "\"\""},
                                           {"podSetAssignments", &kAssignment, "null", true}};
constexpr TypedShape kAdmission{kAdmissionFields};

constexpr TypedField kPodSetUpdateFields[] = {
    {"name", nullptr, "\"\""}, {"labels"}, {"annotations"}, {"nodeSelector"}, {"tolerations", &kTypedToleration}};
constexpr TypedShape kPodSetUpdate{kPodSetUpdateFields};

constexpr TypedField kBorrowFields[] = {{"policy"}, {"maxPriorityThreshold"}};
constexpr TypedShape kBorrow{kBorrowFields};
constexpr TypedField kPreemptionFields[] = {
    {"reclaimWithinCohort"}, {"borrowWithinCohort", &kBorrow}, {"withinClusterQueue"}};
constexpr TypedShape kPreemption{kPreemptionFields};

constexpr TypedField kMigrationFields[] = {{"mode"}, {"constraints"}};
constexpr TypedShape kMigration{kMigrationFields};
constexpr TypedField kConcurrentAdmissionFields[] = {{"migration", &kMigration}};
constexpr TypedShape kConcurrentAdmission{kConcurrentAdmissionFields};

constexpr TypedField kTaintFields[] = {{"key", nullptr, "\"\""}, {"value"}, {"effect", nullptr, "\"\""}, {"timeAdded"}};
constexpr TypedShape kTaint{kTaintFields};

}  // namespace

std::string print_pod_sets(const nlohmann::json& pod_sets) {
  return print_typed(pod_sets, kPodSet);
}
std::string print_admission(const nlohmann::json& admission) {
  return print_typed(admission, kAdmission);
}
std::string print_pod_set_updates(const nlohmann::json& updates) {
  return print_typed(updates, kPodSetUpdate);
}
std::string print_preemption(const nlohmann::json& preemption) {
  return print_typed(preemption, kPreemption);
}
std::string print_concurrent_admission(const nlohmann::json& policy) {
  return print_typed(policy, kConcurrentAdmission);
}
std::string print_taint(const nlohmann::json& taint) {
  return print_typed(taint, kTaint);
}

}  // namespace muster::jobs
