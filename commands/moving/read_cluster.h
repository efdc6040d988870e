// Reads what preflight and doctor look at, with the person's own rights, or from files (I/O).
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "commands/moving/rules/cluster_dump.h"
#include "commands/review/review_files.h"
#include "kube/api.h"

namespace muster::commands {

// One part of a cluster.
struct Reading {
  kube::Resource resource;
  kube::Selection selection{};
};

// Of them: the Deployments, Leases, webhooks and aggregated APIs of Kueue and JobSet, and Kueue's ConfigMap.
std::vector<Reading> component_readings();
// What preflight needs: definitions, webhooks, Deployments, Leases, Kueue's ConfigMap, queues, Workloads, and the
// objects with a queue of every kind that Kueue or muster can queue.
std::vector<Reading> preflight_readings();

// Adds all of them. A kind that is not served has no objects; one without permission to list is noted in the dump. The
// error: the API server does not answer, or answers with another error.
Outcome<> read_into(kube::KubeApi& api, const std::vector<Reading>& readings, ClusterDump& dump);

kube::Resource deployments();
// One object; of all namespaces without `ns`.
kube::Selection named(std::string_view name, const std::string& ns = "");

// The minor version of Kubernetes 1.x, as the API server tells it; nullopt: it does not.
std::optional<int> server_minor(kube::KubeApi& api);

// What the API server's clock shows; nullopt: it does not say.
std::optional<TimePoint> server_time(kube::KubeApi& api);

// Of `kubectl get -o yaml` or `-o json`: files and folders as of `muster review`. Kinds without which preflight says
// little, and of which the files have no object, are noted as not read.
Result<ClusterDump> read_dump(const SourceNames& names, std::istream& standard_input);

}  // namespace muster::commands
