#include "certs/manager.h"

#include <doctest/doctest.h>

#include "test/certs/memory_store.h"

namespace manager_test {

using namespace muster;
using namespace muster::certs;
using namespace std::chrono_literals;
using muster::test::MemoryStore;

namespace {

const ServingNames kNames{{"muster-webhook.muster-system.svc"}, {}};
const Lifetimes kLives{900h, 300h, 60s};

Now at(Duration age) {
  return {TimePoint{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)} + age, MonotonicTime{1h} + age};
}

struct Replica {
  explicit Replica(MemoryStore& store, bool assume_injected = false)
      : manager(store, {kNames, kLives, assume_injected}, [this](const ServingCertificate&) { ++changes; }) {}
  int changes = 0;
  CertificateManager manager;
};

}  // namespace

TEST_CASE("the first tick makes everything and tells the server") {
  MemoryStore store;
  Replica replica(store);
  CHECK_FALSE(replica.manager.current().has_value());
  const auto tick = replica.manager.tick(at(0h));
  CHECK(tick.problem.empty());
  CHECK(tick.did.find("missing") != std::string::npos);
  CHECK(tick.again_in > 0s);
  REQUIRE(replica.manager.current().has_value());
  const ServingCertificate& served = *replica.manager.current();
  CHECK(served.chain == store.state.leaf.certificate);
  CHECK(served.bundle == store.state.authority.certificate);
  CHECK(served.expires == at(300h).wall);
  CHECK(check_key({served.chain, served.key}).ok());
  CHECK(replica.changes == 1);

  const auto again = replica.manager.tick(at(1h));
  CHECK(again.did.empty());
  CHECK(replica.changes == 1);
  CHECK(store.writes == 1);
}

TEST_CASE("a replica that loses the race serves what the winner wrote") {
  MemoryStore store;
  MemoryStore elsewhere;
  Replica winner(elsewhere);
  winner.manager.tick(at(0h));
  store.lose_race_with = &elsewhere.state;
  Replica loser(store);
  const auto tick = loser.manager.tick(at(0h));
  CHECK(store.conflicts == 1);
  CHECK(store.writes == 0);
  CHECK(tick.did.empty());
  CHECK(tick.problem.empty());
  CHECK(loser.manager.current() == winner.manager.current());
}

TEST_CASE("an unreachable store leaves what is served and is asked again soon") {
  MemoryStore store;
  Replica replica(store);
  store.reachable = false;
  CHECK(replica.manager.tick(at(0h)).problem.find("connection refused") != std::string::npos);
  CHECK_FALSE(replica.manager.current().has_value());
  store.reachable = true;
  replica.manager.tick(at(0h));
  const auto served = replica.manager.current();
  store.reachable = false;
  const auto tick = replica.manager.tick(at(250h));
  CHECK(tick.problem.find("cannot read") != std::string::npos);
  CHECK(tick.again_in <= 1s);
  CHECK(replica.manager.current() == served);
}

TEST_CASE("a store that cannot be written is still served from") {
  MemoryStore store;
  Replica first(store);
  first.manager.tick(at(0h));
  store.writable = false;
  Replica second(store);
  const auto tick = second.manager.tick(at(250h));
  CHECK(tick.problem.find("cannot store") != std::string::npos);
  REQUIRE(second.manager.current().has_value());
  CHECK(second.manager.current()->chain == store.state.leaf.certificate);
}

TEST_CASE("a damaged or deleted state is put back by a replica that knows a good one") {
  MemoryStore store;
  Replica replica(store);
  replica.manager.tick(at(0h));
  const CertificateState good = store.state;
  const auto served = replica.manager.current();
  SUBCASE("deleted") {
    store.state = {};
  }
  SUBCASE("the CA key is gone") {
    store.state.authority.key.clear();
  }
  SUBCASE("a foreign leaf") {
    store.state.leaf = {"hello", "world"};
  }
  ++store.generation;
  const auto tick = replica.manager.tick(at(1h));
  CHECK(tick.did.find("put the last good certificates back") != std::string::npos);
  CHECK(store.state == good);
  CHECK(replica.manager.current() == served);
  CHECK(replica.changes == 1);
}

TEST_CASE("a replica that knows nothing better makes a damaged state anew") {
  MemoryStore store;
  store.state.authority = {"hello", "world"};
  store.generation = 7;
  Replica replica(store);
  const auto tick = replica.manager.tick(at(0h));
  CHECK(tick.did.find("the CA cannot be used") != std::string::npos);
  REQUIRE(replica.manager.current().has_value());
}

TEST_CASE("the CA is switched only after its bundle was injected everywhere for the whole delay") {
  MemoryStore store;
  Replica replica(store);
  CertificateManager& manager = replica.manager;
  manager.tick(at(0h));
  const std::string first_ca = store.state.authority.certificate;
  manager.tick(at(199h));
  manager.tick(at(399h));
  manager.tick(at(600h));
  REQUIRE_FALSE(store.state.next.certificate.empty());
  const std::string next_ca = store.state.next.certificate;
  const std::vector<std::string> old_bundles{first_ca, first_ca};
  const auto both = [&] { return std::vector<std::string>{manager.current()->bundle, manager.current()->bundle}; };

  CHECK(manager.injected(old_bundles, at(600h)));
  CHECK_FALSE(manager.injected(both(), at(600h + 1s)));
  CHECK(manager.tick(at(600h + 60s)).did.empty());
  // One configuration was reverted by another writer: the delay starts again.
  CHECK(manager.injected(std::vector<std::string>{first_ca, both()[0]}, at(600h + 60s)));
  CHECK_FALSE(manager.injected(both(), at(600h + 70s)));
  CHECK(manager.tick(at(600h + 120s)).did.empty());
  CHECK_FALSE(manager.injected(both(), at(600h + 125s)));
  CHECK(manager.tick(at(600h + 130s)).did.find("next CA") != std::string::npos);
  CHECK(store.state.authority.certificate == next_ca);
  CHECK(manager.current()->bundle == next_ca + first_ca);
  CHECK(verify_chain(manager.current()->chain, next_ca, at(601h).wall).ok());
}

TEST_CASE("without an injector the next CA counts as injected from when it is seen") {
  MemoryStore store;
  Replica replica(store, true);
  replica.manager.tick(at(0h));
  const std::string first_ca = store.state.authority.certificate;
  replica.manager.tick(at(600h));
  REQUIRE_FALSE(store.state.next.certificate.empty());
  replica.manager.tick(at(600h + 59s));
  CHECK(store.state.authority.certificate == first_ca);
  replica.manager.tick(at(600h + 60s));
  CHECK(store.state.authority.certificate != first_ca);
}

TEST_CASE("a different bundle is looked up in the store before it is overwritten") {
  MemoryStore store;
  Replica fast(store);
  Replica slow(store);
  fast.manager.tick(at(0h));
  slow.manager.tick(at(0h));
  fast.manager.tick(at(600h));
  REQUIRE(fast.manager.current()->bundle != slow.manager.current()->bundle);
  const std::vector<std::string> newer{fast.manager.current()->bundle};
  SUBCASE("the store explains it") {
    CHECK_FALSE(slow.manager.injected(newer, at(600h)));
    CHECK(slow.manager.current()->bundle == fast.manager.current()->bundle);
  }
  SUBCASE("nobody can explain it, so nothing is written") {
    store.reachable = false;
    CHECK_FALSE(slow.manager.injected(newer, at(600h)));
  }
  SUBCASE("the store does not know it, so it is overwritten") {
    const auto foreign = make_authority("foreign", {at(0h).wall, at(900h).wall});
    REQUIRE(foreign.ok());
    CHECK(slow.manager.injected(std::vector<std::string>{foreign->certificate}, at(600h)));
    CHECK(slow.manager.injected(std::vector<std::string>{""}, at(600h)));
  }
}

TEST_CASE("the store is read again at the latest after ten seconds, sooner with short lives") {
  MemoryStore store;
  Replica replica(store);
  replica.manager.tick(at(0h));
  CHECK(replica.manager.tick(at(1h)).again_in == 10s);

  MemoryStore quick_store;
  CertificateManager quick(quick_store, {kNames, {30s, 10s, 60s}, true}, [](const ServingCertificate&) {});
  quick.tick(at(0h));
  CHECK(quick.tick(at(1s)).again_in == 500ms);
}

}  // namespace manager_test
