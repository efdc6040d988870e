#include "kube/leases/leader_election.h"

#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/kube/client_fixture.h"
#include "test/kube/manual_time.h"

namespace muster::kube::test::leader_election_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kPath = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases";

// An API server that holds one lease, and fails when a test asks for it.
class LeaseServer {
 public:
  LeaseServer() : server_([this](const FakeRequest& request, FakeExchange& exchange) { handle(request, exchange); }) {}

  const FakeApiServer& server() const { return server_; }
  json lease() const {
    const MutexLock lock(mutex_);
    return lease_;
  }
  std::string holder() const { return std::string(string_at(lease(), {"spec", "holderIdentity"})); }
  void put(const std::string& holder, int seconds) {
    const MutexLock lock(mutex_);
    store({{"metadata", {{"name", "muster"}, {"labels", {{"team", "a"}}}}},
           {"spec", {{"holderIdentity", holder}, {"leaseDurationSeconds", seconds}, {"leaseTransitions", 4}}}});
  }
  // Carries requests out, and breaks the connection instead of answering.
  std::atomic<bool> silent = false;
  std::atomic<bool> down = false;
  // Called before a PUT is carried out; any thread.
  std::function<void()> before_put = [] {};
  size_t puts() const {
    size_t count = 0;
    for (const auto& request : server_.requests()) count += request.method == "PUT" ? 1 : 0;
    return count;
  }

 private:
  void store(json lease) REQUIRES(mutex_) {
    lease["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = std::move(lease);
  }

  void handle(const FakeRequest& request, FakeExchange& exchange) {
    if (down) return exchange.break_off();
    if (request.method == "PUT") before_put();
    int status = 200;
    json answer;
    {
      const MutexLock lock(mutex_);
      const std::string current(string_at(lease_, {"metadata", "resourceVersion"}));
      if (request.method == "POST" && lease_.is_null()) {
        store(json::parse(request.body));
      } else if (request.method == "PUT" &&
                 string_at(json::parse(request.body), {"metadata", "resourceVersion"}) == current) {
        store(json::parse(request.body));
      } else if (request.method != "GET") {
        status = 409;
      } else if (lease_.is_null()) {
        status = 404;
      }
      answer = status == 200 ? lease_ : status_body(status, status == 404 ? "NotFound" : "Conflict", "no");
    }
    if (silent) return exchange.break_off();
    exchange.respond(status, answer);
  }

  mutable Mutex mutex_;
  json lease_ GUARDED_BY(mutex_);
  int version_ GUARDED_BY(mutex_) = 0;
  FakeApiServer server_;
};

class Replica {
 public:
  Replica(const LeaseServer& server, std::string identity)
      : identity_(std::move(identity)),
        client_(make_client(access_to(server.server()), test_options(), time.timing(), observer)) {
    LeaderCallbacks callbacks;
    callbacks.became_leader = [this] { note("became leader"); };
    callbacks.lost_leadership = [this](MonotonicTime until) {
      lost_until = until;
      on_lost();
      note("lost leadership");
    };
    callbacks.new_leader = [this](const std::string& leader) { note("leader: " + leader); };
    election_.emplace(*client_, LeaderElectionSettings{"muster-system", "muster", identity_, {}}, std::move(callbacks),
                      observer, time.timing());
  }
  ~Replica() { stop(); }

  void stop() { election_.reset(); }
  LeaderElection& election() { return *election_; }
  bool leads() const {
    const auto until = election_->valid_until();
    return until && time.now().monotonic < *until;
  }
  // Lets time pass in steps, each of which the thread has gone through.
  void pass(Duration duration) {
    while (duration > 0s) {
      REQUIRE(eventually([&] { return time.asleep_for().has_value(); }));
      const Duration step = std::min(duration, *time.asleep_for());
      time.advance(step);
      duration -= step;
    }
    REQUIRE(eventually([&] { return time.asleep_for().has_value(); }));
  }
  std::vector<std::string> notes() const {
    const MutexLock lock(mutex_);
    return notes_;
  }

  ManualTime time;
  RecordingObserver observer;
  std::function<void()> on_lost = [] {};
  std::atomic<MonotonicTime> lost_until{};

 private:
  void note(std::string text) {
    const MutexLock lock(mutex_);
    notes_.push_back(std::move(text));
  }
  const std::string identity_;
  std::unique_ptr<KubeClient> client_;
  mutable Mutex mutex_;
  std::vector<std::string> notes_ GUARDED_BY(mutex_);
  std::optional<LeaderElection> election_;
};

using Notes = std::vector<std::string>;

TEST_CASE("an election creates the lease and keeps renewing it") {
  LeaseServer server;
  Replica me(server, "me");
  me.pass(1s);
  CHECK(me.leads());
  CHECK(me.notes() == Notes{"leader: me", "became leader"});
  const json first = server.lease();
  CHECK(server.server().requests()[1].path == kPath);
  CHECK(first["kind"] == "Lease");
  CHECK(first["metadata"]["name"] == "muster");
  CHECK(first["metadata"]["namespace"] == "muster-system");
  CHECK(first["spec"]["leaseDurationSeconds"] == 15);
  CHECK(first["spec"]["leaseTransitions"] == 0);
  CHECK(first["spec"]["acquireTime"] == first["spec"]["renewTime"]);
  CHECK(parse_rfc3339_micro(first["spec"]["renewTime"].get<std::string>()).ok());
  me.pass(1min);
  CHECK(me.leads());
  CHECK(server.puts() == 30);
  CHECK(server.lease()["spec"]["acquireTime"] == first["spec"]["acquireTime"]);
  CHECK(server.lease()["spec"]["renewTime"] > first["spec"]["renewTime"]);
  CHECK(me.notes().size() == 2);
}

TEST_CASE("a candidate takes over a lease that ran out and keeps what others put into it") {
  LeaseServer server;
  server.put("other", 15);
  Replica me(server, "me");
  me.pass(14s);
  CHECK_FALSE(me.leads());
  CHECK(me.election().valid_until() == std::nullopt);
  CHECK(me.notes() == Notes{"leader: other"});
  me.pass(2s);
  CHECK(me.leads());
  CHECK(me.notes() == Notes{"leader: other", "leader: me", "became leader"});
  CHECK(server.lease()["spec"]["leaseTransitions"] == 5);
  CHECK(server.lease()["metadata"]["labels"]["team"] == "a");
}

TEST_CASE("a server that falls silent ends leadership at the renew deadline and its return restores it") {
  LeaseServer server;
  Replica me(server, "me");
  me.pass(1s);
  REQUIRE(me.leads());
  const MonotonicTime until = *me.election().valid_until();
  server.down = true;
  me.pass(until - me.time.now().monotonic - 1ms);
  CHECK(me.leads());
  CHECK(me.election().valid_until() == until);
  me.pass(1ms);
  CHECK_FALSE(me.leads());
  CHECK(me.election().valid_until() == std::nullopt);
  CHECK(me.notes() == Notes{"leader: me", "became leader", "lost leadership"});
  CHECK(me.lost_until.load() == until);
  CHECK(me.observer.count("lease: muster-system/muster: ") >= 3);
  server.down = false;
  me.pass(5s);
  CHECK(me.leads());
  CHECK(me.notes().back() == "became leader");
  CHECK(server.lease()["spec"]["leaseTransitions"] == 0);  // it never had another holder
}

TEST_CASE("a process that was frozen learns until when it led") {
  LeaseServer server;
  Replica me(server, "me");
  me.pass(1s);
  REQUIRE(me.leads());
  const MonotonicTime until = *me.election().valid_until();
  me.time.advance(std::chrono::minutes(5));
  REQUIRE(eventually([&] { return me.lost_until.load() != MonotonicTime(); }));
  CHECK(me.lost_until.load() == until);
}

TEST_CASE("a renewal that is carried out and not answered is found and renewed again") {
  LeaseServer server;
  Replica me(server, "me");
  me.pass(1s);
  REQUIRE(me.leads());
  const MonotonicTime before = *me.election().valid_until();
  server.silent = true;
  me.pass(2s);
  CHECK(me.election().valid_until() == before);  // an unknown outcome prolongs nothing
  server.silent = false;
  me.pass(3s);
  CHECK(*me.election().valid_until() > before);
  CHECK(me.notes().size() == 2);
}

TEST_CASE("leadership counts from before a slow renewal was sent") {
  LeaseServer server;
  std::atomic<Replica*> replica = nullptr;
  server.put("", 1);
  server.before_put = [&] {
    if (eventually([&] { return replica.load() != nullptr; })) replica.load()->time.advance(3s);
  };
  Replica me(server, "me");
  const MonotonicTime start = me.time.now().monotonic;
  replica = &me;
  REQUIRE(eventually([&] { return me.election().valid_until().has_value(); }));
  CHECK(*me.election().valid_until() == start + 10s);
}

TEST_CASE("stopping loses leadership before it empties the lease") {
  LeaseServer server;
  Replica me(server, "me");
  me.pass(1s);
  REQUIRE(me.leads());
  std::string holder_when_lost;
  std::optional<MonotonicTime> valid_when_lost = MonotonicTime();
  me.on_lost = [&] {
    holder_when_lost = server.holder();
    valid_when_lost = me.election().valid_until();
  };
  const std::string renewed = server.lease()["spec"]["renewTime"];
  me.time.advance(1s);
  me.stop();
  CHECK(holder_when_lost == "me");
  CHECK(valid_when_lost == std::nullopt);
  CHECK(me.notes() == Notes{"leader: me", "became leader", "lost leadership", "leader: "});
  const json spec = server.lease()["spec"];
  CHECK(spec["holderIdentity"] == "");
  CHECK(spec["leaseDurationSeconds"] == 1);
  CHECK(spec["renewTime"] > renewed);
}

TEST_CASE("a released lease passes on within one retry period") {
  LeaseServer server;
  Replica one(server, "one");
  one.pass(1s);
  Replica two(server, "two");
  two.pass(1s);
  CHECK_FALSE(two.leads());
  one.stop();
  two.pass(2s);
  CHECK(two.leads());
  CHECK(server.lease()["spec"]["leaseTransitions"] == 1);
}

TEST_CASE("a follower that stops writes nothing") {
  LeaseServer server;
  server.put("other", 15);
  {
    Replica me(server, "me");
    me.pass(5s);
  }
  CHECK(server.puts() == 0);
  CHECK(server.holder() == "other");
}

TEST_CASE("who deletes or steals the lease is noticed at the next renewal") {
  LeaseServer server;
  Replica me(server, "me");
  me.pass(1s);
  REQUIRE(me.leads());
  server.put("thief", 15);
  me.pass(2s);
  CHECK_FALSE(me.leads());
  CHECK(me.notes() == Notes{"leader: me", "became leader", "lost leadership", "leader: thief"});
}

TEST_CASE("renewals are never repeated behind the election's back") {
  LeaseServer server;
  Replica me(server, "me");
  me.pass(1s);
  const size_t before = server.server().requests().size();
  server.down = true;
  me.pass(2s);  // one attempt; the client itself would have made three
  CHECK(server.server().requests().size() == before + 1);
  CHECK(me.observer.count("retry: ") == 0);
  server.down = false;
}

}  // namespace
}  // namespace muster::kube::test::leader_election_test
