#include "engine/loop/outbox_core.h"

#include <algorithm>
#include <utility>

namespace muster::engine {
namespace {

Command take_first(std::deque<Command>& line) {
  Command command = std::move(line.front());
  line.pop_front();
  return command;
}

}  // namespace

void OutboxCore::post(Command command) {
  ++waiting_;
  if (!command.needs_leadership) return first_.push_back(std::move(command));
  const ObjectKey& target = command.write.target;
  const auto [line, is_new] = lines_.try_emplace({target.ns, *target.type == kWorkloads});
  line->second.push_back(std::move(command));
  if (is_new) turns_.push_back(line);
}

Command OutboxCore::take_next() {
  --waiting_;
  if (!first_.empty()) return take_first(first_);
  const Lines::iterator line = turns_.front();
  turns_.pop_front();
  Command command = take_first(line->second);
  if (line->second.empty())
    lines_.erase(line);
  else
    turns_.push_back(line);
  return command;
}

std::optional<Command> OutboxCore::take() {
  if (stopped_ || waiting_ == 0 || under_way_.size() >= connections_) return std::nullopt;
  Command command = take_next();
  under_way_.emplace(command.id, command.needs_leadership);
  if (command.needs_leadership) ++leader_writes_under_way_;
  return command;
}

std::optional<MonotonicTime> OutboxCore::can_send_until(const Command& command,
                                                        std::optional<MonotonicTime> leads_until, MonotonicTime now) {
  if (!command.needs_leadership) return MonotonicTime::max();
  return leads_until && now < *leads_until ? leads_until : std::nullopt;
}

bool OutboxCore::finish(uint64_t id) {
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return false;
  if (found->second) --leader_writes_under_way_;
  under_way_.erase(found);
  return true;
}

OutboxCore::Ended OutboxCore::end_leadership() {
  Ended ended;
  for (const auto& [place, line] : lines_) {
    for (const Command& command : line) ended.dropped.push_back(command.id);
  }
  std::sort(ended.dropped.begin(), ended.dropped.end());
  drop_lines();
  for (const auto& [id, needs_leadership] : under_way_) {
    if (needs_leadership) ended.under_way.push_back(id);
  }
  return ended;
}

void OutboxCore::drop_lines() {
  turns_.clear();
  lines_.clear();
  waiting_ = first_.size();
}

void OutboxCore::stop() {
  stopped_ = true;
  first_.clear();
  drop_lines();
}

}  // namespace muster::engine
