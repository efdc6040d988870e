// How much the engine hands out before it hears what became of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "test/engine/served_engine.h"

namespace writes_at_a_time_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;

namespace {

json job(int number) {
  return {{"metadata",
           {{"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}, {"annotations", {{"number", std::to_string(number)}}}}},
          {"spec", {{"suspend", true}, {"parallelism", 1}, {"completions", 1}, {"template", pod_template_of()}}}};
}

}  // namespace

TEST_CASE("engine: plans wait while as many writes are under way as may be") {
  EngineSettings settings;
  settings.writes_at_a_time = 5;
  ServedEngine served(std::move(settings));
  for (int i = 0; i < 20; ++i) served.put(kJobs, "job-" + std::to_string(i), job(i));
  served.plan();
  CHECK(served.writes.size() == 5);
  served.plan();
  CHECK(served.writes.size() == 5);
  // Nothing to wake up for until a write has been answered.
  const auto tick = served.engine.next_tick();
  CHECK((!tick || *tick > served.now().monotonic));
  const Command first = served.writes.front();
  served.writes.erase(served.writes.begin());
  served.answer(first, reconcilers::WriteOutcome::kFailed);
  CHECK((served.engine.next_tick() && *served.engine.next_tick() <= served.now().monotonic));
  served.plan();
  CHECK(served.writes.size() == 5);
  // In the end everyone had a turn.
  std::set<std::string> planned = {to_text(first.write.target)};
  for (int rounds = 0; rounds < 100 && !served.writes.empty(); ++rounds) {
    const Command next = served.writes.front();
    served.writes.erase(served.writes.begin());
    planned.insert(to_text(next.write.target));
    served.answer(next, reconcilers::WriteOutcome::kFailed);
    served.plan();
  }
  CHECK(planned.size() >= 20);
}

TEST_CASE("engine: a namespace plans although another one has as many writes under way as may be") {
  EngineSettings settings;
  settings.writes_at_a_time = 32;
  ServedEngine served(std::move(settings));
  const auto planned_in = [&](const std::string& ns) {
    return std::count_if(served.writes.begin(), served.writes.end(),
                         [&](const Command& command) { return command.write.target.ns == ns; });
  };
  for (int i = 0; i < 50; ++i) served.put(kJobs, "job-" + std::to_string(i), job(i));
  served.plan();
  CHECK(served.writes.size() == 32);
  json other = job(1);
  for (int i = 0; i < 5; ++i) {
    other["metadata"]["namespace"] = "team-b";
    served.put(kJobs, "other-" + std::to_string(i), other);
  }
  served.plan();
  CHECK(planned_in("team-b") == 2);
  CHECK(served.writes.size() == 34);
  // One that is answered makes room for another one.
  const auto first = std::find_if(served.writes.begin(), served.writes.end(),
                                  [](const Command& command) { return command.write.target.ns == "team-b"; });
  const Command answered = *first;
  served.writes.erase(first);
  served.answer(answered, reconcilers::WriteOutcome::kFailed);
  served.plan();
  CHECK(planned_in("team-b") == 2);
  CHECK(served.writes.size() == 34);
}

}  // namespace writes_at_a_time_test
