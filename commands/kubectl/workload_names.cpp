#include "commands/kubectl/workload_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/workload_conditions.h"
#include "jobs/queue_fields.h"

namespace muster::commands {
namespace {

using nlohmann::json;

bool is_owned_by(const json& workload, const ResourceType* kind, std::string_view name) {
  const json& owners = array_at(workload, {"metadata", "ownerReferences"});
  return std::any_of(owners.begin(), owners.end(), [&](const json& owner) {
    return string_at(owner, {"name"}) == name && (kind == nullptr || string_at(owner, {"kind"}) == kind->kind);
  });
}

}  // namespace

Result<std::string> workload_name_of(const json& workloads, const ResourceType* kind, std::string_view owner) {
  std::vector<std::string> open, finished;
  for (const json& workload : workloads) {
    if (!is_owned_by(workload, kind, owner)) continue;
    (jobs::condition_is_true(workload, kFinishedCondition) ? finished : open)
        .emplace_back(string_at(workload, {"metadata", "name"}));
  }
  const std::vector<std::string>& found = open.empty() ? finished : open;
  const std::string what = (kind == nullptr ? "a job " : std::string(kind->kind) + " ") + std::string(owner);
  if (found.empty()) return fail("there is no Workload of " + what);
  if (found.size() > 1) return fail("there are several Workloads of " + what + ": " + join(found, ", ") + "; name one");
  return found.front();
}

Result<std::string> find_workload_name(kube::KubeApi& api, const std::string& ns, const std::string& owner,
                                       const ResourceType* kind) {
  json workloads = json::array();
  const kube::ListHandler handler{.started = [&] { workloads = json::array(); },
                                  .item =
                                      [&](json& item) {
                                        if (is_owned_by(item, kind, owner)) workloads.push_back(std::move(item));
                                      }};
  const auto listed = api.list(kube::resource_of(kWorkloads), {.ns = ns}, handler);
  if (!listed) return fail(listed.error().message);
  return workload_name_of(workloads, kind, owner);
}

}  // namespace muster::commands
