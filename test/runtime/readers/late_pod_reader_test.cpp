#include "runtime/readers/late_pod_reader.h"
#include "api/workload.h"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

namespace late_pod_reader_test {

using namespace muster;
using namespace muster::runtime;
using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

const TimePoint kNow = TimePoint(seconds(1'767'268'800));

// The wall stands still: what is due is due at once.
class StillClock final : public Clock {
 public:
  Now now() const override { return {kNow, system_clock().now().monotonic}; }
};

// Admitted so long ago; its pods have five minutes.
WorkloadPtr admitted(const std::string& name, Duration ago, bool ready = false) {
  const std::string at = format_rfc3339(to_timestamp(kNow - ago));
  const auto condition = [&](const char* type, bool is_true, const char* reason) {
    return json{{"type", type}, {"status", is_true ? "True" : "False"}, {"reason", reason}, {"lastTransitionTime", at}};
  };
  return read_workload({{"metadata", {{"namespace", "team-a"}, {"name", name}, {"uid", name}}},
                        {"spec", json::object()},
                        {"status",
                         {{"conditions",
                           {condition("QuotaReserved", true, "QuotaReserved"), condition("Admitted", true, "Admitted"),
                            condition("PodsReady", ready, "WaitForStart")}}}}});
}

engine::Command eviction(const std::string& name) {
  reconcilers::Write write{.verb = reconcilers::Verb::kPatchStatus, .target = {&kWorkloads, "team-a", name}};
  write.body = {{"status",
                 {{"conditions",
                   {{{"type", "Evicted"}, {"status", "True"}, {"reason", "PodsReadyTimeout"}, {"message", "late"}}}}}}};
  return {.id = 1, .write = std::move(write)};
}

// What the reader asks and tells, on its thread.
struct Asked {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lists;  // "workload: the name"
  std::vector<std::string> told;
  std::string token = "Unschedulable";
  bool stands = false;  // the API server does not answer

  LatePodReader::Callbacks callbacks() {
    return {.find =
                [](const ObjectKey& workload) {
                  return explain::LateJob{
                      .ns = workload.ns, .pods = "l", .job = {.kind = "Job", .name = workload.name}};
                },
            .see = [this](const explain::LateJob& job, const std::stop_token& stop) -> std::optional<PodReason> {
              std::unique_lock lock(mutex);
              lists.push_back(job.job.name);
              changed.notify_all();
              while (stands && !stop.stop_requested()) changed.wait_for(lock, std::chrono::milliseconds(5));
              if (token.empty()) return std::nullopt;
              return PodReason{.problem = PodProblem::kUnschedulable,
                               .token = token,
                               .kind = "Pod",
                               .name = "p",
                               .text = "0/4 nodes",
                               .pods = 1};
            },
            .tell =
                [this](const ObjectEvent& event) {
                  const std::lock_guard lock(mutex);
                  told.push_back(event.type + " " + event.reason + " " + event.regarding.name + ": " + event.note);
                  changed.notify_all();
                }};
  }
  bool wait_for(size_t of_lists, size_t of_told) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, seconds(60), [&] { return lists.size() >= of_lists && told.size() >= of_told; });
  }
};

std::string message_of(const LatePodReader& reader, const std::string& name) {
  const auto command = reader.with_reason(eviction(name));
  return command ? command->write.body["status"]["conditions"][0].value("message", "") : "";
}

}  // namespace

TEST_CASE("late pod reader: one read for each attempt, shortly before its end, and one Event for each change") {
  const StillClock clock;
  Asked asked;
  LatePodReader reader({}, clock, asked.callbacks());
  reader.take_in(engine::ObjectChanged{admitted("early", minutes(1))});
  reader.take_in(engine::ObjectChanged{admitted("ready", minutes(5) - seconds(5), true)});
  reader.take_in(engine::ObjectChanged{admitted("over", minutes(6))});
  reader.take_in(engine::ObjectChanged{admitted("late", minutes(5) - seconds(5))});
  REQUIRE(asked.wait_for(1, 1));
  const std::string why = "Pod p cannot be scheduled (Unschedulable): 0/4 nodes";
  CHECK(asked.told[0] == "Warning PodsNotReady late: " + why);
  CHECK(message_of(reader, "late") == "late (" + why + ")");
  // The same attempt, seen again, is not read again; another one is, and its reason is no news.
  reader.take_in(engine::ObjectChanged{admitted("late", minutes(5) - seconds(5))});
  reader.take_in(engine::ObjectChanged{admitted("late", minutes(5) - seconds(6))});
  REQUIRE(asked.wait_for(2, 1));
  {
    const std::lock_guard lock(asked.mutex);
    asked.token = "ErrImagePull";
  }
  reader.take_in(engine::ObjectChanged{admitted("late", minutes(5) - seconds(7))});
  REQUIRE(asked.wait_for(3, 2));
  reader.stop();
  CHECK(asked.lists == std::vector<std::string>{"late", "late", "late"});
  CHECK(asked.told.size() == 2);
  CHECK(message_of(reader, "late").find("ErrImagePull") != std::string::npos);
  // What became ready, or went, has no reason.
  reader.take_in(engine::ObjectChanged{admitted("late", minutes(5) - seconds(7), true)});
  CHECK(message_of(reader, "late").empty());
  reader.take_in(engine::KindListed{.type = &kWorkloads, .objects = {}});
  CHECK(message_of(reader, "late").empty());
}

TEST_CASE("late pod reader: an API server that does not answer delays no event, no eviction and no end") {
  const StillClock clock;
  Asked asked;
  asked.stands = true;
  LatePodReader reader({}, clock, asked.callbacks());
  for (int i = 0; i < 1000; ++i)
    reader.take_in(engine::ObjectChanged{admitted("late-" + std::to_string(i), minutes(5) - seconds(5))});
  REQUIRE(asked.wait_for(1, 0));
  CHECK(message_of(reader, "late-0").empty());
  reader.take_in(engine::ObjectRemoved{admitted("late-1", minutes(5) - seconds(5))});
  reader.stop();
  CHECK(asked.lists.size() == 1);
}

}  // namespace late_pod_reader_test
