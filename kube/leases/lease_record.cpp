#include "kube/leases/lease_record.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster::kube {
namespace {

using nlohmann::json;

Timestamp time_at(const json& spec, const char* key) {
  const json* value = find_path(spec, {key});
  const auto time = value ? parse_micro_time(*value) : Timestamp{};
  return time.ok() ? *time : Timestamp{};
}

}  // namespace

const Resource& leases() {
  static const Resource resource{"coordination.k8s.io", "v1", "leases", true, "Lease"};
  return resource;
}

LeaseRecord read_lease(const json& lease) {
  const json& spec = object_at(lease, {"spec"});
  LeaseRecord record;
  record.holder = string_at(spec, {"holderIdentity"});
  record.version = string_at(lease, {"metadata", "resourceVersion"});
  record.duration = std::chrono::seconds(int_at(spec, {"leaseDurationSeconds"}).value_or(0));
  record.acquired = time_at(spec, "acquireTime");
  record.renewed = time_at(spec, "renewTime");
  record.transitions = int_at(spec, {"leaseTransitions"}).value_or(0);
  return record;
}

void write_lease(const LeaseRecord& record, json& lease) {
  json& spec = lease["spec"];
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(record.duration).count();
  spec["acquireTime"] = micro_time_to_json(record.acquired);
  spec["renewTime"] = micro_time_to_json(record.renewed);
  spec["leaseTransitions"] = record.transitions;
}

}  // namespace muster::kube
