// Every status field of the CRDs has a writer, or its description says that it has none: a field without a writer looks
// like an answer ("0", "not set") to whoever reads it.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "api/codec/json.h"
#include "manifests/catalog.h"
#include "test/support/files.h"

namespace status_fields_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

struct StatusFields {
  const char* kind;
  const char* path;  // a field, or the root of several
  // Source file that names each of them in quotes. kByOthers: another controller is the one that writes them.
  // kByNobody: they are there for objects that Kueue or JobSet wrote, and their description says so.
  const char* writer;
};
constexpr const char* kByOthers = "others";
constexpr const char* kByNobody = "nobody";

// The same in each version: conversion renames, and does not add writers.
constexpr StatusFields kWriters[] = {
    {"AdmissionCheck", ".conditions", kByOthers},
    {"ClusterQueue", ".conditions", "api/meta/object_meta.cpp"},
    {"ClusterQueue", ".flavorsReservation", "api/cluster_queue.cpp"},
    {"ClusterQueue", ".flavorsUsage", "api/cluster_queue.cpp"},
    {"ClusterQueue", ".pendingWorkloads", "api/cluster_queue.cpp"},
    {"ClusterQueue", ".reservingWorkloads", "api/cluster_queue.cpp"},
    {"ClusterQueue", ".admittedWorkloads", "api/cluster_queue.cpp"},
    {"ClusterQueue", ".fairSharing.weightedShare", "reconcilers/queues/queue_status.cpp"},
    {"ClusterQueue", ".fairSharing.admissionFairSharingStatus", kByNobody},
    {"ClusterQueue", ".pendingWorkloadsStatus", kByNobody},
    {"Cohort", ".fairSharing.weightedShare", "reconcilers/queues/cohort.cpp"},
    {"Cohort", ".fairSharing.admissionFairSharingStatus", kByNobody},
    {"JobSet", ".conditions", "api/meta/object_meta.cpp"},
    {"JobSet", ".restarts", "api/jobset.cpp"},
    {"JobSet", ".restartsCountTowardsMax", "api/jobset.cpp"},
    {"JobSet", ".terminalState", "api/jobset.cpp"},
    {"JobSet", ".startTime", "api/jobset.cpp"},
    {"JobSet", ".executionAttempts", "api/jobset.cpp"},
    {"JobSet", ".currentInPlaceRestartAttempt", "api/jobset.cpp"},
    {"JobSet", ".previousInPlaceRestartAttempt", "api/jobset.cpp"},
    {"JobSet", ".replicatedJobsStatus[]", "api/jobset.cpp"},
    {"LocalQueue", ".conditions", "api/meta/object_meta.cpp"},
    {"LocalQueue", ".pendingWorkloads", "api/cluster_queue.cpp"},
    {"LocalQueue", ".reservingWorkloads", "api/cluster_queue.cpp"},
    {"LocalQueue", ".admittedWorkloads", "api/cluster_queue.cpp"},
    {"LocalQueue", ".flavorsReservation", "api/cluster_queue.cpp"},
    {"LocalQueue", ".flavorsUsage", "api/cluster_queue.cpp"},
    {"LocalQueue", ".flavorUsage", "api/cluster_queue.cpp"},
    {"LocalQueue", ".flavors", kByNobody},
    {"LocalQueue", ".fairSharing", kByNobody},
    {"Workload", ".conditions", "api/meta/object_meta.cpp"},
    {"Workload", ".admission.podSetAssignments[].topologyAssignment", kByNobody},
    {"Workload", ".admission.podSetAssignments[].delayedTopologyRequest", kByNobody},
    {"Workload", ".admission", "api/admission.cpp"},
    {"Workload", ".requeueState", "api/workload.cpp"},
    {"Workload", ".reclaimablePods", "api/workload.cpp"},
    {"Workload", ".admissionChecks[].podSetUpdates", kByOthers},
    {"Workload", ".admissionChecks", "api/workload.cpp"},
    {"Workload", ".resourceRequests", "reconcilers/workload/admission.cpp"},
    {"Workload", ".flavorAssignmentHistory", "api/flavor_fallback.cpp"},
    {"Workload", ".flavorFallback", "api/flavor_fallback.cpp"},
    {"Workload", ".accumulatedPastExecutionTimeSeconds", "api/workload.cpp"},
    {"Workload", ".accumulatedPastExexcutionTimeSeconds", "api/conversion/conversion_workload.cpp"},
    {"Workload", ".schedulingStats", "api/workload.cpp"},
    {"Workload", ".nominatedClusterNames", kByNobody},
    {"Workload", ".clusterName", kByNobody},
    {"Workload", ".unhealthyNodes", kByNobody},
    {"Workload", ".preemptionGates", kByNobody},
    // KEP-2560.
};

struct Field {
  std::string path;
  std::string described;  // descriptions on the way to it and its own
};

void collect(const json& schema, const std::string& path, const std::string& described, std::vector<Field>& fields) {
  const std::string text = described + std::string(string_at(schema, {"description"})) + "\n";
  if (schema.contains("properties")) {
    for (const auto& [name, child] : schema["properties"].items()) collect(child, path + "." + name, text, fields);
  } else if (object_at(schema, {"items"}).contains("properties")) {
    collect(schema["items"], path + "[]", text, fields);
  } else {
    fields.push_back({path, text});
  }
}

bool is_below(const std::string& path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '.' || path[root.size()] == '[');
}

std::string leaf_of(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

}  // namespace

TEST_CASE("crd: each status field has a writer or says that it has none") {
  std::set<const StatusFields*> used;
  for (const json& crd : manifests::manifests(ManifestSet::kCrds, {})) {
    const std::string kind(string_at(crd, {"spec", "names", "kind"}));
    for (const json& version : crd.at("spec").at("versions")) {
      std::vector<Field> fields;
      const json& status = object_at(version, {"schema", "openAPIV3Schema", "properties", "status"});
      if (!status.empty()) collect(status, "", "", fields);
      for (const Field& field : fields) {
        const std::string where = kind + " " + std::string(string_at(version, {"name"})) + " status" + field.path;
        const auto* row = std::find_if(std::begin(kWriters), std::end(kWriters), [&](const StatusFields& candidate) {
          return kind == candidate.kind && is_below(field.path, candidate.path);
        });
        REQUIRE_MESSAGE(row != std::end(kWriters), where << " has no row here: who writes it?");
        used.insert(row);
        const std::string_view writer = row->writer;
        if (writer == kByNobody) {
          const bool said = field.described.find("muster does not write") != std::string::npos ||
                            field.described.find("Not supported by muster") != std::string::npos;
          CHECK_MESSAGE(said, where << " does not say that nobody writes it");
        } else if (writer != kByOthers) {
          const std::string source = test::read_file(std::string(MUSTER_SOURCE_DIR) + "/" + row->writer);
          CHECK_MESSAGE(source.find('"' + leaf_of(field.path) + '"') != std::string::npos,
                        where << " is not written by " << row->writer);
        }
      }
    }
  }
  for (const StatusFields& row : kWriters)
    CHECK_MESSAGE(used.contains(&row), row.kind << " has no status field " << row.path);
}

}  // namespace status_fields_test
