#include "test/world/waiter.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/pods/waiter_timeout.h"
#include "jobs/group_scheduling.h"

namespace muster::world {
namespace {

using nlohmann::json;

// "metadata.labels['key']" or "metadata.annotations['key']" of the pod.
std::string_view field_of(const json& pod, std::string_view path) {
  const size_t open = path.find("['"), close = path.rfind("']");
  if (!path.starts_with("metadata.") || open == std::string_view::npos || close == std::string_view::npos) return "";
  const std::string_view map = path.substr(9, open - 9);
  return string_at(pod, {"metadata", map, path.substr(open + 2, close - open - 2)});
}

std::string variable(const json& container, const json& pod, std::string_view name) {
  for (const json& entry : array_at(container, {"env"})) {
    if (string_at(entry, {"name"}) != name) continue;
    const std::string_view path = string_at(entry, {"valueFrom", "fieldRef", "fieldPath"});
    return std::string(path.empty() ? string_at(entry, {"value"}) : field_of(pod, path));
  }
  return "";
}

bool lists(std::string_view content, std::string_view token) {
  while (!content.empty()) {
    const size_t end = content.find('\n');
    if (content.substr(0, end) == token) return true;
    content = end == std::string_view::npos ? std::string_view() : content.substr(end + 1);
  }
  return false;
}

}  // namespace

BarrierFiles barrier_files(const json* config_map) {
  if (config_map == nullptr) return {};
  return {std::string(string_at(*config_map, {"data", jobs::kGroupStartedKey})),
          std::string(string_at(*config_map, {"data", jobs::kGroupExpiredKey}))};
}

std::optional<Waiter> start_waiter(const json& container, const json& pod) {
  Waiter waiter;
  for (const char* name : {"MUSTER_OWNER_UID", "MUSTER_RESTART_ATTEMPT", "MUSTER_EPOCH"}) {
    const std::string part = variable(container, pod, name);
    if (part.empty()) return std::nullopt;
    waiter.token += (waiter.token.empty() ? "" : "/") + part;
  }
  const std::optional<int64_t> timeout = waiter_timeout_seconds(container);
  if (!timeout) return std::nullopt;
  waiter.limit_seconds = *timeout + waiter_grace_seconds(container).value_or(jobs::kWaiterGraceSeconds);
  return waiter;
}

std::optional<int> judge(const Waiter& waiter, const BarrierFiles& files, int64_t waited_seconds) {
  if (lists(files.started, waiter.token)) return 0;
  if (lists(files.expired, waiter.token)) return 1;
  if (waited_seconds >= waiter.limit_seconds) return 1;
  return std::nullopt;
}

std::optional<std::string> token_of_pod(const json& pod) {
  for (const json& container : array_at(pod, {"spec", "initContainers"})) {
    if (string_at(container, {"name"}) != kGroupInitContainer) continue;
    const std::optional<Waiter> waiter = start_waiter(container, pod);
    if (waiter) return waiter->token;
  }
  return std::nullopt;
}

}  // namespace muster::world
