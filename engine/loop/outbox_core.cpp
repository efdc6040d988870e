#include "engine/loop/outbox_core.h"

#include <utility>

namespace muster::engine {

std::optional<Command> OutboxCore::take() {
  if (stopped_ || waiting_.empty() || under_way_.size() >= connections_) return std::nullopt;
  Command command = std::move(waiting_.front());
  waiting_.pop_front();
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
  std::deque<Command> kept;
  for (Command& command : waiting_) {
    if (command.needs_leadership)
      ended.dropped.push_back(command.id);
    else
      kept.push_back(std::move(command));
  }
  waiting_ = std::move(kept);
  for (const auto& [id, needs_leadership] : under_way_) {
    if (needs_leadership) ended.under_way.push_back(id);
  }
  return ended;
}

void OutboxCore::stop() {
  stopped_ = true;
  waiting_.clear();
}

}  // namespace muster::engine
