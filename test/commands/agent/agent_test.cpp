// The agent of in-place restarts: what it decides, and one agent against an API server that a test writes.
#include "commands/agent/agent.h"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "api/codec/json.h"
#include "base/mutex.h"
#include "commands/agent/decision.h"

namespace agent_test {

using namespace muster;
using namespace muster::agent;
using nlohmann::json;

namespace {

json train(json status = json::object(), json annotations = json::object(), const char* strategy = "InPlaceRestart") {
  return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
          {"kind", "JobSet"},
          {"metadata", {{"name", "train"}, {"namespace", "team-a"}, {"annotations", std::move(annotations)}}},
          {"spec", {{"failurePolicy", {{"restartStrategy", strategy}, {"maxRestarts", 3}}}}},
          {"status", std::move(status)}};
}

std::function<std::optional<std::string>(const char*)> variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

// One JobSet and its watch, and the patches of pods.
class OneJobSet final : public kube::KubeApi {
 public:
  explicit OneJobSet(json jobset) : jobset_(std::move(jobset)) {}

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    const MutexLock lock(mutex_);
    if (request.method == "GET") {
      CHECK(request.path == "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets");
      CHECK(request.query.front() == std::pair<std::string, std::string>("fieldSelector", "metadata.name=train"));
      return json{{"kind", "JobSetList"},
                  {"metadata", {{"resourceVersion", std::to_string(version_)}}},
                  {"items", json::array({jobset_})}};
    }
    writes_.push_back(request.method + " " + request.path + " " + request.body);
    changed_.notify_all();
    if (refusals_ > 0) {
      --refusals_;
      return fail_with(kube::StatusError{500, "InternalError", "etcd has no leader", {}, std::nullopt, ""});
    }
    return json::object();
  }
  // Every change after the version from which the watch goes on.
  Outcome<kube::StatusError> stream(const kube::KubeRequest& request, const ByteSink& on_bytes,
                                    std::stop_token stop) override {
    uint64_t told = 0;
    for (const auto& [key, value] : request.query) {
      if (key == "resourceVersion") told = std::stoull(value);
    }
    while (!stop.stop_requested()) {
      json event;
      {
        const MutexLock lock(mutex_);
        if (told == version_ && !stop.stop_requested())
          changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
        if (told == version_) continue;
        told = version_;
        event = {{"type", "MODIFIED"}, {"object", jobset_}};
      }
      if (!on_bytes(to_text(event) + "\n")) break;
    }
    return Done{};
  }

  void become(json status) {
    const MutexLock lock(mutex_);
    jobset_["status"] = std::move(status);
    jobset_["metadata"]["resourceVersion"] = std::to_string(++version_);
    changed_.notify_all();
  }
  void refuse(int times) { refusals_ = times; }
  // Waits for this number of writes.
  std::vector<std::string> writes(size_t count) {
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (writes_.size() < count && std::chrono::steady_clock::now() < deadline) changed_.wait_until(mutex_, deadline);
    return writes_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  json jobset_;
  std::atomic<uint64_t> version_ = 7;
  std::vector<std::string> writes_;
  std::atomic<int> refusals_ = 0;
};

// An agent on a thread.
struct Running {
  explicit Running(OneJobSet& api)
      : thread([this, &api](std::stop_token stop) {
          const kube::Timing timing{system_clock(), kube::system_sleeper(), [] { return 0.5; }};
          code = run_agent(
              api, {.ns = "team-a", .jobset = "train", .pod = "train-w-0-0", .restart_exit_code = 42}, timing,
              [this] { ++opened; }, [](const std::string&) {}, stop);
        }) {}
  template <class Condition>
  bool eventually(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return condition();
  }
  std::atomic<int> opened = 0;
  std::atomic<int> code = -1;
  std::jthread thread;
};

constexpr const char* kPatch =
    "PATCH /api/v1/namespaces/team-a/pods/train-w-0-0 "
    "{\"metadata\":{\"annotations\":{\"jobset.sigs.k8s.io/in-place-restart-attempt\":\"";

}  // namespace

TEST_CASE("in-place agent: one step in each situation") {
  struct Row {
    const char* name;
    JobSetView jobset;
    AgentState state;
    AgentStep expected;
  };
  const Row rows[] = {
      {"there is no JobSet", {}, {}, AgentStep::kWait},
      {"nothing is reported yet", {.exists = true}, {}, AgentStep::kReport},
      {"the barrier has not opened for the first time", {.exists = true}, {.attempt = 0}, AgentStep::kWait},
      {"the barrier opens", {.exists = true, .current = 0}, {.attempt = 0}, AgentStep::kOpen},
      {"it opens once", {.exists = true, .current = 0}, {.attempt = 0, .open = true}, AgentStep::kWait},
      {"another pod is ahead",
       {.exists = true, .current = 0, .previous = 0},
       {.attempt = 0, .open = true},
       AgentStep::kRestart},
      {"this pod is ahead", {.exists = true, .current = 0, .previous = 0}, {.attempt = 1}, AgentStep::kWait},
      {"all have come", {.exists = true, .current = 1, .previous = 0}, {.attempt = 1}, AgentStep::kOpen},
      {"the pod has missed an attempt",
       {.exists = true, .current = 2, .previous = 1},
       {.attempt = 1},
       AgentStep::kRestart},
      {"nothing is held back", {.exists = true, .bypassed = true, .previous = 4}, {}, AgentStep::kOpen},
      {"nothing was held back", {.exists = true, .bypassed = true, .previous = 4}, {.open = true}, AgentStep::kWait},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(next_step(row.jobset, row.state) == row.expected);
  }
}

TEST_CASE("in-place agent: what it reads of a JobSet") {
  const JobSetView fresh = read_view(train());
  CHECK(fresh.exists);
  CHECK_FALSE(fresh.bypassed);
  CHECK(attempt_of(fresh) == 0);
  const JobSetView later =
      read_view(train({{"currentInPlaceRestartAttempt", 4}, {"previousInPlaceRestartAttempt", 3}}));
  CHECK(later.previous == 3);
  CHECK(attempt_of(later) == 5);
  CHECK(attempt_of(read_view(train({{"currentInPlaceRestartAttempt", 2147483647}}))) == 2147483647);
  CHECK(read_view(train({}, {}, "Recreate")).bypassed);
  CHECK(read_view(train({}, {{"jobset.sigs.k8s.io/disable-in-place-restart", ""}})).bypassed);
}

TEST_CASE("in-place agent: its environment is checked") {
  const auto complaint = [](std::map<std::string, std::string> more) {
    more.insert({{"JOBSET_NAME", "train"}, {"POD_NAME", "p"}});
    auto options = read_options(variables(more));
    return options ? std::string() : options.error().message;
  };
  const auto options = read_options(variables({{"JOBSET_NAME", "train"}, {"POD_NAME", "p"}}));
  REQUIRE(options.ok());
  CHECK(options->probe_path == "/barrier-is-down");
  CHECK(options->probe_port == 8081);
  CHECK(options->restart_exit_code == 1);
  CHECK(complaint({{"STARTUP_PROBE_PATH", "/up"}, {"STARTUP_PROBE_PORT", "9000"}, {"IN_PLACE_RESTART_EXIT_CODE", "7"}})
            .empty());
  CHECK(complaint({{"JOBSET_NAME", ""}}).starts_with("JOBSET_NAME is not set"));
  CHECK(complaint({{"POD_NAME", ""}}).starts_with("POD_NAME is not set"));
  CHECK(complaint({{"WORKER_COMMAND", "sleep 1"}}).empty());
  for (const char* probe : {"STARTUP_PROBE_PATH", "STARTUP_PROBE_PORT"})
    CHECK(complaint({{"WORKER_COMMAND", "sleep 1"}, {probe, "80"}}).starts_with("WORKER_COMMAND is set together with"));
  const auto main = read_options(
      variables({{"JOBSET_NAME", "train"}, {"POD_NAME", "p"}, {"WORKER_COMMAND", "sleep 1"}, {"SHELL", "/bin/bash"}}));
  REQUIRE(main.ok());
  CHECK(main->worker_command == "sleep 1");
  CHECK(main->shell == "/bin/bash");
  CHECK(options->worker_command.empty());
  CHECK(options->shell == "/bin/sh");
  CHECK(complaint({{"STARTUP_PROBE_PATH", "up"}}).find("must begin with /") != std::string::npos);
  for (const char* port : {"0", "65536", "x", "80 "})
    CHECK(complaint({{"STARTUP_PROBE_PORT", port}}).find("must be a port") != std::string::npos);
  for (const char* code : {"0", "256", "-1", "one"})
    CHECK(complaint({{"IN_PLACE_RESTART_EXIT_CODE", code}}).find("must be an exit code") != std::string::npos);
}

TEST_CASE("in-place agent: a life from the report to the restart") {
  OneJobSet api(train());
  Running agent(api);
  CHECK(api.writes(1) == std::vector<std::string>{std::string(kPatch) + "0\"}}}"});
  CHECK(agent.opened == 0);
  api.become({{"currentInPlaceRestartAttempt", 0}});
  CHECK(agent.eventually([&] { return agent.opened == 1; }));
  CHECK(agent.code == -1);
  api.become({{"currentInPlaceRestartAttempt", 0}, {"previousInPlaceRestartAttempt", 0}});
  CHECK(agent.eventually([&] { return agent.code == 42; }));
  CHECK(agent.opened == 1);
  CHECK(api.writes(1).size() == 1);

  Running next(api);
  CHECK(api.writes(2).back() == std::string(kPatch) + "1\"}}}");
  next.thread.request_stop();
  CHECK(next.eventually([&] { return next.code == 0; }));
}

TEST_CASE("in-place agent: a report that fails is repeated, and nothing opens without it") {
  OneJobSet api(train({{"currentInPlaceRestartAttempt", 0}}));
  api.refuse(1);
  Running agent(api);
  const auto writes = api.writes(2);
  REQUIRE(writes.size() == 2);
  CHECK(writes[0] == writes[1]);
  CHECK(writes[1] == std::string(kPatch) + "1\"}}}");
  CHECK(agent.opened == 0);
  agent.thread.request_stop();
  CHECK(agent.eventually([&] { return agent.code == 0; }));
}

TEST_CASE("in-place agent: it holds nothing back where the JobSet does not restart in place") {
  OneJobSet api(train({}, {}, "Recreate"));
  Running agent(api);
  CHECK(agent.eventually([&] { return agent.opened == 1; }));
  CHECK(api.writes(0).empty());
  agent.thread.request_stop();
  CHECK(agent.eventually([&] { return agent.code == 0; }));
}

}  // namespace agent_test
