#include "test/world/invariants/pod_census.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/pod.h"

namespace muster::world {
namespace {

using nlohmann::json;

bool main_runs(const json& pod) {
  const json& statuses = array_at(pod, {"status", "containerStatuses"});
  return !statuses.empty() && std::all_of(statuses.begin(), statuses.end(), [](const json& status) {
    return find_path(status, {"state", "running"}) != nullptr;
  });
}

}  // namespace

PodCensus::PodCensus(ApiServer& server) {
  server.on_change([this](const Change& change) { see(change); });
}

void PodCensus::see(const Change& change) {
  if (*change.type != kPods) return;
  const json& pod = *change.after;
  const ObjectKey key = key_of(kPods, pod);
  const std::string name = path_of(key.ns, key.name);
  running_.erase(name);
  waiting_.erase(name);
  if (change.removed) return;
  if (main_runs(pod)) running_.insert(name);
  if (read_pod(pod)->waiter == WaiterState::kWaiting) waiting_.insert(name);
}

int PodCensus::count(const Names& names, std::string_view ns, std::string_view name_prefix) {
  const std::string prefix = std::string(ns) + "/" + std::string(name_prefix);
  int found = 0;
  for (auto name = names.lower_bound(prefix); name != names.end() && name->starts_with(prefix); ++name) ++found;
  return found;
}

}  // namespace muster::world
