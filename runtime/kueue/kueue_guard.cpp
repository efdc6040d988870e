#include "runtime/kueue/kueue_guard.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "kube/leases/lease_record.h"
#include "manifests/names.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

// Between two readings. While muster waits a second more is a second without a scheduler.
constexpr Duration kWhileAway = std::chrono::seconds(3), kWhileWaiting = std::chrono::seconds(1);
constexpr Duration kRemember = std::chrono::minutes(1);

KueueLease lease_of(const json& lease) {
  const int64_t seconds = int_at(lease, {"spec", "leaseDurationSeconds"}).value_or(0);
  return {.ns = std::string(string_at(lease, {"metadata", "namespace"})),
          .holder = std::string(string_at(lease, {"spec", "holderIdentity"})),
          .renewed = std::string(string_at(lease, {"spec", "renewTime"})),
          .duration = std::chrono::seconds(std::clamp<int64_t>(seconds, 0, 1 << 20))};
}

}  // namespace

Result<bool> KueueTraceReader::is_there(const ResourceType& type, std::string_view name, const std::stop_token& stop) {
  const auto found = api_.get(kube::resource_of(type), "", name, stop);
  if (found) return !array_at(*found, {"webhooks"}).empty();
  if (found.error().not_found()) return false;
  return fail("whether " + std::string(name) + " is there is not known: " + found.error().message);
}

Result<bool> KueueTraceReader::may_admit(const std::string& ns, const std::string& account, MonotonicTime now,
                                         const std::stop_token& stop) {
  const std::string user = "system:serviceaccount:" + ns + ":" + account;
  if (const auto known = answers_.find(user); known != answers_.end() && now < known->second.until)
    return known->second.allowed;
  const json review = {
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SubjectAccessReview"},
      {"spec",
       {{"user", user},
        {"groups", {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"}},
        {"resourceAttributes",
         {{"verb", "update"}, {"group", "kueue.x-k8s.io"}, {"resource", "workloads"}, {"subresource", "status"}}}}}};
  const auto answer = api_.create({"authorization.k8s.io", "v1", "subjectaccessreviews", false, "SubjectAccessReview"},
                                  "", review, {}, stop);
  if (!answer) return fail("whether " + user + " is Kueue's account is not known: " + answer.error().message);
  const bool allowed = bool_at(*answer, {"status", "allowed"});
  answers_.insert_or_assign(user, Remembered{allowed, now + kRemember});
  return allowed;
}

Result<bool> KueueTraceReader::is_kueues(const KueueLease& lease, MonotonicTime now, const std::stop_token& stop) {
  if (lease.holder.empty() || is_muster_identity(lease.holder)) return false;
  for (const std::string& account : account_names_of(lease.holder)) {
    auto may = may_admit(lease.ns, account, now, stop);
    if (!may || *may) return may;
  }
  return false;
}

Result<KueueTraces> KueueTraceReader::read(MonotonicTime now, std::stop_token stop) {
  std::erase_if(answers_, [&](const auto& entry) { return entry.second.until <= now; });
  KueueTraces traces;
  for (const auto& [type, name] : {std::pair(&kMutatingWebhookConfigurations, manifests::kKueueMutatingWebhooks),
                                   std::pair(&kValidatingWebhookConfigurations, manifests::kKueueValidatingWebhooks)}) {
    const auto there = is_there(*type, name, stop);
    if (!there) return fail(there.error().message);
    if (*there) traces.webhooks.emplace_back(name);
  }
  // Read from the API server's memory: the cluster has many Leases, and this one is read often.
  kube::KubeRequest request;
  request.path = kube::collection_path(kube::leases(), "");
  request.query = {{"fieldSelector", "metadata.name=" + std::string(manifests::kKueueLeaseName)},
                   {"resourceVersion", "0"}};
  request.repeatable = true;
  const auto list = api_.send(request, stop);
  if (!list) return fail("whether Kueue's Lease is renewed is not known: " + list.error().message);
  for (const json& item : array_at(*list, {"items"})) {
    KueueLease lease = lease_of(item);
    const auto kueues = is_kueues(lease, now, stop);
    if (!kueues) return fail(kueues.error().message);
    if (*kueues) traces.leases.push_back(std::move(lease));
  }
  return traces;
}

void run_kueue_guard(kube::KubeApi& api, const kube::Timing& timing, const KueueGuardCallbacks& callbacks,
                     std::stop_token stop) {
  KueueTraceReader reader(api);
  KueuePresence presence;
  bool waiting = true, known = false;
  while (!stop.stop_requested()) {
    const auto traces = reader.read(timing.clock.now().monotonic, stop);
    if (stop.stop_requested()) return;
    if (!traces && !known) callbacks.wait(traces.error().message);
    if (traces) {
      const auto verdict = presence.saw(*traces, timing.clock.now().monotonic);
      const bool away = verdict == KueuePresence::Verdict::kAway;
      if (!away) callbacks.wait(presence.why());
      if (away && waiting) callbacks.go_on();
      waiting = !away;
      known = true;
    }
    timing.sleeper.sleep(waiting ? kWhileWaiting : kWhileAway, stop);
  }
}

}  // namespace muster::runtime
