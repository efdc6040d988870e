#include "runtime/kueue/kueue_presence.h"

#include <algorithm>

#include "manifests/names.h"

namespace muster::runtime {
namespace {

// Limit for a Lease without a duration, or with a longer duration than any leader election uses.
constexpr Duration kShortest = std::chrono::seconds(1), kLongest = std::chrono::minutes(10);

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

}  // namespace

bool is_muster_identity(std::string_view holder) {
  const size_t mark = holder.rfind('_');
  if (mark == std::string_view::npos) return false;
  const std::string_view id = holder.substr(mark + 1);
  return id.size() == 32 && std::all_of(id.begin(), id.end(), is_hex);
}

std::vector<std::string> account_names_of(std::string_view holder) {
  std::vector<std::string> names = {std::string(manifests::kKueueAccount)};
  std::string_view deployment = holder.substr(0, holder.rfind('_'));
  for (int part = 0; part < 2; ++part) {
    const size_t dash = deployment.rfind('-');
    if (dash == std::string_view::npos || dash == 0) return names;
    deployment = deployment.substr(0, dash);
  }
  if (deployment != manifests::kKueueAccount) names.emplace_back(deployment);
  return names;
}

KueuePresence::Verdict KueuePresence::judge(const KueueLease& lease, MonotonicTime now) {
  const auto [found, fresh] = seen_.try_emplace(lease.ns, Seen{lease, now, !first_});
  Seen& seen = found->second;
  if (!fresh && seen.lease != lease) seen = {lease, now, true};
  const Duration duration = std::clamp(lease.duration, kShortest, kLongest);
  if (now - seen.changed > duration) {
    seen.lives = false;
    return Verdict::kAway;
  }
  return seen.lives ? Verdict::kThere : Verdict::kUnknown;
}

KueuePresence::Verdict KueuePresence::saw(const KueueTraces& traces, MonotonicTime now) {
  std::erase_if(seen_, [&](const auto& entry) {
    return std::none_of(traces.leases.begin(), traces.leases.end(),
                        [&](const KueueLease& lease) { return lease.ns == entry.first; });
  });
  Verdict verdict = Verdict::kAway;
  for (const KueueLease& lease : traces.leases) {
    const Verdict of_lease = judge(lease, now);
    if (of_lease <= verdict && !(of_lease == Verdict::kUnknown && verdict == Verdict::kAway)) continue;
    verdict = of_lease;
    const std::string name = "Lease " + lease.ns + "/" + std::string(manifests::kKueueLeaseName);
    why_ = of_lease == Verdict::kThere
               ? name + " is renewed by " + lease.holder
               : name + " is held by " + lease.holder + ", and whether it is renewed is not known yet";
  }
  first_ = false;
  if (traces.webhooks.empty()) return verdict;
  why_ = "the webhook configuration " + traces.webhooks.front() + " is there";
  return Verdict::kThere;
}

}  // namespace muster::runtime
