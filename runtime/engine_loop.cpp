#include "runtime/engine_loop.h"

#include <pthread.h>

#include <utility>

namespace muster::runtime {

EngineLoop::EngineLoop(engine::EngineSettings settings, size_t connections, const Clock& clock, LoopHost& host)
    : clock_(clock), host_(host), core_(std::move(settings)) {
  outbox_ = std::make_unique<Outbox>(
      connections, clock_,
      Outbox::Callbacks{
          .write = [this](const engine::Command& command, MonotonicTime not_after,
                          std::stop_token stop) { return host_.write(command, not_after, std::move(stop)); },
          .finished = [this](engine::WriteFinished answer) { post(std::move(answer)); },
          .leads_until = [this] { return host_.leads_until(); }});
  thread_ = std::thread([this] { run(); });
}

EngineLoop::~EngineLoop() {
  stop();
}

void EngineLoop::stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  inbox_changed_.notify_all();
  stopping_changed_.notify_all();
  room_changed_.notify_all();
  thread_.join();
  outbox_.reset();
}

void EngineLoop::post(engine::Event event) {
  {
    MutexLock lock(mutex_);
    inbox_.post(std::move(event));
  }
  inbox_changed_.notify_one();
}

void EngineLoop::post_when_room(engine::Event event) {
  {
    MutexLock lock(mutex_);
    while (!inbox_.has_room() && !stopping_) room_changed_.wait(mutex_);
    inbox_.post(std::move(event));
  }
  inbox_changed_.notify_one();
}

// The engine can still return commands until it has read the event. The outbox sends none of them after the end
// of the leadership (leads_until).
void EngineLoop::end_leadership(std::optional<MonotonicTime> until) {
  post(engine::LeadershipChanged{false, 0, until});
  outbox_->end_leadership();
}

bool EngineLoop::ask(const engine::LoopCore::Question& question) {
  Question asked{&question};
  {
    MutexLock lock(mutex_);
    if (ended_) return false;
    questions_.push_back(&asked);
  }
  inbox_changed_.notify_one();
  MutexLock lock(mutex_);
  while (!asked.over) questions_changed_.wait(mutex_);
  return asked.answered;
}

void EngineLoop::answer_questions() {
  std::deque<Question*> questions;
  {
    MutexLock lock(mutex_);
    questions.swap(questions_);
    ended_ = stopping_;
    if (questions.empty()) return;
  }
  for (Question* question : questions) {
    const engine::LoopCore::Answered answered = core_.ask(*question->ask);
    question->answered = answered.answered;
    if (answered.breakage) host_.broke(*answered.breakage);
  }
  {
    MutexLock lock(mutex_);
    for (Question* question : questions) question->over = true;
  }
  questions_changed_.notify_all();
}

ClusterViewPtr EngineLoop::view() const {
  MutexLock lock(mutex_);
  return view_;
}

// Between two batches: events that arrive now are in the same batch, and wake no thread.
void EngineLoop::rest() {
  MutexLock lock(mutex_);
  inbox_.rest(clock_.now().monotonic);
  while (!stopping_ && stopping_changed_.wait_until(mutex_, inbox_.rests_until()) == std::cv_status::no_timeout) {
  }
}

// Waits for events, questions or the engine's next tick; nullopt when stopping.
std::optional<std::deque<engine::Event>> EngineLoop::next_events() {
  const auto tick = core_.next_tick();
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (auto events = inbox_.take(tick, clock_.now().monotonic)) {
      room_changed_.notify_all();
      return events;
    }
    if (!questions_.empty()) return std::deque<engine::Event>();
    if (const auto batch = inbox_.next_batch(tick))
      inbox_changed_.wait_until(mutex_, *batch);
    else
      inbox_changed_.wait(mutex_);
  }
  return std::nullopt;
}

void EngineLoop::run() {
  pthread_setname_np(pthread_self(), "engine");  // for top -H
  while (const auto events = next_events()) {
    if (!events->empty()) take_in(*events);
    answer_questions();
    rest();
  }
  answer_questions();
}

void EngineLoop::take_in(const std::deque<engine::Event>& events) {
  for (const engine::Event& event : events) {
    core_.apply(event, clock_.now());
    host_.watched(event);
  }
  const Now before = clock_.now();
  engine::LoopActions actions = core_.plan(before);
  actions.note_planning_time(clock_.now().monotonic - before.monotonic);
  carry_out(actions);
}

void EngineLoop::carry_out(engine::LoopActions& actions) {
  publish(actions.view);
  for (engine::Command& command : actions.commands.writes) outbox_->post(std::move(command));
  actions.commands.writes.clear();
  host_.report(actions);
}

void EngineLoop::publish(ClusterViewPtr view) {
  MutexLock lock(mutex_);
  view_ = std::move(view);
}

}  // namespace muster::runtime
