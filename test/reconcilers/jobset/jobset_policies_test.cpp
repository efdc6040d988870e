#include "reconcilers/jobset/jobset_policies.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/meta/constants.h"

namespace jobset_policies_test {

using namespace muster;
using namespace muster::reconcilers;
using nlohmann::json;

namespace {

constexpr const char* kFailIndex = "matching FailJob rule at index 1";

// Of replicated job "a" or "b", as the name says.
JobPtr failed_job(const char* name, int second, const char* reason = "BackoffLimitExceeded", const char* message = "") {
  const std::string replicated(name, 1);
  const std::string time = "2026-01-01T12:00:0" + std::to_string(second) + "Z";
  return read_job({{"metadata", {{"name", name}, {"labels", {{kReplicatedJobNameKey, replicated}}}}},
                   {"status",
                    {{"conditions", json::array({{{"type", "Failed"},
                                                  {"status", "True"},
                                                  {"reason", reason},
                                                  {"message", message},
                                                  {"lastTransitionTime", time}}})}}}});
}

JobSetPtr jobset_with(const json& spec, int restarts = 0) {
  json object = {{"spec",
                  {{"replicatedJobs", json::array({{{"name", "a"}, {"replicas", 2}},  //
                                                   {{"name", "b"}, {"replicas", 1}}})}}},
                 {"status", {{"restarts", restarts}, {"restartsCountTowardsMax", restarts}}}};
  object["spec"].merge_patch(spec);
  return read_jobset(object);
}

std::string text(const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::kGoOn) return "go on";
  std::string text = verdict.kind == Verdict::Kind::kFail      ? "fail: "
                     : verdict.kind == Verdict::Kind::kRestart ? "restart: "
                                                               : "restart job: ";
  if (verdict.kind != Verdict::Kind::kFail) text += verdict.counts_towards_max ? "counted, " : "not counted, ";
  text += to_text(verdict.reason);
  const size_t name = verdict.message.find("(first failed job: ");
  return text + (name == std::string::npos ? "" : ", " + verdict.message.substr(name + 19, 1));
}

json rules(std::initializer_list<json> list, int max_restarts = 1) {
  return {{"failurePolicy", {{"maxRestarts", max_restarts}, {"rules", json(list)}}}};
}

}  // namespace

TEST_CASE("jobset policies: what failed Jobs lead to") {
  const std::string kReached = "fail: ReachedMaxRestarts, ", kFailed = "fail: FailJobSetFailurePolicyAction, ",
                    kRestart = "restart: counted, RestartJobSetFailurePolicyAction, ",
                    kIgnoring = "restart: not counted, RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction, ",
                    kOne = "restart job: counted, RestartJobFailurePolicyAction, ",
                    kOneIgnoring = "restart job: not counted, RestartJobAndIgnoreMaxRestartsFailurePolicyAction, ";
  const json fail = {{"action", "FailJobSet"}}, ignore = {{"action", "RestartJobSetAndIgnoreMaxRestarts"}},
             restart = {{"action", "RestartJobSet"}}, one = {{"action", "RestartJob"}},
             one_ignoring = {{"action", "RestartJobAndIgnoreMaxRestarts"}};
  const auto with = [](json rule, const char* key, const char* value) {
    rule[key] = json::array({value});
    return rule;
  };
  const JobPtr a = failed_job("a-0", 5), b = failed_job("b-0", 3),
               evicted = failed_job("b-0", 4, "PodFailurePolicy", kFailIndex);
  struct Row {
    std::string name;
    json spec;
    int restarts;
    std::vector<JobPtr> failed;
    std::string expected;
  };
  const Row rows[] = {
      {"nothing has failed", {}, 0, {}, "go on"},
      {"no policy", {}, 0, {a}, "fail: FailedJobs, a"},
      {"the first failure by time is named", {}, 0, {a, b}, "fail: FailedJobs, b"},
      {"no rules and restarts left", rules({}, 1), 0, {a, b}, kRestart + "b"},
      {"no rules and no restarts left", rules({}, 1), 1, {a}, kReached + "a"},
      {"maxRestarts is zero", rules({}, 0), 0, {a}, kReached + "a"},
      {"a rule for everything", rules({fail}), 0, {a, b}, kFailed + "b"},
      {"the first rule that fits decides", rules({ignore, fail}), 0, {a}, kIgnoring + "a"},
      {"ignoring maxRestarts ignores it", rules({ignore}, 0), 7, {a}, kIgnoring + "a"},
      {"no number is left to count with", rules({ignore}), 2'147'483'647, {a}, kReached + "a"},
      {"a rule that restarts keeps to maxRestarts", rules({restart}, 2), 2, {a}, kReached + "a"},
      {"the target fits", rules({with(fail, "targetReplicatedJobs", "a")}), 0, {a, b}, kFailed + "a"},
      {"no target fits", rules({with(fail, "targetReplicatedJobs", "b")}), 0, {a}, kRestart + "a"},
      {"an earlier rule beats an earlier failure",
       rules({with(ignore, "targetReplicatedJobs", "a"), with(fail, "targetReplicatedJobs", "b")}),
       0,
       {a, b},
       kIgnoring + "a"},
      {"the reason fits",
       rules({with(fail, "onJobFailureReasons", "PodFailurePolicy")}),
       0,
       {a, evicted},
       kFailed + "b"},
      {"another reason", rules({with(fail, "onJobFailureReasons", "DeadlineExceeded")}), 0, {a}, kRestart + "a"},
      {"a pattern fits part of the message",
       rules({with(fail, "onJobFailureMessagePatterns", "rule at index [0-9]$")}),
       0,
       {evicted},
       kFailed + "b"},
      {"a pattern that does not fit",
       rules({with(fail, "onJobFailureMessagePatterns", "^rule")}),
       0,
       {evicted},
       kRestart + "b"},
      {"a pattern in Go's syntax",
       rules({with(fail, "onJobFailureMessagePatterns", "(?i)MATCHING\\s+(?P<what>failjob)\\b")}),
       0,
       {evicted},
       kFailed + "b"},
      {"a pattern that is none fits nothing",
       rules({with(fail, "onJobFailureMessagePatterns", "(")}),
       0,
       {evicted},
       kRestart + "b"},
      {"a single Job restarts", rules({one}), 0, {a, b}, kOne + "b"},
      {"a single Job keeps to maxRestarts", rules({one}, 2), 2, {a}, kReached + "a"},
      {"a single Job ignores maxRestarts", rules({one_ignoring}, 0), 5, {a}, kOneIgnoring + "a"},
      {"some restart by themselves and others with the JobSet",
       rules({with(one, "targetReplicatedJobs", "b"), with(restart, "targetReplicatedJobs", "a")}),
       0,
       {a, b},
       kOne + "b"},
      {"all of a rule must fit",
       rules({with(with(fail, "onJobFailureReasons", "PodFailurePolicy"), "targetReplicatedJobs", "a")}),
       0,
       {evicted},
       kRestart + "b"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const JobSetPtr jobset = jobset_with(row.spec, row.restarts);
    std::vector<const Job*> failed;
    for (const JobPtr& job : row.failed) failed.push_back(job.get());
    CHECK(text(judge_failures(*jobset, failed)) == row.expected);
  }
}

TEST_CASE("jobset policies: a pattern takes time linear in the message") {
  const JobSetPtr jobset = jobset_with(rules({{{"action", "FailJobSet"},  //
                                               {"onJobFailureMessagePatterns", json::array({"^(a*)*(a*)*(a*)*b$"})}}}));
  const std::string message(30'000, 'a');
  const JobPtr job = failed_job("a-0", 1, "BackoffLimitExceeded", message.c_str());
  CHECK(judge_failures(*jobset, {job.get()}).kind == Verdict::Kind::kRestart);
}

TEST_CASE("jobset policies: when as many Jobs have succeeded as are asked for") {
  const auto policy = [](const char* op, json targets) -> json {
    return {{"successPolicy", {{"operator", op}, {"targetReplicatedJobs", std::move(targets)}}}};
  };
  struct Row {
    std::string name;
    json spec;
    std::vector<const char*> succeeded;
    bool expected;
  };
  const Row rows[] = {
      {"all of all", policy("All", json::array()), {"a-0", "a-1", "b-0"}, true},
      {"all but one", policy("All", json::array()), {"a-0", "b-0"}, false},
      {"all targets", policy("All", {"a"}), {"a-0", "a-1"}, true},
      {"as many but not targets", policy("All", {"a"}), {"a-0", "b-0"}, false},
      {"any", policy("Any", json::array()), {"b-0"}, true},
      {"any target", policy("Any", {"b"}), {"b-0"}, true},
      {"no target of any", policy("Any", {"b"}), {"a-0", "a-1"}, false},
      {"none of any", policy("Any", json::array()), {}, false},
      {"none of targets without replicas", policy("All", {"nobody"}), {}, false},
      {"no policy is all", json::object(), {"a-0", "a-1"}, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    std::vector<JobPtr> jobs;
    std::vector<const Job*> succeeded;
    for (const char* name : row.succeeded) jobs.push_back(failed_job(name, 0));
    for (const JobPtr& job : jobs) succeeded.push_back(job.get());
    CHECK(has_succeeded(*jobset_with(row.spec), succeeded) == row.expected);
  }
}

}  // namespace jobset_policies_test
