#include "kube/leases/lease_policy.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::kube::lease_policy_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Kind = LeaseStep::Kind;

// A candidate and the time around it.
struct Candidate {
  LeasePolicy policy;
  Now now{TimePoint(1'790'000'000s), MonotonicTime(1h)};

  explicit Candidate(LeaseOptions options = {}) : policy(options, "me") {}

  LeaseStep next(double random = 0) { return policy.next(now, random); }
  void pass(Duration time) {
    now.wall += time;
    now.monotonic += time;
  }
  void wait_until_next() {
    const LeaseStep step = next();
    REQUIRE(step.kind == Kind::kWait);
    REQUIRE(step.time > 0s);
    pass(step.time);
  }
  bool leading() const { return policy.leading(now.monotonic); }
  void find(std::string holder, std::string version) {
    REQUIRE(next().kind == Kind::kRead);
    policy.found({.holder = std::move(holder), .version = std::move(version), .duration = 15s, .transitions = 7},
                 now.monotonic);
  }
  // Answers the write that comes next, as a server does that carries it out.
  LeaseRecord write(std::string version, Duration latency = 0s) {
    const LeaseStep step = next();
    REQUIRE((step.kind == Kind::kCreate || step.kind == Kind::kUpdate));
    LeaseRecord record = step.record;
    record.version = std::move(version);
    const MonotonicTime sent = now.monotonic;
    pass(latency);
    policy.written(record, sent, now.monotonic);
    return record;
  }
  void lead() {
    find("", "1");
    write("2");
    REQUIRE(leading());
  }
};

TEST_CASE("a missing lease is created and makes a leader") {
  Candidate me;
  CHECK(me.next().kind == Kind::kRead);
  CHECK(me.next().time == 5s);
  me.policy.missing();
  CHECK(me.next().kind == Kind::kCreate);
  CHECK_FALSE(me.leading());
  const LeaseRecord created = me.write("1");
  CHECK(me.leading());
  CHECK(created.holder == "me");
  CHECK(created.duration == 15s);
  CHECK(created.transitions == 0);
  CHECK(created.acquired == to_timestamp(me.now.wall));
  CHECK(created.renewed == created.acquired);
}

TEST_CASE("leadership lasts for the renew deadline from before the renewal was sent") {
  Candidate me;
  me.find("", "1");
  const MonotonicTime sent = me.now.monotonic;
  me.write("2", 3s);
  CHECK(me.policy.valid_until(me.now.monotonic) == sent + 10s);
  me.wait_until_next();
  const MonotonicTime sent_again = me.now.monotonic;
  me.write("3", 1s);
  CHECK(me.policy.valid_until(me.now.monotonic) == sent_again + 10s);
}

TEST_CASE("renewals keep acquireTime and count no transition") {
  Candidate me;
  me.find("", "1");
  const LeaseRecord taken = me.write("2");
  CHECK(taken.transitions == 8);
  me.wait_until_next();
  const LeaseStep renewal = me.next();
  CHECK(renewal.kind == Kind::kUpdate);
  CHECK(renewal.record.version == "2");
  CHECK(renewal.record.acquired == taken.acquired);
  CHECK(renewal.record.renewed == to_timestamp(me.now.wall));
  CHECK(renewal.record.renewed > taken.renewed);
  CHECK(renewal.record.transitions == 8);
}

TEST_CASE("another holder is respected for its lease from when its record was last seen to change") {
  Candidate me;
  me.find("other", "1");
  const MonotonicTime seen = me.now.monotonic;
  while (me.now.monotonic < seen + 9s) {
    me.wait_until_next();
    me.find("other", "1");
  }
  me.wait_until_next();
  me.find("other", "2");  // renewed
  const MonotonicTime renewed = me.now.monotonic;
  while (me.now.monotonic < renewed + 15s) {
    CHECK(me.next().kind != Kind::kUpdate);
    me.wait_until_next();
    me.find("other", "2");
  }
  CHECK(me.now.monotonic == renewed + 15s);  // not a moment later
  const LeaseStep step = me.next();
  CHECK(step.kind == Kind::kUpdate);
  CHECK(step.record.version == "2");
  CHECK(step.record.transitions == 8);
  CHECK(step.record.acquired == to_timestamp(me.now.wall));
}

TEST_CASE("a record's own duration counts and not ours") {
  Candidate me;
  REQUIRE(me.next().kind == Kind::kRead);
  me.policy.found({.holder = "other", .version = "1", .duration = 60s}, me.now.monotonic);
  me.pass(59s);
  REQUIRE(me.next().kind == Kind::kWait);
  me.pass(2s);
  REQUIRE(me.next().kind == Kind::kRead);
  me.policy.found({.holder = "other", .version = "1", .duration = 60s}, me.now.monotonic);
  CHECK(me.next().kind == Kind::kUpdate);
}

TEST_CASE("candidates spread their attempts by up to 1.2 periods more") {
  for (const auto& [random, wait] : {std::pair<double, Duration>{0.0, 2000ms}, {0.5, 3200ms}, {1.0, 4400ms}}) {
    Candidate me;
    me.find("other", "1");
    CHECK(me.next(random).time == wait);
  }
}

TEST_CASE("what a leader does when its renewal fails") {
  SUBCASE("it reads and renews until the deadline and then has lost") {
    Candidate me;
    me.lead();
    const MonotonicTime until = *me.policy.valid_until(me.now.monotonic);
    while (me.now.monotonic < until) {
      const LeaseStep step = me.next();
      if (step.kind == Kind::kWait) {
        CHECK(me.now.monotonic + step.time <= until);  // awake when it ends
        me.pass(step.time);
        continue;
      }
      CHECK(me.now.monotonic + step.time <= until);  // no request outlasts it
      CHECK(me.leading());
      me.pass(step.time / 2);
      me.policy.failed(me.now.monotonic);
    }
    CHECK_FALSE(me.leading());
    CHECK(me.policy.valid_until(me.now.monotonic) == std::nullopt);
  }
  SUBCASE("a conflict with a write of its own that got no answer renews at once") {
    Candidate me;
    me.lead();
    me.wait_until_next();
    REQUIRE(me.next().kind == Kind::kUpdate);
    me.policy.failed(me.now.monotonic);  // but it came through as version 3
    me.wait_until_next();
    me.find("me", "3");
    CHECK(me.leading());
    CHECK(me.next().record.version == "3");
    me.write("4");
    CHECK(me.policy.valid_until(me.now.monotonic) == me.now.monotonic + 10s);
  }
  SUBCASE("a conflict with another holder loses at once") {
    Candidate me;
    me.lead();
    me.wait_until_next();
    REQUIRE(me.next().kind == Kind::kUpdate);
    me.policy.refused(me.now.monotonic);
    me.find("other", "3");
    CHECK_FALSE(me.leading());
    CHECK(me.policy.holder() == "other");
  }
  SUBCASE("a deleted lease is created again with its history") {
    Candidate me;
    me.lead();
    me.wait_until_next();
    REQUIRE(me.next().kind == Kind::kUpdate);
    me.policy.refused(me.now.monotonic);
    REQUIRE(me.next().kind == Kind::kRead);
    me.policy.missing();
    CHECK(me.next().kind == Kind::kCreate);
    CHECK(me.write("1").transitions == 8);
    CHECK(me.leading());
  }
}

TEST_CASE("an answer that comes after the deadline makes no leader and is renewed at once") {
  Candidate me;
  me.find("", "1");
  me.write("2", 11s);  // as after a pause of the whole machine
  CHECK_FALSE(me.leading());
  CHECK(me.next().kind == Kind::kUpdate);
  me.write("3");
  CHECK(me.leading());
}

TEST_CASE("a lease that is deleted under its holder counts as held until it would have run out") {
  Candidate me;
  me.find("other", "1");
  const MonotonicTime seen = me.now.monotonic;
  while (me.now.monotonic < seen + 15s) {
    CHECK(me.next().kind != Kind::kCreate);
    me.wait_until_next();
    REQUIRE(me.next().kind == Kind::kRead);
    me.policy.missing();
  }
  CHECK(me.next().kind == Kind::kCreate);
}

TEST_CASE("a lost race is read at once and a server that refuses everything is not hammered") {
  Candidate me;
  me.find("", "1");
  me.policy.refused(me.now.monotonic);
  me.find("", "1");
  REQUIRE(me.next().kind == Kind::kUpdate);
  me.policy.refused(me.now.monotonic);
  CHECK(me.next().kind == Kind::kWait);
  CHECK(me.next().time == 2s);
}

TEST_CASE("who resigns lost leadership and empties the lease if it may be its own") {
  SUBCASE("a leader") {
    Candidate me;
    me.lead();
    me.policy.resign();
    CHECK_FALSE(me.leading());
    const LeaseStep step = me.next();
    REQUIRE(step.kind == Kind::kUpdate);
    CHECK(step.record.holder.empty());
    CHECK(step.record.version == "2");
    CHECK(step.record.duration == 1s);
    CHECK(step.record.transitions == 8);
    me.write("3");
    CHECK_FALSE(me.leading());
    CHECK(me.next().kind == Kind::kDone);
  }
  SUBCASE("a leader whose last renewal may have come through looks first") {
    Candidate me;
    me.lead();
    me.wait_until_next();
    REQUIRE(me.next().kind == Kind::kUpdate);
    me.policy.failed(me.now.monotonic);
    me.policy.resign();
    me.find("me", "3");
    CHECK(me.next().record.version == "3");
    CHECK(me.next().record.holder.empty());
  }
  SUBCASE("a candidate whose attempt was cut short looks as well") {
    Candidate me;
    me.find("", "1");
    REQUIRE(me.next().kind == Kind::kUpdate);
    me.policy.failed(me.now.monotonic);
    me.policy.resign();
    me.find("me", "2");
    CHECK(me.next().kind == Kind::kUpdate);
  }
  SUBCASE("a candidate who never tried writes nothing") {
    Candidate me;
    me.find("other", "1");
    me.policy.resign();
    CHECK(me.next().kind == Kind::kDone);
  }
  SUBCASE("who finds another holder leaves it alone") {
    Candidate me;
    me.lead();
    me.policy.resign();
    REQUIRE(me.next().kind == Kind::kUpdate);
    me.policy.refused(me.now.monotonic);
    me.find("other", "9");
    CHECK(me.next().kind == Kind::kDone);
  }
  SUBCASE("without an answer it ends after one try") {
    Candidate me;
    me.lead();
    me.policy.resign();
    CHECK(me.next().time == 2s);
    me.policy.failed(me.now.monotonic);
    CHECK(me.next().kind == Kind::kDone);
  }
}

TEST_CASE("an emptied lease is taken over at once") {
  Candidate me;
  me.find("other", "1");
  me.wait_until_next();
  me.find("", "2");
  CHECK(me.next().kind == Kind::kUpdate);
}

TEST_CASE("options that cannot work are refused with the field that is wrong") {
  struct Row {
    std::string name;
    LeaseOptions options;
    std::string begins;  // of the error; empty: fine
  };
  const Row rows[] = {
      {"the defaults work", {}, ""},
      {"short leases of tests work", {2s, 1500ms, 300ms}, ""},
      {"a duration in fractions of a second", {2500ms, 1s, 100ms}, "leaderElection.leaseDuration"},
      {"no duration", {0s, -1s, -2s}, "leaderElection.leaseDuration"},
      {"a deadline as long as the lease", {15s, 15s, 2s}, "leaderElection.leaseDuration"},
      {"a deadline that leaves no second try", {15s, 2s, 2s}, "leaderElection.renewDeadline"},
      {"no retry period", {15s, 10s, 0s}, "leaderElection.retryPeriod"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto checked = check(row.options);
    CHECK(checked.ok() == row.begins.empty());
    if (!checked.ok()) CHECK(checked.error().message.starts_with(row.begins));
  }
}

TEST_CASE("a record survives being written into a lease and what is not ours stays") {
  const LeaseRecord record{.holder = "host_1",
                           .version = "5",
                           .duration = 15s,
                           .acquired = *parse_rfc3339_micro("2026-11-21T10:00:00.000001Z"),
                           .renewed = *parse_rfc3339_micro("2026-11-21T11:00:00.500000Z"),
                           .transitions = 3};
  json lease = {{"metadata", {{"name", "l"}, {"resourceVersion", "5"}, {"labels", {{"a", "b"}}}}},
                {"spec", {{"holderIdentity", "x"}, {"strategy", "OldestEmulationVersion"}}}};
  write_lease(record, lease);
  CHECK(lease["spec"]["renewTime"] == "2026-11-21T11:00:00.500000Z");
  CHECK(lease["spec"]["leaseDurationSeconds"] == 15);
  CHECK(lease["spec"]["strategy"] == "OldestEmulationVersion");
  CHECK(lease["metadata"]["labels"]["a"] == "b");
  CHECK(read_lease(lease) == record);
  CHECK(read_lease(json::object()) == LeaseRecord{});
  CHECK(read_lease({{"spec", {{"renewTime", "soon"}, {"holderIdentity", 3}}}}) == LeaseRecord{});
}

}  // namespace
}  // namespace muster::kube::lease_policy_test
