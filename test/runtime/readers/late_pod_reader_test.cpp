#include "runtime/readers/late_pod_reader.h"
#include "api/cluster_queue.h"
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

const WaitForPodsReady kFiveMinutes;

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

// The flavors of its ClusterQueue "cq" fail after this many seconds; 0: never. With a timeout of several flavors the
// Workload has all of them.
engine::ObjectChanged cluster_queue(const std::vector<int>& timeouts) {
  json rules = json::array();
  for (size_t i = 0; i < timeouts.size(); ++i) {
    json rule = {{"name", "f" + std::to_string(i)}};
    if (timeouts[i] > 0) rule["timeout"] = std::to_string(timeouts[i]) + "s";
    rules.push_back(std::move(rule));
  }
  return {
      read_cluster_queue({{"metadata", {{"name", "cq"}}},
                          {"spec", {{"flavorFungibility", {{"fallbackStrategy", {{"rules", std::move(rules)}}}}}}}})};
}

// Has had flavors f0 to f2 since then.
WorkloadPtr on_flavors(const std::string& name, Duration ago, bool is_admitted = true) {
  const std::string at = format_rfc3339(to_timestamp(kNow - ago));
  const auto condition = [&](const char* type, bool is_true, const char* reason) {
    return json{{"type", type}, {"status", is_true ? "True" : "False"}, {"reason", reason}, {"lastTransitionTime", at}};
  };
  json flavors = json::object(), history = json::array();
  for (const char* flavor : {"f0", "f1", "f2"}) {
    flavors[std::string("example.com/") + flavor] = flavor;
    history.push_back({{"resourceFlavor", flavor}, {"assignmentTime", at}});
  }
  return read_workload(
      {{"metadata", {{"namespace", "team-a"}, {"name", name}, {"uid", name}}},
       {"spec", json::object()},
       {"status",
        {{"admission",
          {{"clusterQueue", "cq"}, {"podSetAssignments", {{{"name", "main"}, {"count", 1}, {"flavors", flavors}}}}}},
         {"flavorAssignmentHistory", history},
         {"flavorFallback", {{"clusterQueue", "cq"}, {"round", 1}}},
         {"conditions",
          {condition("QuotaReserved", true, "QuotaReserved"), condition("Admitted", is_admitted, "Admitted"),
           condition("PodsReady", false, "WaitForStart")}}}}});
}

engine::Command eviction(const std::string& name) {
  reconcilers::Write write{
      .verb = reconcilers::Verb::kPatchStatus, .target = {&kWorkloads, "team-a", name}, .for_late_pods = true};
  write.body = {{"status",
                 {{"conditions",
                   {{{"type", "Evicted"}, {"status", "True"}, {"reason", "PodsReadyTimeout"}, {"message", "late"}}}}}}};
  return {.id = 1, .write = std::move(write)};
}

// What the reader asks and tells, on its thread.
struct Asked {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lists;  // the names of the jobs whose pods were listed
  std::vector<int> ends;           // of all questions, in seconds from now
  int evicts_from = 0;             // no eviction before this second
  std::vector<std::string> told;
  std::string token = "Unschedulable";
  bool stands = false;  // the API server does not answer

  LatePodReader::Callbacks callbacks() {
    return {.find = [this](const ObjectKey& workload, TimePoint end) -> std::optional<explain::LateJob> {
              const std::lock_guard lock(mutex);
              ends.push_back(static_cast<int>(std::chrono::duration_cast<seconds>(end - kNow).count()));
              changed.notify_all();
              if (ends.back() < evicts_from) return std::nullopt;
              return explain::LateJob{.ns = workload.ns, .pods = "l", .job = {.kind = "Job", .name = workload.name}};
            },
            .see = [this](const explain::LateJob& job, Duration time,
                          const std::stop_token& stop) -> std::optional<PodReason> {
              std::unique_lock lock(mutex);
              CHECK(time > Duration::zero());
              CHECK(time <= LatePodReader::kBefore);
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
            .record_event =
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

// The pods of a job, page by page: all run but one.
class PodsApi final : public kube::KubeApi {
 public:
  int pods = 300;
  int late = 300;       // is not scheduled
  int answered = 1000;  // requests; none after them
  std::vector<std::string> asked;
  std::vector<std::optional<MonotonicTime>> limits;

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    int limit = 0, first = 0;
    for (const auto& [key, value] : request.query) {
      if (key == "limit") limit = std::stoi(value);
      if (key == "continue") first = std::stoi(value);
    }
    asked.push_back(request.path.substr(request.path.rfind('/') + 1) + " " + std::to_string(first));
    limits.push_back(request.not_after);
    if (static_cast<int>(asked.size()) > answered)
      return fail_with(kube::unanswered(kube::kTooLateReason, "the time is over"));
    json list = {{"metadata", json::object()}, {"items", json::array()}};
    if (!request.path.ends_with("/pods")) {
      list["items"].push_back({{"involvedObject", {{"kind", "Job"}, {"name", "train"}, {"uid", "j"}}},
                               {"reason", "FailedCreate"},
                               {"message", "exceeded quota"}});
      return list;
    }
    for (int i = first; i < std::min(pods, first + limit); ++i) {
      json pod = {{"metadata",
                   {{"name", "p-" + std::to_string(i + 1)},
                    {"ownerReferences", {{{"kind", "Job"}, {"name", "train"}, {"uid", "j"}, {"controller", true}}}}}},
                  {"spec", {{"nodeName", "n"}}},
                  {"status", {{"phase", "Running"}, {"containerStatuses", {{{"name", "main"}, {"ready", true}}}}}}};
      if (i + 1 == late) {
        pod["spec"] = json::object();
        pod["status"] = {
            {"phase", "Pending"},
            {"conditions", {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}}}};
      }
      list["items"].push_back(std::move(pod));
    }
    if (first + limit < pods) list["metadata"]["continue"] = std::to_string(first + limit);
    return list;
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return fail_with(kube::unanswered(kube::kUnreachableReason, "nothing is streamed here"));
  }
};

explain::LateJob job_of(int pods) {
  return {.ns = "team-a",
          .pods = "l",
          .question = {.owner = {.kind = "Job", .name = "train", .uids = {"j"}}, .wanted = pods},
          .job = {.kind = "Job", .name = "train"}};
}

std::string message_of(const LatePodReader& reader, const std::string& name) {
  const auto command = reader.with_reason(eviction(name));
  return command ? command->write.body["status"]["conditions"][0].value("message", "") : "";
}

}  // namespace

TEST_CASE("late pod reader: one read for each attempt, shortly before its end, and one Event for each change") {
  const StillClock clock;
  Asked asked;
  LatePodReader reader(kFiveMinutes, clock, asked.callbacks());
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
  LatePodReader reader(kFiveMinutes, clock, asked.callbacks());
  for (int i = 0; i < 1000; ++i)
    reader.take_in(engine::ObjectChanged{admitted("late-" + std::to_string(i), minutes(5) - seconds(5))});
  REQUIRE(asked.wait_for(1, 0));
  CHECK(message_of(reader, "late-0").empty());
  reader.take_in(engine::ObjectRemoved{admitted("late-1", minutes(5) - seconds(5))});
  reader.stop();
  CHECK(asked.lists.size() == 1);
}

TEST_CASE("late pod reader: flavors have their time also without waitForPodsReady, by the rules of the ClusterQueue") {
  const StillClock clock;
  Asked asked;
  LatePodReader reader(std::nullopt, clock, asked.callbacks());
  // Its queue has no rules yet; where it has no pods yet, nothing is read.
  reader.take_in(engine::ObjectChanged{on_flavors("late", seconds(55))});
  reader.take_in(engine::ObjectChanged{on_flavors("checked", seconds(55), false)});
  reader.take_in(engine::ObjectChanged{admitted("no flavors", minutes(5) - seconds(5))});
  reader.take_in(cluster_queue({0, 60}));
  REQUIRE(asked.wait_for(1, 1));
  CHECK(message_of(reader, "late").find("(Unschedulable)") != std::string::npos);
  // Neither the status of the queue, nor a rule for a later end, reads again; another end does.
  reader.take_in(cluster_queue({0, 60}));
  reader.take_in(cluster_queue({0, 60, 600}));
  CHECK_FALSE(message_of(reader, "late").empty());
  reader.take_in(cluster_queue({0, 61}));
  REQUIRE(asked.wait_for(2, 1));
  // Without rules no eviction comes.
  reader.take_in(engine::ObjectRemoved{cluster_queue({0, 61}).object});
  CHECK(message_of(reader, "late").empty());
  reader.take_in(engine::KindListed{.type = &kClusterQueues, .objects = {cluster_queue({62}).object}});
  REQUIRE(asked.wait_for(3, 1));
  reader.take_in(engine::KindListed{.type = &kClusterQueues, .objects = {}});
  CHECK(message_of(reader, "late").empty());
  reader.stop();
  CHECK(asked.lists == std::vector<std::string>{"late", "late", "late"});
}

TEST_CASE("late pod reader: it keeps the rules of a bounded number of ClusterQueues") {
  const StillClock clock;
  Asked asked;
  LatePodReader reader(std::nullopt, clock, asked.callbacks());
  const ClusterQueue pattern = *std::get<ClusterQueuePtr>(cluster_queue({60}).object);
  const auto numbered = [&](size_t number) {
    auto queue = std::make_shared<ClusterQueue>(pattern);
    queue->meta.name = std::to_string(number);
    return TypedObject(ClusterQueuePtr(std::move(queue)));
  };
  for (size_t i = 0; i < LatePodReader::kMostQueues; ++i) reader.take_in(engine::ObjectChanged{numbered(i)});
  reader.take_in(cluster_queue({60}));
  reader.take_in(engine::ObjectChanged{on_flavors("not known", seconds(55))});
  reader.take_in(engine::ObjectRemoved{numbered(0)});
  reader.take_in(engine::ObjectRemoved{on_flavors("not known", seconds(55))});
  reader.take_in(cluster_queue({60}));
  reader.take_in(engine::ObjectChanged{on_flavors("known", seconds(55))});
  REQUIRE(asked.wait_for(1, 1));
  reader.stop();
  CHECK(asked.lists == std::vector<std::string>{"known"});
}

TEST_CASE("late pod reader: the end of a flavor that evicts no Workload lists no pods, and the next one does, once") {
  const StillClock clock;
  Asked asked;
  asked.evicts_from = 6;
  LatePodReader reader(kFiveMinutes, clock, asked.callbacks());
  reader.take_in(cluster_queue({60, 61, 62}));
  reader.take_in(engine::ObjectChanged{on_flavors("late", seconds(55))});
  REQUIRE(asked.wait_for(1, 1));
  // Another version of the Workload.
  reader.take_in(engine::ObjectChanged{on_flavors("late", seconds(55))});
  reader.take_in(engine::ObjectChanged{on_flavors("next", seconds(55))});
  REQUIRE(asked.wait_for(2, 2));
  reader.stop();
  CHECK(asked.ends == std::vector<int>{5, 6, 5, 6});
  CHECK(asked.lists == std::vector<std::string>{"late", "next"});
}

TEST_CASE("late pod reader: waitForPodsReady that ends before the flavor is the one that counts") {
  const StillClock clock;
  Asked asked;
  LatePodReader reader(kFiveMinutes, clock, asked.callbacks());
  reader.take_in(cluster_queue({320}));
  reader.take_in(engine::ObjectChanged{on_flavors("late", minutes(5) - seconds(5))});
  REQUIRE(asked.wait_for(1, 1));
  reader.stop();
  CHECK(asked.ends == std::vector<int>{5});
}

TEST_CASE("late pod reader: the reason of pod number 300 is found, in one list of two pages") {
  PodsApi api;
  const StillClock clock;
  const MonotonicTime before = clock.now().monotonic;
  const auto reason = see_late_pods(api, job_of(300), seconds(4), clock, {});
  REQUIRE(reason);
  CHECK(sentence_of(*reason) == "Pod p-300 cannot be scheduled (Unschedulable)");
  CHECK(api.asked == std::vector<std::string>{"pods 0", "pods 250"});
  for (const auto& limit : api.limits) {
    REQUIRE(limit);
    CHECK(*limit > before);
    CHECK(*limit < clock.now().monotonic + seconds(4));
  }
}

TEST_CASE("late pod reader: of a job with more than 2,000 pods the others are not read, and are not missing") {
  PodsApi api;
  api.pods = api.late = 2'001;
  CHECK_FALSE(see_late_pods(api, job_of(2'001), seconds(4), StillClock(), {}));
  // Its pods are there and say nothing, so the Warnings could.
  CHECK(api.asked.size() == 9);
  CHECK(api.asked.back() == "events 0");
  PodsApi short_of_some;
  const auto reason = see_late_pods(short_of_some, job_of(301), seconds(4), StillClock(), {});
  REQUIRE(reason);
  CHECK(reason->token == "FailedCreate");
}

TEST_CASE("late pod reader: when the time is over the pods that were read count") {
  PodsApi api;
  api.pods = 2'000;
  api.answered = 0;
  CHECK_FALSE(see_late_pods(api, job_of(2'000), seconds(4), StillClock(), {}));
  CHECK(api.asked.size() == 1);
  PodsApi slow;
  slow.pods = 2'000;
  slow.late = 7;
  slow.answered = 1;
  const auto reason = see_late_pods(slow, job_of(2'000), seconds(4), StillClock(), {});
  REQUIRE(reason);
  CHECK(reason->name == "p-7");
}

}  // namespace late_pod_reader_test
