#include "runtime/outbox.h"

#include <utility>

namespace muster::runtime {

Outbox::Outbox(size_t connections, const Clock& clock, Callbacks callbacks)
    : clock_(clock), callbacks_(std::move(callbacks)), core_(connections) {
  for (size_t i = 0; i < connections; ++i) threads_.emplace_back([this] { run(); });
}

Outbox::~Outbox() {
  {
    MutexLock lock(mutex_);
    core_.stop();
  }
  changed_.notify_all();
  ending_.request_stop();
  for (std::thread& thread : threads_) thread.join();
}

void Outbox::post(engine::Command command) {
  {
    MutexLock lock(mutex_);
    core_.post(std::move(command));
  }
  changed_.notify_one();
}

void Outbox::end_leadership() {
  engine::OutboxCore::Ended ended;
  {
    MutexLock lock(mutex_);
    ended = core_.end_leadership();
    std::exchange(leadership_, std::stop_source()).request_stop();
    while (core_.leader_writes_under_way() > 0) one_done_.wait(mutex_);
  }
  for (const uint64_t id : ended.dropped) callbacks_.finished({id, reconcilers::WriteOutcome::kFailed});
}

std::optional<Outbox::Sending> Outbox::next() {
  MutexLock lock(mutex_);
  while (!core_.stopped()) {
    if (auto command = core_.take()) {
      std::stop_token stop = command->needs_leadership ? leadership_.get_token() : ending_.get_token();
      return Sending{*std::move(command), std::move(stop)};
    }
    changed_.wait(mutex_);
  }
  return std::nullopt;
}

// The lease is read after the command was taken: end_leadership() waits for it from then on.
engine::WriteFinished Outbox::carry_out(const Sending& sending) const {
  const engine::Command& command = sending.command;
  const auto leads_until = command.needs_leadership ? callbacks_.leads_until() : std::nullopt;
  const auto not_after = engine::OutboxCore::can_send_until(command, leads_until, clock_.now().monotonic);
  if (!not_after) return {command.id, reconcilers::WriteOutcome::kFailed};
  return callbacks_.write(command, *not_after, sending.stop);
}

void Outbox::run() {
  while (const auto sending = next()) {
    callbacks_.finished(carry_out(*sending));
    {
      MutexLock lock(mutex_);
      core_.finish(sending->command.id);
    }
    one_done_.notify_all();
  }
}

}  // namespace muster::runtime
