#include "mutators/waiter_container.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/quantity.h"
#include "api/workload.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

constexpr int64_t kSmallCpuMilli = 10;
constexpr int64_t kSmallMemory = 16 << 20;
// Any user except root works; the waiter reads two files that every user can read.
constexpr int kWaiterUser = 65532;

// Process 1 ignores SIGTERM unless it has a handler. /proc/uptime is a monotonic clock that needs no program.
// The termination message is written to the kubelet's file if the file exists.
constexpr std::string_view kShellLoop = R"sh(dir=${1#--dir=} timeout=${2#--timeout-seconds=} grace=${3#--grace-seconds=}
limit=$((timeout + ${grace:-120}))
token="$MUSTER_OWNER_UID/$MUSTER_RESTART_ATTEMPT/$MUSTER_EPOCH"
say() {
  echo "muster-wait: $1" >&2
  if [ -w /dev/termination-log ]; then echo "$1" >/dev/termination-log; fi
}
lists() {
  [ -r "$1" ] || return 1
  while IFS= read -r line || [ -n "$line" ]; do
    if [ "$line" = "$token" ]; then return 0; fi
  done <"$1"
  return 1
}
uptime() { read -r now rest </proc/uptime; now=${now%%.*}; }
trap 'say "stopped while waiting for the group"; exit 143' TERM INT
if [ -z "$MUSTER_OWNER_UID" ] || [ -z "$MUSTER_RESTART_ATTEMPT" ] || [ -z "$MUSTER_EPOCH" ]; then
  say "this pod lacks a label or annotation, so its group is unknown ($token); was it made by a Job or JobSet that muster has seen?"
  exit 2
fi
if [ ! -d "$dir" ]; then
  say "$dir is not a directory: the volume group-scheduling is not mounted there"
  exit 2
fi
echo "muster-wait: waiting for the group of run $token" >&2
uptime
begin=$now
while true; do
  if lists "$dir/started"; then
    say "the group has started, after $((now - begin)) s here"
    exit 0
  fi
  if lists "$dir/expired"; then
    say "GroupSchedulingTimeout: the group timed out after $timeout s because not all of its pods started; see the events of the Job or JobSet for the missing pods"
    exit 1
  fi
  if [ $((now - begin)) -ge $limit ]; then
    say "no decision arrived within $((now - begin)) s; check that muster is running and can write ConfigMaps in this namespace"
    exit 1
  fi
  if ! sleep 0.2 2>/dev/null && ! sleep 1; then
    say "this image has no sleep, so it cannot wait"
    exit 2
  fi
  uptime
done
)sh";

json field_ref(std::string_view variable, std::string_view kind, std::string_view key) {
  const std::string path = "metadata." + std::string(kind) + "['" + std::string(key) + "']";
  return {{"name", variable}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

json environment(const jobs::JobKind& kind) {
  const bool in_jobset = &kind == &jobs::jobset;
  json attempt = {{"name", "MUSTER_RESTART_ATTEMPT"}, {"value", "0"}};
  if (in_jobset) attempt = field_ref("MUSTER_RESTART_ATTEMPT", "labels", kRestartAttemptLabel);
  return json::array({field_ref("MUSTER_OWNER_UID", "labels", in_jobset ? kJobSetUidLabel : kControllerUidLabel),
                      std::move(attempt), field_ref("MUSTER_EPOCH", "annotations", kGroupEpochAnnotation)});
}

// The request of a container, or its limit if the request is missing. Zero if the container has neither, or a
// value that cannot be read.
Quantity asked_by(const json& container, std::string_view resource) {
  for (std::string_view part : {"requests", "limits"}) {
    const json* value = find_path(container, {"resources", part, resource});
    if (value == nullptr || value->is_null()) continue;
    auto asked = Quantity::from_json(*value);
    return asked.ok() ? *asked : Quantity();
  }
  return {};
}

// The waiter's share of a resource: a small amount, or the namespace's minimum if this is larger, or the
// smallest request of a main container if this is smaller. nullopt if a main container has no request.
std::optional<json> share_of(const json& containers, std::string_view resource, Quantity small,
                             const std::string& minimum) {
  if (containers.empty()) return std::nullopt;
  Quantity share = std::move(small);
  if (auto least = Quantity::parse(minimum); least.ok() && *least > share) share = *least;
  for (const json& container : containers) {
    const Quantity asked = asked_by(container, resource);
    if (asked.sign() <= 0) return std::nullopt;
    if (asked < share) share = asked;
  }
  return share.to_json();
}

json security_context() {
  return {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", json::array({"ALL"})}}},
          {"readOnlyRootFilesystem", true},    {"runAsNonRoot", true},
          {"runAsUser", kWaiterUser},          {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

}  // namespace

json waiter_container(const jobs::JobKind& kind, const WaiterSettings& settings, const jobs::GroupConfig& config,
                      const json& pod_spec, const ContainerMinimum& minimum) {
  json command = json::array({"/" + std::string(jobs::kWaiterProgram)});
  if (settings.shell_loop) command = json::array({"sh", "-c", waiter_shell_loop(), jobs::kWaiterProgram});
  json arguments = json::array(
      {"--dir=" + std::string(kGroupMountPath), "--timeout-seconds=" + std::to_string(config.timeout_seconds)});
  if (config.starts_in_parts)
    arguments.push_back("--grace-seconds=" + std::to_string(jobs::kPatientWaiterGraceSeconds));
  json container = {
      {"name", kGroupInitContainer},
      {"image", settings.image},
      {"command", std::move(command)},
      {"args", std::move(arguments)},
      {"env", environment(kind)},
      {"volumeMounts", json::array({{{"name", kGroupVolume}, {"mountPath", kGroupMountPath}, {"readOnly", true}}})},
      {"securityContext", security_context()},
  };
  const json& containers = array_at(pod_spec, {"containers"});
  json amounts = json::object();
  if (auto cpu = share_of(containers, "cpu", Quantity::of_milli(kSmallCpuMilli), minimum.cpu)) amounts["cpu"] = *cpu;
  if (auto memory =
          share_of(containers, "memory", Quantity::of(kSmallMemory, Quantity::Format::kBinarySI), minimum.memory))
    amounts["memory"] = *memory;
  if (!amounts.empty()) container["resources"] = {{"requests", amounts}, {"limits", amounts}};
  return container;
}

json barrier_volume(std::string_view config_map) {
  return {{"name", kGroupVolume}, {"configMap", {{"name", config_map}, {"optional", true}}}};
}

std::string_view waiter_shell_loop() {
  return kShellLoop;
}

}  // namespace muster::mutators
