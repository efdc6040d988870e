// The kinds that operators.h plays: which pods an object of each kind wants, and what its operator says of them in the
// status. Pure.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muster::world {

// A kind of Kubeflow's operators.
struct TrainingJob {
  std::string_view kind;
  std::string_view replica_specs;  // in spec: a map of roles
  std::string_view main_role;      // the first of its pods that succeeds ends the job
};
inline constexpr TrainingJob kTrainingJobs[] = {
    {"PyTorchJob", "pytorchReplicaSpecs", "Master"}, {"TFJob", "tfReplicaSpecs", "Chief"},
    {"XGBoostJob", "xgbReplicaSpecs", "Master"},     {"PaddleJob", "paddleReplicaSpecs", "Master"},
    {"JAXJob", "jaxReplicaSpecs", "Worker"},         {"MPIJob", "mpiReplicaSpecs", "Launcher"}};

struct WantedPod {
  std::string name;
  nlohmann::json pod_template;
  nlohmann::json labels = nlohmann::json::object();
  nlohmann::json annotations = nlohmann::json::object();
  bool ends_job = false;
};

// How far a job's pods are.
struct PodProgress {
  size_t active = 0;
  bool suspended = false, all_ready = false, over = false;
};

struct OperatedKind {
  std::string_view kind;
  std::vector<WantedPod> (*pods)(const nlohmann::json& object);
  // nullptr for sets that serve: their status counts pods.
  nlohmann::json (*status)(const PodProgress& pods);
};
// As operators write one.
nlohmann::json operator_condition(const char* type, bool is_true);
// nullptr: another kind.
const OperatedKind* find_operated_kind(std::string_view kind);

}  // namespace muster::world
