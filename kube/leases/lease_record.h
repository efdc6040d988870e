// The leader in a Lease of coordination.k8s.io/v1. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/meta/time.h"
#include "kube/resource.h"

namespace muster::kube {

struct LeaseRecord {
  std::string holder{};     // empty: released
  std::string version{};    // metadata.resourceVersion; empty for a lease yet to be created
  Duration duration{};      // how long others respect it without news; whole seconds
  Timestamp acquired{};     // by the holder's clock, for users: never compared
  Timestamp renewed{};      // likewise
  int64_t transitions = 0;  // how often the holder has changed

  bool operator==(const LeaseRecord&) const = default;
};

const Resource& leases();

// What is missing or of another type reads as empty.
LeaseRecord read_lease(const nlohmann::json& lease);

// Writes all of `record` but its version into spec, and leaves the rest of the lease
// (labels, resourceVersion, fields of newer servers) as it is.
void write_lease(const LeaseRecord& record, nlohmann::json& lease);

}  // namespace muster::kube
