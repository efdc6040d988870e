#include "test/world/muster_process.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/codec/json.h"
#include "engine/loop/write_answer.h"

namespace muster::world {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAbsentRetry = seconds(30);
constexpr Duration kDoubtfulRetry = seconds(2);
// Until a thread runs that was woken.
constexpr Duration kLongestWake = milliseconds(2);

double some_rate(Chance& chance, double skew) {
  if (skew == 0) return 1;
  constexpr double kParts = 1000;
  return 1 + skew * (static_cast<double>(chance.number() % 2001) / kParts - 1);
}

}  // namespace

Faults Faults::storm() {
  return {.write_refused = 0.03,
          .answer_lost = 0.03,
          .watch_stalls = 0.02,
          .stall = seconds(5),
          .between_accidents = seconds(20),
          .clock_skew = 0.05};
}

MusterProcess::MusterProcess(Surroundings around)
    : around_(std::move(around)),
      clock_rate_(some_rate(around_.chance, around_.faults.clock_skew)),
      outbox_(around_.options.connections) {}

Now MusterProcess::now() const {
  const Now real = around_.timeline.now();
  const Duration passed = around_.timeline.elapsed();
  return {real.wall, real.monotonic - passed + scaled(passed, clock_rate_)};
}

MonotonicTime MusterProcess::moment_of(MonotonicTime own) const {
  const MonotonicTime begin = around_.timeline.time() - around_.timeline.elapsed();
  constexpr double kMost = 9e18;  // fits
  const double passed = static_cast<double>((own - begin).count()) / clock_rate_;
  return begin + Duration(static_cast<int64_t>(std::ceil(std::min(passed, kMost))));
}

void MusterProcess::start() {
  if (running()) return;
  ++starts_;
  alive_ = std::make_shared<int>(0);
  loop_ = std::make_unique<engine::LoopCore>(around_.settings);
  candidacy_ = engine::Candidacy(true);
  candidacy_.begin();
  for (const WatchedKind& kind : watched_kinds()) {
    if (engine::is_watched(kind, around_.settings.reconcilers)) {
      watch(kind);
      continue;
    }
    for (engine::Event& event : engine::events_of_unwatched(*kind.type)) post(std::move(event));
  }
}

void MusterProcess::kill() {
  if (!running()) return;
  alive_.reset();
  loop_.reset();
  inbox_ = {};
  outbox_ = engine::OutboxCore(around_.options.connections);
  view_ = nullptr;
  term_ = 0;
  feeds_.clear();
  turn_at_.reset();
  awaiting_room_.clear();
}

void MusterProcess::after(Duration delay, std::function<void()> action) {
  around_.timeline.after(delay, [alive = std::weak_ptr<int>(alive_), action = std::move(action)] {
    if (!alive.expired()) action();
  });
}

// --- Watches ---

void MusterProcess::watch(const WatchedKind& kind) {
  feeds_.push_back(
      {.events = engine::KindFeed(kind, {}, around_.settings.observer,
                                  std::make_shared<const ReconcilerSettings>(around_.settings.reconcilers)),
       .selection = {std::string(kind.label_selector), std::string(kind.field_selector)}});
  connect(feeds_.size() - 1);
}

void MusterProcess::connect(size_t index) {
  Feed& feed = feeds_[index];
  feed.connected = false;
  feed.proof.reset();
  const uint64_t session = ++feed.session;
  after(some(around_.options.way_low, around_.options.way_high), [this, index, session, term = term_] {
    Feed& resumed = feeds_[index];
    if (resumed.session != session) return;
    const bool listing = resumed.seen == 0;
    if (cut_off_ || (!listing && broken_.contains(resumed.type().id()))) return connect_later(index, seconds(1));
    if (listing) return list(index, term);
    resumed.connected = true;
    resumed.proof = {around_.server.version(), term};
    deliver(index, session, around_.server.version());
  });
}

void MusterProcess::connect_later(size_t index, Duration delay) {
  after(delay, [this, index, session = feeds_[index].session] {
    if (feeds_[index].session == session) connect(index);
  });
}

void MusterProcess::list(size_t index, uint64_t term) {
  Feed& feed = feeds_[index];
  const bool absent = !around_.server.serves(feed.type()) || hides(feed.type());
  feed.events.begin_list();
  for (const ObjectPtr& object : around_.server.list(feed.type(), feed.selection)) {
    if (const auto read = feed.events.list(*object); !read) around_.broke(read.error());
  }
  engine::KindListed listed = feed.events.end_list(around_.server.version());
  after(some(around_.options.way_low, around_.options.way_high),
        [this, index, term, session = feed.session, absent, listed = std::move(listed)]() mutable {
          if (feeds_[index].session != session) return;
          if (absent) return find_absent(index, term);
          when_room([this, index, term, session, listed = std::move(listed)] {
            if (feeds_[index].session == session) take_list(index, listed, term);
          });
        });
}

void MusterProcess::take_list(size_t index, engine::KindListed listed, uint64_t term) {
  Feed& feed = feeds_[index];
  feed.absences = 0;
  feed.seen = listed.version;
  post(std::move(listed));
  tell_caught_up(feed, term);
  if (broken_.contains(feed.type().id())) return connect(index);
  feed.connected = true;
  deliver(index, feed.session, around_.server.version());
}

// As in kube/watch.h: discovery must report this twice before it counts.
void MusterProcess::find_absent(size_t index, uint64_t term) {
  Feed& feed = feeds_[index];
  const bool certain = ++feed.absences >= 2;
  if (certain) {
    post(feed.events.absence());
    tell_caught_up(feed, term);
  }
  connect_later(index, certain ? kAbsentRetry : kDoubtfulRetry);
}

void MusterProcess::tell_caught_up(Feed& feed, uint64_t term) {
  if (const auto caught_up = feed.events.caught_up(term)) post(*caught_up);
}

void MusterProcess::see(const Change& change) {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    Feed& feed = feeds_[i];
    if (stored_id(feed.type()) != stored_id(*change.type) || !feed.connected) continue;
    Duration delay = some(around_.options.watch_low, around_.options.watch_high);
    if (around_.chance.happens(around_.faults.watch_stalls)) delay += some(Duration(0), around_.faults.stall);
    feed.last_delivery = std::max(feed.last_delivery, around_.timeline.time() + delay);
    after(feed.last_delivery - around_.timeline.time(),
          [this, i, session = feed.session, version = change.version] { deliver(i, session, version); });
  }
}

void MusterProcess::deliver(size_t index, uint64_t session, uint64_t up_to) {
  Feed& feed = feeds_[index];
  if (!feed.connected || feed.session != session || cut_off_) return;
  if (up_to > feed.seen) {
    const auto changes = around_.server.changes_since(feed.type(), feed.selection, feed.seen);
    if (!changes) {
      feed.seen = 0;  // 410 Gone: then a list is the proof
      return connect(index);
    }
    for (const Change& change : *changes) {
      if (change.version > up_to) break;
      if (!inbox_.has_room()) return when_room([this, index, session, up_to] { deliver(index, session, up_to); });
      auto event = change.removed ? feed.events.removal(*change.after) : feed.events.change(*change.after);
      if (event)
        post(*std::move(event));
      else
        around_.broke(event.error());
      feed.seen = change.version;
      around_.heard(change);
    }
    feed.seen = up_to;
  }
  if (!feed.proof || feed.seen < feed.proof->version) return;
  tell_caught_up(feed, std::exchange(feed.proof, std::nullopt)->term);
}

void MusterProcess::hide(const ResourceType& type, bool hidden) {
  if (!hidden) {
    hidden_.erase(type.id());
    return;
  }
  hidden_.insert(type.id());
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (feeds_[i].type() != type) continue;
    feeds_[i].seen = 0;  // a watch that is refused with 404 lists again
    connect(i);
  }
}

void MusterProcess::lose_watches(const ResourceType* type) {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (type == nullptr || feeds_[i].type() == *type) connect(i);
  }
}

void MusterProcess::break_watch(const ResourceType& type, bool broken) {
  if (broken)
    broken_.insert(type.id());
  else
    broken_.erase(type.id());
  lose_watches(&type);
}

void MusterProcess::cut_off(bool cut) {
  cut_off_ = cut;
  // Events during the interruption are lost; the watches notice this and resume.
  if (!cut) lose_watches(nullptr);
}

// --- The engine's thread, as runtime/engine_loop.cpp ---

void MusterProcess::lead(bool leads) {
  if (!running()) return;
  if (leads) {
    post(engine::LeadershipChanged{true, ++term_});
    return lose_watches(nullptr);  // as in kube/watch.h: a watch that resumes proves that it is current
  }
  post(engine::LeadershipChanged{false});
  const engine::OutboxCore::Ended ended = outbox_.end_leadership();
  for (const uint64_t id : ended.under_way) finish({id, reconcilers::WriteOutcome::kFailed});
  for (const uint64_t id : ended.dropped) post(engine::WriteFinished{id, reconcilers::WriteOutcome::kFailed});
}

void MusterProcess::when_room(std::function<void()> action) {
  if (inbox_.has_room()) return action();
  awaiting_room_.push_back(std::move(action));
}

void MusterProcess::post(engine::Event event) {
  const bool wakes = inbox_.empty();
  inbox_.post(std::move(event));
  if (wakes) plan_turn();
}

void MusterProcess::plan_turn() {
  const MonotonicTime now = around_.timeline.time();
  const auto batch = inbox_.next_batch(loop_->next_tick());
  if (!batch) return;
  const MonotonicTime at = std::max(moment_of(*batch), now);
  if (turn_at_ && *turn_at_ <= at + kLongestWake) return;
  turn_at_ = at + some(Duration(0), kLongestWake);
  after(*turn_at_ - now, [this, planned = *turn_at_] {
    if (turn_at_ == planned) turn();
  });
}

void MusterProcess::turn() {
  turn_at_.reset();
  const Now now = this->now();
  if (const auto events = inbox_.take(loop_->next_tick(), now.monotonic)) {
    inbox_.rest(now.monotonic);
    for (auto& waiting : std::exchange(awaiting_room_, {})) when_room(std::move(waiting));
    for (const engine::Event& event : *events) loop_->apply(event, now);
    engine::LoopActions actions = loop_->plan(now);
    view_ = std::move(actions.view);
    for (engine::Command& command : actions.commands.writes) outbox_.post(std::move(command));
    for (const ObjectEvent& event : actions.commands.events) around_.record(event);
    for (const engine::Breakage& breakage : actions.commands.breakages) around_.broke(breakage);
    if (actions.kinds_behind) set_behind(!actions.kinds_behind->empty());
    send_writes();
  }
  plan_turn();
}

// Leadership::yield_when_behind() without its thread.
void MusterProcess::set_behind(bool behind) {
  candidacy_.set_behind(behind, around_.timeline.time());
  const auto yields_at = candidacy_.yields_at();
  if (!yields_at) return;
  after(*yields_at - around_.timeline.time(), [this] {
    const auto due = candidacy_.yields_at();
    if (due && *due <= around_.timeline.time() && candidacy_.pause(engine::Candidacy::Pause::kBehind))
      around_.give_up_lease();
  });
}

// --- Connections, as runtime/outbox.cpp ---

void MusterProcess::send_writes() {
  while (auto command = outbox_.take()) {
    const auto not_after = engine::OutboxCore::can_send_until(*command, around_.leads_until(), around_.timeline.time());
    if (not_after) {
      send(*std::move(command), *not_after);
    } else {
      outbox_.finish(command->id);
      post(engine::WriteFinished{command->id, reconcilers::WriteOutcome::kFailed});
    }
  }
}

void MusterProcess::send(engine::Command command, MonotonicTime not_after) {
  if (around_.chance.happens(around_.faults.write_late)) return send_late(command, not_after);
  const Duration way = some(around_.options.way_low, around_.options.way_high);
  // A request that has left the process can arrive although the process has crashed since, or has ended the
  // request.
  const bool survives = around_.chance.happens(0.5);
  around_.timeline.after(way,
                         [this, alive = std::weak_ptr<int>(alive_), survives, command = std::move(command), not_after] {
                           if (!alive.expired() && outbox_.is_under_way(command.id))
                             arrive(command, not_after);
                           else if (survives)
                             around_.carry_out(command.write, false);
                         });
}

// The API server is slow: muster gives up waiting, and perhaps its lease, and then it is done.
void MusterProcess::send_late(const engine::Command& command, MonotonicTime not_after) {
  around_.timeline.after(some(around_.options.way_low, around_.faults.late),
                         [this, write = command.write] { around_.carry_out(write, false); });
  give_up(command.id, not_after);
}

void MusterProcess::arrive(const engine::Command& command, MonotonicTime not_after) {
  const Duration way = some(around_.options.way_low, around_.options.way_high);
  if (cut_off_) return give_up(command.id, not_after);
  if (hides(*command.write.target.type)) return fail_after(way, command.id);
  if (around_.chance.happens(around_.faults.write_refused)) return fail_after(way, command.id);
  const bool heard = !around_.chance.happens(around_.faults.answer_lost);
  const std::weak_ptr<int> alive = alive_;
  const Answer answer = around_.carry_out(command.write, heard);
  // The process can be killed after this write.
  if (alive.expired()) return;
  if (!heard) return give_up(command.id, not_after);
  after(way, [this, finished = read(command, answer)] { finish(finished); });
}

void MusterProcess::fail_after(Duration delay, uint64_t id) {
  after(delay, [this, id] { finish({id, reconcilers::WriteOutcome::kFailed}); });
}

void MusterProcess::give_up(uint64_t id, MonotonicTime not_after) {
  const MonotonicTime now = around_.timeline.time();
  fail_after(std::min(now + around_.options.timeout, std::max(not_after, now)) - now, id);
}

// The answer of the API server: for a patch of the status, as muster requests it, only the metadata.
engine::WriteFinished MusterProcess::read(const engine::Command& command, const Answer& answer) {
  if (!answer.done())
    return engine::answer_of_failed(command, answer.outcome, answer.outcome == reconcilers::WriteOutcome::kFailed,
                                    answer.message);
  json body = answer.object == nullptr ? json() : *answer.object;
  if (command.write.verb == reconcilers::Verb::kPatchStatus && body.is_object()) {
    body = {{"apiVersion", "meta.k8s.io/v1"},
            {"kind", "PartialObjectMetadata"},
            {"metadata", object_at(body, {"metadata"})}};
  }
  engine::ReadAnswer read = engine::answer_of_done(command, body, around_.settings.observer);
  if (read.breakage) around_.broke(*read.breakage);
  return std::move(read.finished);
}

void MusterProcess::finish(engine::WriteFinished finished) {
  if (!outbox_.finish(finished.id)) return;
  post(std::move(finished));
  send_writes();
}

}  // namespace muster::world
