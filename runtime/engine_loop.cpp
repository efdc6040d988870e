#include "runtime/engine_loop.h"

#include <pthread.h>

#include <utility>

namespace muster {
namespace {

// A batch has a price of its own, whatever it holds. Short beside a write, which takes the
// API server several milliseconds, and nothing to who comes after a pause.
constexpr Duration kRest = std::chrono::milliseconds(10);

}  // namespace

EngineLoop::EngineLoop(EngineSettings settings, size_t connections, const Clock& clock, Callbacks callbacks)
    : clock_(clock), callbacks_(std::move(callbacks)), watch_(settings.watch), engine_(std::move(settings)) {
  outbox_ =
      std::make_unique<Outbox>(connections, clock_,
                               Outbox::Callbacks{.write = callbacks_.write,
                                                 .finished = [this](WriteFinished answer) { post(std::move(answer)); },
                                                 .leads_until = callbacks_.leads_until});
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

void EngineLoop::post(Event event) {
  {
    MutexLock lock(mutex_);
    inbox_.push_back(std::move(event));
  }
  inbox_changed_.notify_one();
}

void EngineLoop::post_when_room(Event event) {
  {
    MutexLock lock(mutex_);
    while (inbox_.size() >= kMostWaiting && !stopping_) room_changed_.wait(mutex_);
    inbox_.push_back(std::move(event));
  }
  inbox_changed_.notify_one();
}

// The engine may still hand out commands until it has read the news; the outbox sends
// none of them, once the caller has lost leadership (leads_until).
void EngineLoop::end_leadership() {
  post(LeadershipChanged{false});
  outbox_->end_leadership();
}

bool EngineLoop::ask(const std::function<void(const Engine&)>& question) {
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
    if (engine_.synced()) answer(*question);
  }
  {
    MutexLock lock(mutex_);
    for (Question* question : questions) question->over = true;
  }
  questions_changed_.notify_all();
}

// What a question reads is what is in the objects, so it may break over them, too.
void EngineLoop::answer(Question& question) {
  const Step step(watch_, "answering a question");
  try {
    (*question.ask)(engine_);
    question.answered = true;
  } catch (const std::exception& thrown) {
    tell_of_breakages({describe(std::nullopt, Broke::kReconciling, "answering a question", thrown)});
  }
}

void EngineLoop::tell_of_breakages(const std::vector<Breakage>& breakages) {
  if (callbacks_.broke) {
    for (const Breakage& breakage : breakages) callbacks_.broke(breakage);
  }
  const size_t quarantined = engine_.quarantined();
  if (quarantined == told_quarantined_) return;
  told_quarantined_ = quarantined;
  if (callbacks_.quarantined) callbacks_.quarantined(quarantined);
}

ClusterViewPtr EngineLoop::view() const {
  MutexLock lock(mutex_);
  return view_;
}

// Between two batches: what comes meanwhile comes in one, and wakes nobody.
void EngineLoop::rest() {
  const MonotonicTime until = clock_.now().monotonic + kRest;
  MutexLock lock(mutex_);
  while (!stopping_ && stopping_changed_.wait_until(mutex_, until) == std::cv_status::no_timeout) {
  }
}

// Waits for events, questions or the engine's next tick; nullopt when stopping.
std::optional<std::deque<Event>> EngineLoop::next_events() {
  const auto tick = engine_.next_tick();
  MutexLock lock(mutex_);
  while (inbox_.empty() && questions_.empty() && !stopping_) {
    if (!tick) {
      inbox_changed_.wait(mutex_);
    } else if (inbox_changed_.wait_until(mutex_, *tick) == std::cv_status::timeout && inbox_.empty()) {
      return std::deque<Event>{Tick{}};
    }
  }
  if (stopping_) return std::nullopt;
  room_changed_.notify_all();
  return std::exchange(inbox_, {});
}

void EngineLoop::run() {
  pthread_setname_np(pthread_self(), "engine");  // for whoever looks at top -H
  while (const auto events = next_events()) {
    if (!events->empty()) take_in(*events);
    answer_questions();
    rest();
  }
  answer_questions();
}

void EngineLoop::take_in(const std::deque<Event>& events) {
  for (const Event& event : events) engine_.apply(event, clock_.now());
  if (callbacks_.bundles_seen) {
    // Only what is new is told: the certificates' owner may read its store for each.
    if (auto bundles = engine_.take_seen_bundles()) callbacks_.bundles_seen(std::move(*bundles));
  }
  if (callbacks_.webhooks_missing) {
    if (const auto missing = engine_.take_missing_webhooks(clock_.now())) callbacks_.webhooks_missing(*missing);
  }
  const Now before = clock_.now();
  Commands commands = engine_.plan(before);
  const Duration took = clock_.now().monotonic - before.monotonic;
  publish();
  tell_missing();
  tell_behind();
  for (Command& command : commands.writes) outbox_->post(std::move(command));
  if (callbacks_.tell) {
    for (ObjectEvent& event : commands.events) callbacks_.tell(std::move(event));
  }
  tell_of_breakages(commands.breakages);
  if (callbacks_.decided) {
    for (const LoggedDecision& decision : commands.decisions) callbacks_.decided(decision);
  }
  if (callbacks_.unsupported) {
    for (const UnsupportedFound& found : commands.unsupported) callbacks_.unsupported(found);
  }
  if (!callbacks_.measure) return;
  for (Measurement& measurement : commands.measurements) {
    // The engine has no clock of its own.
    if (measurement.what == Measured::kAdmissionAttempt)
      measurement.seconds = std::chrono::duration<double>(took).count();
    callbacks_.measure(measurement);
  }
}

void EngineLoop::tell_missing() {
  std::vector<std::string> missing = engine_.missing_kinds();
  if (missing == told_missing_) return;
  told_missing_ = std::move(missing);
  if (callbacks_.missing) callbacks_.missing(told_missing_, engine_.synced());
}

void EngineLoop::tell_behind() {
  std::vector<std::string> behind = engine_.kinds_behind();
  if (behind == told_behind_) return;
  told_behind_ = std::move(behind);
  if (callbacks_.behind) callbacks_.behind(told_behind_);
}

// One new view per batch, however many events it held.
void EngineLoop::publish() {
  ClusterViewPtr view = engine_.synced() ? engine_.view() : nullptr;
  bool first_view = false;
  {
    MutexLock lock(mutex_);
    first_view = view && !view_;
    view_ = std::move(view);
  }
  if (first_view && callbacks_.synced) callbacks_.synced();
}

}  // namespace muster
