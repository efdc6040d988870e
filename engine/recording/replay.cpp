#include "engine/recording/replay.h"

#include <algorithm>
#include <utility>

#include "state/cluster_state.h"

namespace muster::recording {
namespace {

// Differences are distinguished by their texts. Above this number they are only counted.
constexpr size_t kMostDistinct = 100'000;

bool same_place(const RecordedWrite& a, const RecordedWrite& b) {
  return a.verb == b.verb && a.target == b.target;
}

template <class Opens>
auto find_place(Opens& opens, const RecordedWrite& write) {
  return std::find_if(opens.begin(), opens.end(), [&](const auto& each) { return same_place(each.write, write); });
}

}  // namespace

ReplayCount ReplayResult::total() const {
  ReplayCount sum;
  for (const auto& [kind, count] : kinds) {
    sum.recorded += count.recorded;
    sum.equal += count.equal;
    sum.moved += count.moved;
    sum.words += count.words;
    sum.different += count.different;
    sum.added += count.added;
  }
  return sum;
}

Replay::Replay(engine::EngineSettings settings, size_t most_differences)
    : core_(std::move(settings)), most_differences_(most_differences) {}

const TypedObject* Replay::before(const RecordedWrite& write) const {
  return core_.engine().state().find(*write.target.type, write.target.ns, write.target.name);
}

Replay::Open Replay::open(const RecordedWrite& write, const Batch& batch) const {
  const TypedObject* known = before(write);
  return {.write = write,
          .batch = batch.number,
          .at = batch.planned,
          .kind = kind_of(write, known),
          .text = text_of(write, known),
          .settling = is_settling(batch.planned)};
}

// Finds the write of this run to which the recorded answer belongs. If this write does not exist yet, the
// answer waits for it.
void Replay::answer(engine::WriteFinished finished, Now at) {
  if (const auto known = ids_.find(finished.id); known != ids_.end()) {
    finished.id = known->second;
    ids_.erase(known);
    return core_.apply(finished, at);
  }
  const auto waiting =
      std::find_if(missing_.begin(), missing_.end(), [&](const Open& each) { return each.write.id == finished.id; });
  if (waiting != missing_.end()) waiting->answer = std::move(finished);
}

void Replay::apply(const Batch& batch) {
  const Now first = batch.events.empty() ? batch.planned : batch.events.front().second;
  for (engine::WriteFinished& finished : std::exchange(owed_, {})) core_.apply(std::move(finished), first);
  for (const auto& [event, at] : batch.events) {
    if (const auto* finished = std::get_if<engine::WriteFinished>(&event))
      answer(*finished, at);
    else
      core_.apply(event, at);
  }
}

void Replay::take(const Batch& batch) {
  if (result_.batches++ == 0) result_.first = batch.planned.wall;
  result_.last = batch.planned.wall;
  result_.events += batch.events.size();
  if (batch.snapshot) settles_until_ = batch.planned.monotonic + kSettling;
  apply(batch);
  const engine::LoopActions actions = core_.plan(batch.planned);
  std::vector<RecordedWrite> made;
  for (const engine::Command& command : actions.commands.writes) made.push_back(recorded(command));
  match(batch, std::move(made));
  expire(batch, false);
}

void Replay::match(const Batch& batch, std::vector<RecordedWrite> made) {
  std::vector<Open> then;
  for (const RecordedWrite& write : batch.writes) {
    then.push_back(open(write, batch));
    then.back().silent = batch.snapshot;
    if (!batch.snapshot) ++result_.kinds[then.back().kind].recorded;
  }
  for (RecordedWrite& write : made) {
    auto found = find_place(then, write);
    const bool moved = found == then.end();
    std::vector<Open>& from = moved ? missing_ : then;
    if (moved) found = find_place(missing_, write);
    if (found == from.end()) {
      added_.push_back(open(write, batch));
      continue;
    }
    if (found->answer) {
      owed_.push_back(*std::exchange(found->answer, std::nullopt));
      owed_.back().id = write.id;
    } else {
      ids_[found->write.id] = write.id;
    }
    settle(*found, write, moved);
    from.erase(found);
  }
  for (Open& recorded : then) {
    const auto earlier = find_place(added_, recorded.write);
    if (earlier == added_.end()) {
      missing_.push_back(std::move(recorded));
      continue;
    }
    ids_[recorded.write.id] = earlier->write.id;
    settle(recorded, earlier->write, true);
    added_.erase(earlier);
  }
}

void Replay::settle(const Open& recorded, const RecordedWrite& now, bool moved) {
  if (recorded.silent) return;
  ReplayCount& count = result_.kinds[recorded.kind];
  const Sameness sameness = compare(recorded.write, now, moved);
  if (sameness == Sameness::kSame) {
    ++count.equal;
    if (moved) ++count.moved;
    return;
  }
  if (sameness == Sameness::kOtherWords)
    ++count.words;
  else if (recorded.settling)
    ++result_.settling;
  else
    ++count.different;
  note({.at = recorded.at.wall,
        .batch = recorded.batch,
        .object = to_text(recorded.write.target),
        .recorded = recorded.text,
        .now = text_of(now, before(now)),
        .field = first_difference(recorded.write, now),
        .settling = recorded.settling});
}

// Decisions without an equal decision of the other run within the time limit.
void Replay::expire(const Batch& batch, bool all) {
  const auto is_late = [&](const Open& open) { return all || batch.planned.monotonic - open.at.monotonic >= kLate; };
  const auto tell = [&](const Open& open, bool was_recorded) {
    if (open.silent) return;
    ReplayCount& count = result_.kinds[open.kind];
    if (open.settling)
      ++result_.settling;
    else
      ++(was_recorded ? count.different : count.added);
    note({.at = open.at.wall,
          .batch = open.batch,
          .object = to_text(open.write.target),
          .recorded = was_recorded ? open.text : "nothing",
          .now = was_recorded ? "nothing" : open.text,
          .settling = open.settling});
  };
  for (const Open& open : missing_) {
    if (is_late(open)) tell(open, true);
  }
  std::erase_if(missing_, is_late);
  for (const Open& open : added_) {
    if (!is_late(open)) continue;
    tell(open, false);
    owed_.push_back({.id = open.write.id, .outcome = reconcilers::WriteOutcome::kConflict});
  }
  std::erase_if(added_, is_late);
}

void Replay::note(Difference difference) {
  const std::string key = difference.object + "\n" + difference.recorded + "\n" + difference.now;
  if (const auto known = noted_.find(key); known != noted_.end()) {
    if (known->second < result_.differences.size()) ++result_.differences[known->second].times;
    return;
  }
  if (noted_.size() < kMostDistinct) noted_.emplace(key, result_.differences.size());
  if (result_.differences.size() < most_differences_)
    result_.differences.push_back(std::move(difference));
  else
    ++result_.more;
}

ReplayResult Replay::finish() {
  expire({}, true);
  core_.engine().state().for_each([&](const TypedObject&) { ++result_.objects; });
  return std::move(result_);
}

}  // namespace muster::recording
