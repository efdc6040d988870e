#include "simulation/muster_process.h"

#include <algorithm>

#include "api/codec/json.h"

namespace muster::simulation {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAbsentRetry = seconds(30);
constexpr Duration kDoubtfulRetry = seconds(2);

}  // namespace

Faults Faults::storm() {
  return {.write_refused = 0.03,
          .answer_lost = 0.03,
          .watch_stalls = 0.02,
          .stall = seconds(5),
          .between_accidents = seconds(20)};
}

MusterProcess::MusterProcess(Surroundings around) : around_(std::move(around)) {}

void MusterProcess::start() {
  if (running()) return;
  ++starts_;
  alive_ = std::make_shared<int>(0);
  engine_ = std::make_unique<Engine>(around_.settings);
  const ReconcilerSettings& settings = around_.settings.reconcilers;
  for (const WatchedKind& kind : watched_kinds()) {
    if (kind.framework.empty() || settings.queues.rules.frameworks.contains(kind.framework)) {
      watch(kind);
      continue;
    }
    post(KindListed{.type = kind.type, .objects = {}});
    post(KindCaughtUp{kind.type, KindCaughtUp::kForever});
  }
}

void MusterProcess::kill() {
  if (!running()) return;
  alive_.reset();
  engine_.reset();
  may_write_ = false;
  feeds_.clear();
  inbox_.clear();
  turn_planned_ = false;
  tick_.reset();
  term_ = 0;
  outbox_.clear();
  under_way_ = 0;
}

void MusterProcess::after(Duration delay, std::function<void()> action) {
  around_.timeline.after(delay, [alive = std::weak_ptr<int>(alive_), action = std::move(action)] {
    if (!alive.expired()) action();
  });
}

// --- Watches ---

void MusterProcess::watch(const WatchedKind& kind) {
  feeds_.push_back({.type = kind.type,
                    .metadata_only = kind.metadata_only,
                    .selection = {std::string(kind.label_selector), std::string(kind.field_selector)}});
  connect(feeds_.size() - 1);
}

void MusterProcess::connect(size_t index) {
  Feed& feed = feeds_[index];
  feed.connected = false;
  const uint64_t session = ++feed.session;
  after(some(around_.options.way_low, around_.options.way_high), [this, index, session, term = term_] {
    Feed& resumed = feeds_[index];
    if (resumed.session != session) return;
    const bool listing = resumed.seen == 0;
    if (cut_off_ || (!listing && broken_.contains(resumed.type->plural))) return connect_later(index, seconds(1));
    if (listing) return list(index, term);
    resumed.connected = true;
    deliver(index, session, around_.server.version());
    // A watch that finds its history compacted lists, and has not caught up.
    if (resumed.session == session) post(KindCaughtUp{resumed.type, term});
  });
}

void MusterProcess::connect_later(size_t index, Duration delay) {
  after(delay, [this, index, session = feeds_[index].session] {
    if (feeds_[index].session == session) connect(index);
  });
}

void MusterProcess::list(size_t index, uint64_t term) {
  Feed& feed = feeds_[index];
  const bool absent = !around_.server.serves(*feed.type) || hidden_.contains(feed.type->plural);
  KindListed listed{.type = feed.type, .objects = {}, .version = around_.server.version()};
  for (const ObjectPtr& object : around_.server.list(*feed.type, feed.selection)) {
    listed.objects.push_back(read(feed, *object));
  }
  after(some(around_.options.way_low, around_.options.way_high),
        [this, index, term, session = feed.session, absent, listed = std::move(listed)] {
          Feed& filled = feeds_[index];
          if (filled.session != session) return;
          if (absent) return find_absent(index, term);
          filled.absences = 0;
          post(listed);
          post(KindCaughtUp{filled.type, term});
          filled.seen = listed.version;
          if (broken_.contains(filled.type->plural)) return connect(index);
          filled.connected = true;
          deliver(index, session, around_.server.version());
        });
}

// As kube/watch.h: discovery says so a second time before it is believed.
void MusterProcess::find_absent(size_t index, uint64_t term) {
  Feed& feed = feeds_[index];
  const bool certain = ++feed.absences >= 2;
  if (certain) {
    post(KindAbsent{feed.type});
    post(KindCaughtUp{feed.type, term});
  }
  connect_later(index, certain ? kAbsentRetry : kDoubtfulRetry);
}

void MusterProcess::see(const Change& change) {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    Feed& feed = feeds_[i];
    if (feed.type->resource() != change.type->plural || !feed.connected) continue;
    Duration delay = some(around_.options.watch_low, around_.options.watch_high);
    if (around_.chance.happens(around_.faults.watch_stalls)) delay += some(Duration(0), around_.faults.stall);
    feed.last_delivery = std::max(feed.last_delivery, around_.timeline.time() + delay);
    after(feed.last_delivery - around_.timeline.time(),
          [this, i, session = feed.session, version = change.version] { deliver(i, session, version); });
  }
}

void MusterProcess::deliver(size_t index, uint64_t session, uint64_t up_to) {
  Feed& feed = feeds_[index];
  if (!feed.connected || feed.session != session || up_to <= feed.seen || cut_off_) return;
  const auto changes = around_.server.changes_since(*feed.type, feed.selection, feed.seen);
  if (!changes) {
    feed.seen = 0;  // 410 Gone
    return connect(index);
  }
  for (const Change& change : *changes) {
    if (change.version > up_to) break;
    if (change.removed)
      post(ObjectRemoved{read(feed, *change.after)});
    else
      post(ObjectChanged{read(feed, *change.after)});
  }
  feed.seen = up_to;
}

TypedObject MusterProcess::read(const Feed& feed, const json& object) const {
  if (!feed.metadata_only) return read_object(*feed.type, object);
  return read_object(*feed.type, {{"apiVersion", feed.type->api_version},
                                  {"kind", feed.type->kind},
                                  {"metadata", object_at(object, {"metadata"})}});
}

void MusterProcess::hide(const ResourceType& type, bool hidden) {
  if (!hidden) {
    hidden_.erase(type.plural);
    return;
  }
  hidden_.insert(type.plural);
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (feeds_[i].type->plural != type.plural) continue;
    feeds_[i].seen = 0;  // a watch that is refused with 404 lists again
    connect(i);
  }
}

void MusterProcess::lose_watches(const ResourceType* type) {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (type == nullptr || feeds_[i].type->plural == type->plural) connect(i);
  }
}

void MusterProcess::break_watch(const ResourceType& type, bool broken) {
  if (broken)
    broken_.insert(type.plural);
  else
    broken_.erase(type.plural);
  lose_watches(&type);
}

void MusterProcess::cut_off(bool cut) {
  cut_off_ = cut;
  // What was sent meanwhile is lost; the watches notice and resume.
  if (!cut) lose_watches(nullptr);
}

// --- The engine's turn ---

void MusterProcess::lead(bool leads) {
  if (!running()) return;
  may_write_ = leads;
  if (!leads) {
    post(LeadershipChanged{false});
    return send_writes();
  }
  post(LeadershipChanged{true, ++term_});
  lose_watches(nullptr);  // as kube/watch.h: one that resumes shows that it is current
}

void MusterProcess::post(Event event) {
  inbox_.push_back(std::move(event));
  if (std::exchange(turn_planned_, true)) return;
  after(some(Duration(0), milliseconds(2)), [this] { turn(); });
}

void MusterProcess::turn() {
  turn_planned_ = false;
  const Now now = around_.timeline.now();
  for (const Event& event : std::exchange(inbox_, {})) engine_->apply(event, now);
  Commands commands = engine_->plan(now);
  for (const ObjectEvent& event : commands.events) around_.record(event);
  for (Command& command : commands.writes) outbox_.push_back(std::move(command));
  send_writes();

  const std::optional<MonotonicTime> next = engine_->next_tick();
  if (!next || (tick_ && *tick_ <= *next && *tick_ > now.monotonic)) return;
  tick_ = std::max(*next, now.monotonic + milliseconds(1));
  after(*tick_ - now.monotonic, [this] { post(Tick{}); });
}

// --- Writes ---

void MusterProcess::send_writes() {
  while (!outbox_.empty()) {
    const bool forbidden = outbox_.front().needs_leadership && !may_write_;
    if (!forbidden && under_way_ >= around_.options.connections) return;
    Command command = std::move(outbox_.front());
    outbox_.pop_front();
    if (forbidden)
      post(WriteFinished{.id = command.id, .outcome = WriteOutcome::kFailed});
    else
      send(std::move(command));
  }
}

void MusterProcess::send(Command command) {
  ++under_way_;
  if (around_.chance.happens(around_.faults.write_late)) return send_late(command);
  const Duration way = some(around_.options.way_low, around_.options.way_high);
  // What has left the process may arrive although it has died since.
  const bool survives = around_.chance.happens(0.5);
  around_.timeline.after(way, [this, alive = std::weak_ptr<int>(alive_), survives, command = std::move(command)] {
    if (!alive.expired() || survives) arrive(command, alive.expired());
  });
}

// The API server is slow: muster gives up waiting, and perhaps its lease, and then it is done.
void MusterProcess::send_late(const Command& command) {
  around_.timeline.after(some(around_.options.way_low, around_.faults.late),
                         [this, write = command.write] { around_.carry_out(write, false); });
  after(around_.options.timeout, [this, command] { finish(command, WriteOutcome::kFailed, nullptr); });
}

void MusterProcess::arrive(const Command& command, bool alone) {
  if (alone) {
    around_.carry_out(command.write, false);
    return;
  }
  const Duration way = some(around_.options.way_low, around_.options.way_high);
  auto fail_after = [&](Duration delay) {
    after(delay, [this, command] { finish(command, WriteOutcome::kFailed, nullptr); });
  };
  if (cut_off_) return fail_after(around_.options.timeout);
  if (hidden_.contains(command.write.target.type->plural)) return fail_after(way);
  if (around_.chance.happens(around_.faults.write_refused)) return fail_after(way);
  const bool heard = !around_.chance.happens(around_.faults.answer_lost);
  const std::weak_ptr<int> alive = alive_;
  const Answer answer = around_.carry_out(command.write, heard);
  // This very write may have been the one after which the process is killed.
  if (alive.expired()) return;
  if (!heard) return fail_after(around_.options.timeout);
  after(way, [this, command, answer] { finish(command, answer.outcome, answer.object); });
}

void MusterProcess::finish(const Command& command, WriteOutcome outcome, const ObjectPtr& object) {
  --under_way_;
  WriteFinished finished{.id = command.id, .outcome = outcome};
  if (object != nullptr) {
    const TypedObject answered = read_object(*command.write.target.type, *object);
    if (command.write.verb == Verb::kPatchStatus)
      finished.version = meta_of(answered).resource_version;
    else
      finished.object = answered;
  }
  post(std::move(finished));
  send_writes();
}

}  // namespace muster::simulation
