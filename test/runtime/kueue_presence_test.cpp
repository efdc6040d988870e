#include "runtime/kueue/kueue_presence.h"

#include <doctest/doctest.h>

#include "runtime/leadership.h"

namespace kueue_presence_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;
using enum KueuePresence::Verdict;

namespace {

const MonotonicTime kStart{Duration(1h)};
const std::string kHolder = "kueue-controller-manager-5d9c7b6f-x2v4w_8a0f3c1e-1111-2222-3333-444455556666";

KueueTraces lease(const std::string& renewed, Duration duration = 15s, const std::string& ns = "kueue-system") {
  return {.leases = {{.ns = ns, .holder = kHolder, .renewed = renewed, .duration = duration}}, .webhooks = {}};
}

}  // namespace

TEST_CASE("kueue presence: nothing is there and muster goes on at once") {
  KueuePresence presence;
  CHECK(presence.saw({}, kStart) == kAway);
}

TEST_CASE("kueue presence: a Lease that is renewed is alive until it has stood still for its duration") {
  KueuePresence presence;
  CHECK(presence.saw(lease("t1"), kStart) == kUnknown);
  CHECK(presence.why().find("not known yet") != std::string::npos);
  CHECK(presence.saw(lease("t2"), kStart + 2s) == kThere);
  CHECK(presence.why() == "Lease kueue-system/c1f6bfd2.kueue.x-k8s.io is renewed by " + kHolder);
  CHECK(presence.saw(lease("t2"), kStart + 17s) == kThere);
  CHECK(presence.saw(lease("t2"), kStart + 18s) == kAway);
  // It comes back.
  CHECK(presence.saw(lease("t3"), kStart + 60s) == kThere);
  // It is deleted, or released.
  CHECK(presence.saw({}, kStart + 61s) == kAway);
}

TEST_CASE("kueue presence: a Lease that nobody renews holds muster up for its duration once") {
  KueuePresence presence;
  CHECK(presence.saw(lease("2099-01-01T00:00:00Z"), kStart) == kUnknown);  // another machine's clock is not believed
  CHECK(presence.saw(lease("2099-01-01T00:00:00Z"), kStart + 15s) == kUnknown);
  CHECK(presence.saw(lease("2099-01-01T00:00:00Z"), kStart + 16s) == kAway);
  CHECK(presence.saw(lease("2099-01-01T00:00:00Z"), kStart + 17s) == kAway);
  // A Lease cannot hold it up for ever.
  KueuePresence longest;
  longest.saw(lease("t", 24h), kStart);
  CHECK(longest.saw(lease("t", 24h), kStart + 11min) == kAway);
}

TEST_CASE("kueue presence: a Lease that appears while muster runs is alive at once") {
  KueuePresence presence;
  CHECK(presence.saw({}, kStart) == kAway);
  CHECK(presence.saw(lease("t1"), kStart + 3s) == kThere);
  // One that stands still beside it does not hide it.
  KueueTraces both = lease("old", 15s, "a");
  both.leases.push_back(lease("t1").leases[0]);
  KueuePresence other;
  CHECK(other.saw(both, kStart) == kUnknown);
  both.leases[1].renewed = "t2";
  CHECK(other.saw(both, kStart + 20s) == kThere);
}

TEST_CASE("kueue presence: Kueue's webhook configurations count as long as they are there") {
  KueuePresence presence;
  const KueueTraces traces{.leases = {}, .webhooks = {"kueue-mutating-webhook-configuration"}};
  CHECK(presence.saw(traces, kStart) == kThere);
  CHECK(presence.saw(traces, kStart + 24h) == kThere);
  CHECK(presence.why() == "the webhook configuration kueue-mutating-webhook-configuration is there");
  CHECK(presence.saw({}, kStart + 25h) == kAway);
}

TEST_CASE("kueue presence: muster's own replicas are told from Kueue's by their identity") {
  CHECK(is_muster_identity(process_identity()));
  CHECK_FALSE(is_muster_identity(kHolder));
  CHECK_FALSE(is_muster_identity("somebody"));
  CHECK_FALSE(is_muster_identity(""));
}

TEST_CASE("kueue presence: accounts are guessed from the holder's pod") {
  CHECK(account_names_of(kHolder) == std::vector<std::string>{"kueue-controller-manager"});
  CHECK(account_names_of("prod-kueue-controller-manager-5d9c7b6f-x2v4w_u") ==
        std::vector<std::string>{"kueue-controller-manager", "prod-kueue-controller-manager"});
  CHECK(account_names_of("x") == std::vector<std::string>{"kueue-controller-manager"});
  CHECK(account_names_of("") == std::vector<std::string>{"kueue-controller-manager"});
  CHECK(account_names_of("--a_") == std::vector<std::string>{"kueue-controller-manager"});
}

}  // namespace kueue_presence_test
