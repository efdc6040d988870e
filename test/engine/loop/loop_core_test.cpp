// The engine's loop without its threads: a batch of events in, values out, and writes that an outbox takes.
#include "engine/loop/loop_core.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/job.h"
#include "engine/loop/inbox.h"
#include "engine/loop/outbox_core.h"
#include "kinds/watched_kinds.h"
#include "test/engine/marked_jobs.h"
#include "test/support/hand_clock.h"

namespace loop_core_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// Jobs that are called "late-..." give way to others.
reconcilers::Plan mark_some_late(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  reconcilers::Plan plan = mark(target, context);
  for (reconcilers::Write& write : plan.writes) write.gives_way = target.name.starts_with("late-");
  return plan;
}
reconcilers::Plan fails(const ObjectKey& key, const reconcilers::ReconcileContext& context) {
  const Job* found = context.state.find<Job>(key.ns, key.name);
  if (found != nullptr && found->meta.name == "bad") throw std::runtime_error("a bad Job");
  return {};
}

const reconcilers::Reconciler kMarkSomeLate{
    .name = "mark", .requests_for = requests_for_jobs, .reconcile = mark_some_late};
const reconcilers::Reconciler kFails{.name = "fails", .requests_for = requests_for_jobs, .reconcile = fails};
const reconcilers::Reconciler* const kTable[] = {&kFails, &kMarkSomeLate};

// What runtime/ does with threads, by hand.
struct Loop {
  explicit Loop(size_t connections = 4) : outbox(connections) {}

  void post(Event event) { inbox.post(std::move(event)); }
  void post_lists() {
    for (const WatchedKind& kind : watched_kinds()) post(KindListed{kind.type, {}});
  }
  // A leader with an empty cluster.
  void lead() {
    post_lists();
    post(LeadershipChanged{true});
    turn();
  }
  // One batch, if any is due.
  bool turn() {
    clock.pass(Inbox::kRest);
    const auto batch = inbox.take(core.next_tick(), clock.now().monotonic);
    if (!batch) return false;
    for (const Event& event : *batch) core.apply(event, clock.now());
    last = core.plan(clock.now());
    for (Command& command : last.commands.writes) outbox.post(std::move(command));
    inbox.rest(clock.now().monotonic);
    return true;
  }
  // What the connections have taken.
  void send() {
    while (auto command = outbox.take()) sent.push_back(*std::move(command));
  }
  // The oldest that is under way.
  Command answer(reconcilers::WriteOutcome outcome) {
    REQUIRE_FALSE(sent.empty());
    Command command = std::move(sent.front());
    sent.pop_front();
    REQUIRE(outbox.finish(command.id));
    WriteFinished finished{command.id, outcome};
    if (outcome == reconcilers::WriteOutcome::kDone)
      finished.object = job(command.write.target.name, ++version, {{kSeen, "yes"}});
    post(std::move(finished));
    return command;
  }
  size_t sent_to(const std::string& prefix) const {
    return static_cast<size_t>(std::count_if(sent.begin(), sent.end(), [&](const Command& command) {
      return command.write.target.name.starts_with(prefix);
    }));
  }

  HandClock clock;
  LoopCore core{{}, kTable};
  Inbox inbox;
  OutboxCore outbox;
  LoopActions last;
  std::deque<Command> sent;
  uint64_t version = 100;
};

}  // namespace

TEST_CASE("loop core: the view appears when every kind was listed, is told once and follows") {
  Loop loop;
  loop.post(Tick{});
  REQUIRE(loop.turn());
  CHECK(loop.last.view == nullptr);
  CHECK_FALSE(loop.last.synced_now);
  loop.post_lists();
  REQUIRE(loop.turn());
  REQUIRE(loop.last.view != nullptr);
  CHECK(loop.last.synced_now);
  loop.post(ObjectChanged{
      read_object(kNamespaces, {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "late"}}}})});
  REQUIRE(loop.turn());
  CHECK_FALSE(loop.last.synced_now);
  CHECK(loop.last.view->namespace_labels("late") != nullptr);
}

TEST_CASE("loop core: what is missing, behind or set aside is told when it changes, and not else") {
  Loop loop;
  loop.post_lists();
  loop.post(KindAbsent{&kWorkloads});
  REQUIRE(loop.turn());
  CHECK(loop.last.missing_kinds == std::vector<std::string>{"workloads.kueue.x-k8s.io"});
  CHECK_FALSE(loop.last.kinds_behind);
  CHECK_FALSE(loop.last.quarantined);
  loop.post(KindListed{&kWorkloads, {}});
  loop.post(LeadershipChanged{true, 1});
  REQUIRE(loop.turn());
  CHECK(loop.last.missing_kinds == std::vector<std::string>{});
  REQUIRE(loop.last.kinds_behind);
  CHECK(loop.last.kinds_behind->size() == watched_kinds().size());
  for (const WatchedKind& kind : watched_kinds()) loop.post(KindCaughtUp{kind.type, 1});
  loop.post(ObjectChanged{job("bad", 1)});
  REQUIRE(loop.turn());
  CHECK_FALSE(loop.last.missing_kinds);
  CHECK(loop.last.kinds_behind == std::vector<std::string>{});
  CHECK(loop.last.commands.breakages.size() == 1);
  CHECK(loop.last.quarantined == 1);
  loop.post(Tick{});
  REQUIRE(loop.turn());
  CHECK_FALSE(loop.last.missing_kinds);
  CHECK_FALSE(loop.last.kinds_behind);
  CHECK_FALSE(loop.last.quarantined);
}

TEST_CASE("loop core: CA bundles of webhook configurations are told when they change") {
  Loop loop;
  const auto configuration = [](const char* version, const char* bundle) {
    return ObjectChanged{read_object(kMutatingWebhookConfigurations,
                                     {{"apiVersion", "admissionregistration.k8s.io/v1"},
                                      {"kind", "MutatingWebhookConfiguration"},
                                      {"metadata", {{"name", "muster"}, {"resourceVersion", version}}},
                                      {"webhooks", {{{"name", "one"}, {"clientConfig", {{"caBundle", bundle}}}}}}})};
  };
  loop.post(configuration("7", "b25l"));
  REQUIRE(loop.turn());
  CHECK(loop.last.bundles_seen == std::vector<std::string>{"one"});
  loop.post(configuration("8", "b25l"));
  REQUIRE(loop.turn());
  CHECK_FALSE(loop.last.bundles_seen);
  loop.post(configuration("9", "dHdv"));
  REQUIRE(loop.turn());
  CHECK(loop.last.bundles_seen == std::vector<std::string>{"two"});
}

TEST_CASE("loop core: a question is asked of a synced engine only, and one that breaks is told") {
  Loop loop;
  const auto never = loop.core.ask([](const Engine&) { FAIL_CHECK("it was asked"); });
  CHECK_FALSE(never.answered);
  CHECK_FALSE(never.breakage);
  loop.lead();
  bool asked = false;
  CHECK(loop.core.ask([&](const Engine& engine) { asked = engine.leads(); }).answered);
  CHECK(asked);
  const auto broken = loop.core.ask([](const Engine&) { throw std::runtime_error("no answer"); });
  CHECK_FALSE(broken.answered);
  REQUIRE(broken.breakage);
  CHECK(broken.breakage->what == "no answer");
}

TEST_CASE("loop core: an admission attempt has the time of its planning, and nothing else has") {
  LoopActions actions;
  actions.commands.measurements = {{.what = Measured::kAdmissionAttempt}, {.what = Measured::kAdmitted}};
  actions.note_planning_time(250ms);
  CHECK(actions.commands.measurements[0].seconds == doctest::Approx(0.25));
  CHECK(actions.commands.measurements[1].seconds == 0);
}

TEST_CASE("loop: each Job is written once, and its key waits for the answer") {
  Loop loop(2);
  loop.lead();
  for (int i = 0; i < 5; ++i) loop.post(ObjectChanged{job("job-" + std::to_string(i), 1)});
  REQUIRE(loop.turn());
  CHECK(loop.outbox.waiting() == 5);
  loop.send();
  CHECK(loop.sent.size() == 2);
  // More news of an object makes no second write while the first is under way.
  loop.post(ObjectChanged{job("job-0", 2)});
  REQUIRE(loop.turn());
  CHECK(loop.last.commands.writes.empty());
  std::multiset<std::string> written;
  for (int rounds = 0; rounds < 20 && !loop.sent.empty(); ++rounds) {
    written.insert(loop.answer(reconcilers::WriteOutcome::kDone).write.target.name);
    loop.turn();
    loop.send();
  }
  CHECK(written == std::multiset<std::string>{"job-0", "job-1", "job-2", "job-3", "job-4"});
  CHECK(loop.outbox.under_way() == 0);
}

TEST_CASE("loop: writes that give way leave connections to others, however many of them there are") {
  Loop loop(GivingWay::kAtATime + 2);
  loop.lead();
  for (int i = 0; i < 50; ++i) loop.post(ObjectChanged{job("late-" + std::to_string(i), 1)});
  REQUIRE(loop.turn());
  loop.send();
  CHECK(loop.sent_to("late-") == GivingWay::kAtATime);
  CHECK(loop.outbox.waiting() == 0);
  loop.post(ObjectChanged{job("urgent", 1)});
  REQUIRE(loop.turn());
  loop.send();
  CHECK(loop.sent_to("urgent") == 1);
  // In the end all of them are written.
  std::set<std::string> written;
  for (int rounds = 0; rounds < 5000 && written.size() < 51; ++rounds) {
    if (!loop.sent.empty()) written.insert(loop.answer(reconcilers::WriteOutcome::kDone).write.target.name);
    loop.turn();
    loop.send();
    CHECK(loop.sent_to("late-") <= GivingWay::kAtATime);
  }
  CHECK(written.size() == 51);
}

TEST_CASE("loop: a replica that loses leadership drops what is planned, and plans it again when it leads again") {
  Loop loop(1);
  loop.lead();
  for (const char* name : {"one", "two", "three"}) loop.post(ObjectChanged{job(name, 1)});
  REQUIRE(loop.turn());
  loop.send();
  REQUIRE(loop.sent.size() == 1);
  loop.post(LeadershipChanged{false});
  const auto ended = loop.outbox.end_leadership();
  CHECK(ended.under_way == std::vector<uint64_t>{loop.sent.front().id});
  CHECK(ended.dropped.size() == 2);
  for (const uint64_t id : ended.dropped) loop.post(WriteFinished{id, reconcilers::WriteOutcome::kFailed});
  loop.answer(reconcilers::WriteOutcome::kFailed);
  REQUIRE(loop.turn());
  CHECK(loop.last.commands.writes.empty());
  loop.clock.pass(5min);
  loop.post(Tick{});
  REQUIRE(loop.turn());
  CHECK(loop.last.commands.writes.empty());
  loop.post(LeadershipChanged{true});
  REQUIRE(loop.turn());
  CHECK(loop.outbox.waiting() == 3);
}

TEST_CASE("loop: an answer that comes after the leadership of its write has ended is taken in") {
  Loop loop(1);
  loop.lead();
  loop.post(ObjectChanged{job("one", 1)});
  REQUIRE(loop.turn());
  loop.send();
  loop.post(LeadershipChanged{false});
  REQUIRE(loop.turn());
  // The API server had done it.
  loop.answer(reconcilers::WriteOutcome::kDone);
  REQUIRE(loop.turn());
  const Job* known = loop.core.engine().state().find<Job>("team-a", "one");
  REQUIRE(known != nullptr);
  CHECK(known->meta.annotation(kSeen) == "yes");
  loop.post(LeadershipChanged{true});
  REQUIRE(loop.turn());
  CHECK(loop.outbox.waiting() == 0);
}

}  // namespace loop_core_test
