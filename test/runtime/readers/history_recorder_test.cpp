#include "runtime/readers/history_recorder.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/workload.h"

namespace history_recorder_test {

using namespace muster;
using namespace muster::runtime;
using nlohmann::json;

namespace {

class HandClock final : public Clock {
 public:
  Now now() const override { return {TimePoint(std::chrono::seconds(1'767'268'800)), MonotonicTime()}; }
};

WorkloadPtr workload(const std::string& name) {
  return read_workload(
      {{"metadata", {{"namespace", "team-a"}, {"name", name}, {"uid", name}}}, {"spec", json::object()}});
}

}  // namespace

TEST_CASE("history recorder: what the watches tell of Workloads goes in, and nothing else") {
  const HandClock clock;
  HistoryRecorder recorder(clock);
  const ObjectKey a{&kWorkloads, "team-a", "a"}, b{&kWorkloads, "team-a", "b"};
  recorder.take_in(engine::KindListed{.type = &kWorkloads, .objects = {workload("a"), workload("b")}});
  recorder.take_in(engine::KindListed{.type = &kJobs, .objects = {}});
  recorder.take_in(engine::LeadershipChanged{true, 1});
  recorder.take_in(engine::Tick{});
  CHECK(recorder.of(a).size() == 1);
  recorder.take_in(engine::ObjectRemoved{workload("a")});
  CHECK(recorder.of(a).size() == 2);
  recorder.take_in(engine::ObjectChanged{workload("c")});
  CHECK(recorder.of({&kWorkloads, "team-a", "c"}).size() == 1);
  recorder.take_in(engine::KindListed{.type = &kWorkloads, .objects = {workload("c")}});
  CHECK(recorder.of(b).back().what == "Workload deleted");
  CHECK(recorder.bytes() > 0);
}

}  // namespace history_recorder_test
