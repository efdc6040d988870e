#include "runtime/outbox.h"

#include <utility>

namespace muster {

Outbox::Outbox(size_t connections, const Clock& clock, Callbacks callbacks)
    : clock_(clock), callbacks_(std::move(callbacks)) {
  for (size_t i = 0; i < connections; ++i) threads_.emplace_back([this] { run(); });
}

Outbox::~Outbox() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  ending_.request_stop();
  for (std::thread& thread : threads_) thread.join();
}

void Outbox::post(Command command) {
  {
    MutexLock lock(mutex_);
    waiting_.push_back(std::move(command));
  }
  changed_.notify_one();
}

void Outbox::end_leadership() {
  std::vector<uint64_t> dropped;
  {
    MutexLock lock(mutex_);
    std::deque<Command> kept;
    for (Command& command : waiting_) {
      if (command.needs_leadership)
        dropped.push_back(command.id);
      else
        kept.push_back(std::move(command));
    }
    waiting_ = std::move(kept);
    std::exchange(leadership_, std::stop_source()).request_stop();
    while (leaders_under_way_ > 0) one_done_.wait(mutex_);
  }
  for (const uint64_t id : dropped) callbacks_.finished({id, WriteOutcome::kFailed});
}

std::optional<MonotonicTime> Outbox::send_before(const Command& command) const {
  if (!command.needs_leadership) return MonotonicTime::max();
  const auto until = callbacks_.leads_until();
  return until && clock_.now().monotonic < *until ? until : std::nullopt;
}

void Outbox::run() {
  for (;;) {
    Command command;
    std::stop_token stop = ending_.get_token();
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopping_) changed_.wait(mutex_);
      if (stopping_) return;
      command = std::move(waiting_.front());
      waiting_.pop_front();
      if (command.needs_leadership) {
        ++leaders_under_way_;
        stop = leadership_.get_token();
      }
    }
    WriteFinished answer{command.id, WriteOutcome::kFailed};
    if (const auto not_after = send_before(command)) answer = callbacks_.write(command, *not_after, stop);
    callbacks_.finished(std::move(answer));
    if (!command.needs_leadership) continue;
    {
      MutexLock lock(mutex_);
      --leaders_under_way_;
    }
    one_done_.notify_all();
  }
}

}  // namespace muster
