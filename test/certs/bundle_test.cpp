#include "certs/bundle.h"

#include <doctest/doctest.h>

#include <functional>

namespace bundle_test {

using namespace muster;
using namespace muster::certs;
using namespace std::chrono_literals;

namespace {

const TimePoint kStart{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};
const ServingNames kNames{{"muster-webhook.muster-system.svc"}, {}};
const Lifetimes kLives{900h, 300h, 60s};

CertificateState fresh(TimePoint now = kStart, const Lifetimes& lives = kLives) {
  auto made = apply(CertificateAction::kMakeAll, {CertificateState{}, kNames, lives, now, std::nullopt});
  REQUIRE(made.ok());
  return *made;
}

CertificateState with_next(TimePoint now) {
  auto made = apply(CertificateAction::kPublishNext, {fresh(), kNames, kLives, now, std::nullopt});
  REQUIRE(made.ok());
  return *made;
}

CertificateState changed(CertificateState state, const std::function<void(CertificateState&)>& change) {
  change(state);
  return state;
}

}  // namespace

TEST_CASE("the plan follows the state and the time") {
  const CertificateState made = fresh();
  const CertificateState published = with_next(kStart + 600h);
  const CertificateState other = fresh();
  struct Row {
    std::string name;
    CertificateState state;
    Duration age;  // since kStart
    std::optional<Duration> injected_for;
    CertificateAction action;
    bool damaged;
  };
  using enum CertificateAction;
  const Row rows[] = {
      {"nothing is stored yet", {}, 0h, {}, kMakeAll, true},
      {"a new state is kept", made, 0h, {}, kKeep, false},
      {"a machine whose clock is an hour slow keeps it too", made, -59min, {}, kKeep, false},
      {"a certificate from far in the future is replaced", made, -150h, {}, kMakeAll, true},
      {"a leaf is kept just before 2/3 of its life", made, 200h - 1s, {}, kKeep, false},
      {"a leaf is renewed at 2/3 of its life", made, 200h, {}, kRenewLeaf, false},
      {"an expired leaf is renewed", made, 300h, {}, kRenewLeaf, false},
      {"an expired CA means all anew", made, 900h, {}, kMakeAll, false},
      {"a next CA that nobody has injected does not sign", published, 610h, {}, kRenewLeaf, false},
      {"a bundle that is injected for too short a time does not count", published, 600h, 59s, kRenewLeaf, false},
      {"a bundle that is injected long enough lets the next CA sign", published, 600h, 60s, kSwitch, false},
      {"an expired CA gives way to an unconfirmed next one", published, 900h, {}, kSwitch, false},
      {"a lost CA key gives way to the next CA",
       changed(published, [](auto& s) { s.authority.key.clear(); }),
       600h,
       {},
       kSwitch,
       true},
      {"a missing CA key means all anew",
       changed(made, [](auto& s) { s.authority.key.clear(); }),
       0h,
       {},
       kMakeAll,
       true},
      {"a CA certificate that is a leaf means all anew",
       changed(made, [](auto& s) { s.authority = s.leaf; }),
       0h,
       {},
       kMakeAll,
       true},
      {"a CA certificate that is text means all anew",
       changed(made, [](auto& s) { s.authority.certificate = "hello"; }),
       0h,
       {},
       kMakeAll,
       true},
      {"a missing leaf is renewed", changed(made, [](auto& s) { s.leaf = {}; }), 0h, {}, kRenewLeaf, true},
      {"a leaf of another CA is renewed",
       changed(made, [&](auto& s) { s.leaf = other.leaf; }),
       0h,
       {},
       kRenewLeaf,
       true},
      {"a leaf with another key is renewed",
       changed(made, [&](auto& s) { s.leaf.key = other.leaf.key; }),
       0h,
       {},
       kRenewLeaf,
       true},
      {"a damaged next CA is made again",
       changed(published, [](auto& s) { s.next.key = "x"; }),
       600h,
       {},
       kPublishNext,
       true},
      {"half a next CA is made again",
       changed(made, [&](auto& s) { s.next.key = other.authority.key; }),
       0h,
       {},
       kPublishNext,
       true},
      {"unreadable previous CAs are trimmed",
       changed(made, [](auto& s) { s.previous = "hello"; }),
       0h,
       {},
       kTrim,
       false},
      {"a previous CA that lives is kept",
       changed(made, [&](auto& s) { s.previous = other.authority.certificate; }),
       0h,
       {},
       kKeep,
       false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto decision = plan({row.state, kNames, kLives, kStart + row.age, row.injected_for});
    INFO(decision.reason);
    CHECK(decision.action == row.action);
    CHECK(decision.damaged == row.damaged);
    CHECK(decision.reason.empty() == (row.action == kKeep));
    CHECK((decision.valid_for > 0s) == (row.action == kKeep));
  }
}

TEST_CASE("other names than configured renew the leaf, the order of names does not") {
  const CertificateState state = fresh();
  const ServingNames more{{"muster-webhook.muster-system.svc", "localhost"}, {"127.0.0.1"}};
  CHECK(plan({state, more, kLives, kStart, {}}).action == CertificateAction::kRenewLeaf);
  const auto renewed = apply(CertificateAction::kRenewLeaf, {state, more, kLives, kStart, {}});
  REQUIRE(renewed.ok());
  CHECK(renewed->authority == state.authority);
  const ServingNames shuffled{{"LOCALHOST", "muster-webhook.muster-system.svc"}, {"127.0.0.1"}};
  CHECK(plan({*renewed, shuffled, kLives, kStart, {}}).action == CertificateAction::kKeep);
}

TEST_CASE("two versions that want different names agree on a certificate for both until it is due") {
  const ServingNames old_names{{"old.muster-system.svc"}, {}}, new_names{{"new.muster-system.svc"}, {}};
  const auto old_leaf = apply(CertificateAction::kMakeAll, {{}, old_names, kLives, kStart, {}});
  REQUIRE(old_leaf.ok());
  const auto both = apply(CertificateAction::kRenewLeaf, {*old_leaf, new_names, kLives, kStart + 1h, {}});
  REQUIRE(both.ok());
  CHECK(plan({*both, old_names, kLives, kStart + 1h, {}}).action == CertificateAction::kKeep);
  CHECK(plan({*both, new_names, kLives, kStart + 1h, {}}).action == CertificateAction::kKeep);

  const TimePoint due = kStart + 1h + kLives.leaf;
  const auto later = apply(CertificateAction::kRenewLeaf, {*both, new_names, kLives, due - kLives.leaf / 4, {}});
  REQUIRE(later.ok());
  CHECK(plan({*later, old_names, kLives, due - kLives.leaf / 4, {}}).action == CertificateAction::kRenewLeaf);
}

TEST_CASE("a plan stands until the next thing is due") {
  const CertificateState state = fresh();
  const auto first = plan({state, kNames, kLives, kStart, {}});
  REQUIRE(first.action == CertificateAction::kKeep);
  CHECK(first.valid_for == 200h);
  const CertificateState waiting = with_next(kStart + 150h);
  CHECK(plan({waiting, kNames, kLives, kStart + 150h, 20s}).valid_for == 40s);
}

TEST_CASE("a leaf that ends with its CA is not signed again by that CA") {
  const Lifetimes lives{30h, 30h, 60s};
  CertificateState state = fresh(kStart, lives);
  const TimePoint late = kStart + 29h;
  auto published = apply(CertificateAction::kPublishNext, {state, kNames, lives, late, {}});
  REQUIRE(published.ok());
  CHECK(plan({*published, kNames, lives, late, {}}).action == CertificateAction::kKeep);
}

TEST_CASE("publishing changes the bundle and not the leaf") {
  const CertificateState before = fresh();
  const auto after = apply(CertificateAction::kPublishNext, {before, kNames, kLives, kStart + 600h, {}});
  REQUIRE(after.ok());
  CHECK(after->leaf == before.leaf);
  CHECK(after->authority == before.authority);
  CHECK(bundle_of(*after) == after->next.certificate + before.authority.certificate);
}

TEST_CASE("switching keeps the old CA trusted, forgets its key and signs a leaf that old and new bundle accept") {
  const TimePoint now = kStart + 600h;
  const CertificateState before = with_next(now);
  const auto after = apply(CertificateAction::kSwitch, {before, kNames, kLives, now, 60s});
  REQUIRE(after.ok());
  CHECK(after->authority == before.next);
  CHECK(after->next == KeyPair{});
  CHECK(after->previous == before.authority.certificate);
  CHECK(verify_chain(after->leaf.certificate, bundle_of(before), now).ok());
  CHECK(verify_chain(before.leaf.certificate, bundle_of(*after), kStart + 299h).ok());
  CHECK(plan({*after, kNames, kLives, now, {}}).action == CertificateAction::kKeep);

  const TimePoint end = kStart + 900h;
  const auto renewed = apply(CertificateAction::kRenewLeaf, {*after, kNames, kLives, end, {}});
  REQUIRE(renewed.ok());
  CHECK(plan({*renewed, kNames, kLives, end - 1s, {}}).action == CertificateAction::kKeep);
  CHECK(plan({*renewed, kNames, kLives, end, {}}).action == CertificateAction::kTrim);
  const auto trimmed = apply(CertificateAction::kTrim, {*renewed, kNames, kLives, end, {}});
  REQUIRE(trimmed.ok());
  CHECK(trimmed->previous.empty());
  CHECK(bundle_of(*trimmed) == trimmed->authority.certificate);
}

TEST_CASE("what was there is not trusted when all is made anew") {
  const CertificateState foreign = changed(with_next(kStart), [](auto& s) { s.authority.key = s.next.key = ""; });
  const auto made = apply(CertificateAction::kMakeAll, {foreign, kNames, kLives, kStart, {}});
  REQUIRE(made.ok());
  CHECK(made->previous.empty());
  CHECK(made->next == KeyPair{});
  CHECK_FALSE(bundle_contains(bundle_of(*made), foreign.authority.certificate));
}

TEST_CASE("the backdate is an hour, or half of a short life") {
  CHECK(backdate(24h * 90) == 1h);
  CHECK(backdate(2h) == 1h);
  CHECK(backdate(10s) == 5s);
  const auto facts = read_certificate(fresh().leaf.certificate);
  REQUIRE(facts.ok());
  CHECK(facts->not_before == kStart - 1h);
  CHECK(facts->not_after == kStart + 300h);
}

TEST_CASE("the publish delay is bounded by the life of the CA") {
  CHECK(Lifetimes{24h, 8h, 60s}.effective_publish_delay() == 60s);
  CHECK(Lifetimes{60s, 20s, 60s}.effective_publish_delay() == 5s);
}

TEST_CASE("bundles are compared as sets of certificates") {
  const std::string one = fresh().authority.certificate;
  const std::string two = fresh().authority.certificate;
  CHECK(bundle_contains(one + two, two));
  CHECK(bundle_contains(two + "\n# note\n" + one, one + two));
  CHECK(bundle_contains(one, ""));
  CHECK_FALSE(bundle_contains(one, two));
  CHECK_FALSE(bundle_contains("", one));
  CHECK_FALSE(bundle_contains("-----BEGIN CERTIFICATE-----\nx", one));
}

}  // namespace bundle_test
