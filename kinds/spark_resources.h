// What a pod of a SparkApplication requests: Spark computes it when the pod is created, from the fields of the
// application, from its `sparkConf`, and from defaults.
// Source: Spark 3.5, ResourceProfile, BasicDriverFeatureStep and BasicExecutorFeatureStep; Spark operator, v1beta2.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/pod_spec.h"
#include "base/result.h"

namespace muster {

// One role of an application, "driver" or "executor". Refers to the spec, which must outlive it. Fields of the role
// have precedence over `sparkConf`.
class SparkRole {
 public:
  SparkRole(const nlohmann::json& spec, std::string_view role);

  // spec.driver or spec.executor.
  const nlohmann::json& fields() const { return fields_; }
  // The main container. The error is a sentence about the value that Spark would not accept.
  Result<ResourceRequirements> resources() const;
  // Of executors: as many as Spark starts with.
  int32_t instances() const;

 private:
  // The value of "spark.<role>.<key>", or of another key.
  std::optional<std::string> conf(std::string_view key) const;
  std::optional<std::string> role_conf(std::string_view key) const;
  std::optional<std::string> field_or_conf(const char* field, std::string_view key) const;

  Result<Quantity> cpu() const;
  Result<Quantity> memory() const;
  Result<int64_t> overhead_mib(int64_t memory_mib) const;
  Result<double> overhead_factor() const;
  Result<int64_t> executor_extra_mib() const;
  void add_devices(ResourceList& limits) const;

  const nlohmann::json& spec_;
  const nlohmann::json& fields_;
  std::string role_;
};

}  // namespace muster
