#include "runtime/outbox.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <map>

namespace outbox_test {

using namespace muster;
using namespace muster::runtime;

namespace {

// What became of commands, by id; fills on the outbox's threads.
class Answers {
 public:
  void add(const engine::WriteFinished& finished) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    outcomes_[finished.id] = finished.outcome;
    changed_.notify_all();
  }
  // Waits, with a deadline, for the answer to a command.
  std::optional<reconcilers::WriteOutcome> wait_for(uint64_t id) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    MutexLock lock(mutex_);
    while (!outcomes_.contains(id)) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return std::nullopt;
    }
    return outcomes_[id];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, reconcilers::WriteOutcome> outcomes_ GUARDED_BY(mutex_);
};

engine::Command command(uint64_t id, bool needs_leadership = true) {
  return {id, {.verb = reconcilers::Verb::kPatch, .target = {&kJobs, "team-a", "train"}}, needs_leadership};
}

engine::WriteFinished done(const engine::Command& sent, MonotonicTime, std::stop_token) {
  return {sent.id, reconcilers::WriteOutcome::kDone};
}

std::optional<MonotonicTime> leads() {
  return system_clock().now().monotonic + std::chrono::hours(1);
}

}  // namespace

TEST_CASE("outbox: its end does not wait for an API server that hangs") {
  std::atomic<bool> hangs = false;
  Answers answers;
  auto write = [&](const engine::Command& sent, MonotonicTime, std::stop_token stop) {
    hangs = true;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return engine::WriteFinished{
        sent.id, stop.stop_requested() ? reconcilers::WriteOutcome::kFailed : reconcilers::WriteOutcome::kDone};
  };
  {
    Outbox outbox(1, system_clock(),
                  {.write = write,
                   .finished = [&](const engine::WriteFinished& finished) { answers.add(finished); },
                   .leads_until = leads});
    outbox.post(command(1, false));
    while (!hangs) std::this_thread::yield();
  }
  CHECK(answers.wait_for(1) == reconcilers::WriteOutcome::kFailed);
}

TEST_CASE("outbox: several writes are under way at once") {
  Answers answers;
  std::atomic<int> together = 0;
  auto write = [&](const engine::Command& sent, MonotonicTime, std::stop_token) {
    ++together;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (together < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return engine::WriteFinished{sent.id,
                                 together >= 2 ? reconcilers::WriteOutcome::kDone : reconcilers::WriteOutcome::kFailed};
  };
  Outbox outbox(
      2, system_clock(),
      {.write = write, .finished = [&](engine::WriteFinished one) { answers.add(one); }, .leads_until = leads});
  outbox.post(command(1));
  outbox.post(command(2));
  CHECK(answers.wait_for(1) == reconcilers::WriteOutcome::kDone);
  CHECK(answers.wait_for(2) == reconcilers::WriteOutcome::kDone);
}

TEST_CASE("outbox: a write that needs leadership is not sent once the lease cannot be trusted") {
  Answers answers;
  std::atomic<int> sent = 0;
  auto write = [&](const engine::Command& one, MonotonicTime not_after, std::stop_token stop) {
    ++sent;
    return done(one, not_after, std::move(stop));
  };
  auto expired = [] { return std::optional(system_clock().now().monotonic - std::chrono::milliseconds(1)); };
  Outbox outbox(
      1, system_clock(),
      {.write = write, .finished = [&](engine::WriteFinished one) { answers.add(one); }, .leads_until = expired});
  outbox.post(command(1));
  outbox.post(command(2, false));
  CHECK(answers.wait_for(1) == reconcilers::WriteOutcome::kFailed);
  CHECK(answers.wait_for(2) == reconcilers::WriteOutcome::kDone);
  CHECK(sent == 1);
}

TEST_CASE("outbox: a write learns until when its retries may start") {
  std::promise<MonotonicTime> told;
  const auto until = leads();
  auto write = [&](const engine::Command& one, MonotonicTime not_after, std::stop_token stop) {
    told.set_value(not_after);
    return done(one, not_after, std::move(stop));
  };
  Outbox outbox(
      1, system_clock(),
      {.write = write, .finished = [](const engine::WriteFinished&) {}, .leads_until = [&] { return until; }});
  outbox.post(command(1));
  auto future = told.get_future();
  REQUIRE(future.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
  CHECK(future.get() == *until);
}

TEST_CASE("outbox: the end of leadership stops what is under way and answers for what was not sent") {
  Answers answers;
  std::promise<void> started;
  auto write = [&](const engine::Command& one, MonotonicTime, std::stop_token stop) {
    started.set_value();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return engine::WriteFinished{
        one.id, stop.stop_requested() ? reconcilers::WriteOutcome::kFailed : reconcilers::WriteOutcome::kDone};
  };
  std::atomic<bool> leading = true;
  auto until = [&] { return leading ? leads() : std::nullopt; };
  Outbox outbox(
      1, system_clock(),
      {.write = write, .finished = [&](engine::WriteFinished one) { answers.add(one); }, .leads_until = until});
  outbox.post(command(1));
  outbox.post(command(2));
  REQUIRE(started.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready);
  leading = false;
  outbox.end_leadership();
  CHECK(answers.wait_for(1) == reconcilers::WriteOutcome::kFailed);
  CHECK(answers.wait_for(2) == reconcilers::WriteOutcome::kFailed);
}

}  // namespace outbox_test
