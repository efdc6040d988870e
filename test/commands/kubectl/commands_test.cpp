// stop, resume, create and completion: what they send and print, without a cluster.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands/kubectl/completion.h"
#include "commands/kubectl/create_command.h"
#include "commands/kubectl/dry_run.h"
#include "commands/kubectl/get_command.h"
#include "commands/kubectl/reader.h"
#include "commands/kubectl/stop_command.h"

namespace muster::commands::commands_test {
namespace {

using nlohmann::json;

struct NotedAnswer {
  std::vector<std::string> notes;
};

TEST_CASE("an answer: that an object is not there is said once, and not as silence") {
  const auto ask = [](const std::string& asked, const std::string& found) {
    return ask_or_look_here<NotedAnswer>(
               false,
               [&]() -> Result<NotedAnswer, NoAnswer> {
                 return fail_with(NoAnswer{asked, true});
               },
               [&]() -> Result<NotedAnswer> { return fail(found); })
        .error()
        .message;
  };
  CHECK(ask("there is no LocalQueue x", "there is no LocalQueue x") == "there is no LocalQueue x");
  CHECK(ask("no route to host", "there is no LocalQueue x") ==
        "muster did not answer: no route to host; and without it: there is no LocalQueue x");
}

TEST_CASE("stop: the patches are kueuectl's") {
  CHECK(stop_patch(kClusterQueues, false) == json({{"spec", {{"stopPolicy", "HoldAndDrain"}}}}));
  CHECK(stop_patch(kLocalQueues, true) == json({{"spec", {{"stopPolicy", "Hold"}}}}));
  CHECK(stop_patch(kWorkloads, false) == json({{"spec", {{"active", false}}}}));
  CHECK(resume_patch(kClusterQueues) == json({{"spec", {{"stopPolicy", "None"}}}}));
  CHECK(resume_patch(kWorkloads) == json({{"spec", {{"active", true}}}}));
  CHECK(stoppable_type("cq") == &kClusterQueues);
  CHECK(stoppable_type("lq") == &kLocalQueues);
  CHECK(stoppable_type("workload") == &kWorkloads);
  CHECK(stoppable_type("job") == nullptr);
}

TEST_CASE("stop: evicted are those that hold quota and are not evicted yet") {
  json list = {{"items", json::array()}};
  for (const char* state : {"Admitted", "QuotaReserved", "Evicted", "Pending", "Inactive"})
    list["items"].push_back({{"namespace", "team"}, {"name", std::string("in-") + state}, {"state", state}});
  CHECK(evicted_by_stop(list, "") == std::vector<std::string>{"team/in-Admitted", "team/in-QuotaReserved"});
  CHECK(evicted_by_stop(list, "in-Admitted") == std::vector<std::string>{"team/in-Admitted"});
  CHECK(evicted_by_stop(list, "in-Pending").empty());
}

TEST_CASE("dry run: as kubectl's flag") {
  CHECK(*parse_dry_run("") == DryRun::kNone);
  CHECK(*parse_dry_run("client") == DryRun::kClient);
  CHECK(*parse_dry_run("server") == DryRun::kServer);
  CHECK_FALSE(parse_dry_run("yes").ok());
  CHECK(suffix_of(DryRun::kServer) == " (server dry run)");
  struct Row {
    std::vector<std::string> arguments;
    DryRun result;
  };
  for (const Row& row : {Row{{}, DryRun::kNone}, Row{{"--dry-run"}, DryRun::kClient},
                         Row{{"--dry-run=server"}, DryRun::kServer}, Row{{"--dry-run=none"}, DryRun::kNone}}) {
    CLI::App app;
    std::string text;
    add_dry_run(app, text);
    app.parse(std::vector<std::string>(row.arguments));
    CHECK(dry_run_of(text) == row.result);
  }
}

TEST_CASE("create: a ClusterQueue from kueuectl's flags") {
  CreateOptions options;
  options.name = "cq";
  options.cohort = "all";
  options.queuing_strategy = "StrictFIFO";
  options.namespace_selector = {"team=a"};
  options.reclaim_within_cohort = "Any";
  options.preemption_within_cluster_queue = "LowerPriority";
  options.nominal = {"spot:cpu=9;memory=36Gi", "fast:memory=1Gi;cpu=500m", "gpu:nvidia.com/gpu=8"};
  options.borrowing = {"spot:cpu=2"};
  options.lending = {"spot:cpu=1"};
  const auto made = cluster_queue_of(options);
  REQUIRE(made.ok());
  const json& spec = (*made)["spec"];
  CHECK((*made)["apiVersion"] == "kueue.x-k8s.io/v1beta2");
  CHECK((*made)["kind"] == "ClusterQueue");
  CHECK(spec["cohortName"] == "all");
  CHECK(spec["queueingStrategy"] == "StrictFIFO");
  CHECK(spec["namespaceSelector"] == json({{"matchLabels", {{"team", "a"}}}}));
  CHECK(spec["preemption"] == json({{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}}));
  const json& groups = spec["resourceGroups"];
  REQUIRE(groups.size() == 3);
  CHECK(groups[0]["coveredResources"] == json({"cpu", "memory"}));
  const json cpu = {{"name", "cpu"}, {"nominalQuota", "9"}, {"borrowingLimit", "2"}, {"lendingLimit", "1"}};
  CHECK(groups[0]["flavors"][0]["resources"][0] == cpu);
  CHECK(groups[2]["coveredResources"] == json({"nvidia.com/gpu"}));

  for (const char* wrong : {"spot", "spot:", ":cpu=1", "spot:cpu", "spot:cpu=lots"}) {
    INFO(wrong);
    CreateOptions bad;
    bad.nominal = {wrong};
    CHECK_FALSE(cluster_queue_of(bad).ok());
  }
  CreateOptions lending;
  lending.lending = {"spot:cpu=1"};
  CHECK(cluster_queue_of(lending).error().message == "--nominal-quota is missing for cpu of flavor spot");
  CreateOptions selector;
  selector.namespace_selector = {"team"};
  CHECK_FALSE(cluster_queue_of(selector).ok());
  CHECK((*cluster_queue_of({}))["spec"]["namespaceSelector"] == json::object());
}

TEST_CASE("create: a LocalQueue and a ResourceFlavor") {
  CreateOptions options;
  options.name = "team";
  options.cluster_queue = "cq";
  const json local = local_queue_of(options, "team-a");
  CHECK(local["metadata"] == json({{"name", "team"}, {"namespace", "team-a"}}));
  CHECK(local["spec"] == json({{"clusterQueue", "cq"}}));
  options.node_labels = {"pool=spot"};
  options.node_taints = {"spot=yes:NoSchedule"};
  options.tolerations = {"spot=yes:NoSchedule", "any", "key:NoExecute"};
  const auto flavor = flavor_of(options);
  REQUIRE(flavor.ok());
  const json& spec = (*flavor)["spec"];
  CHECK(spec["nodeLabels"] == json({{"pool", "spot"}}));
  CHECK(spec["nodeTaints"] == json::array({{{"key", "spot"}, {"value", "yes"}, {"effect", "NoSchedule"}}}));
  CHECK(spec["tolerations"][0]["operator"] == "Equal");
  CHECK(spec["tolerations"][1] == json({{"key", "any"}, {"operator", "Exists"}}));
  CHECK(spec["tolerations"][2] == json({{"key", "key"}, {"effect", "NoExecute"}, {"operator", "Exists"}}));
  options.node_taints = {"spot"};
  CHECK_FALSE(flavor_of(options).ok());
}

struct Completion {
  CLI::App app;
  GetOptions get, who, tree;
  StopOptions stop;
  CreateOptions create;
  std::string created;
  std::vector<std::string> asked;

  Completion() {
    add_get(app, get);
    add_stop(app, stop);
    add_create(app, create, created);
    add_who(app, who);
    add_tree(app, tree);
  }
  std::string operator()(const std::vector<std::string>& words) {
    using Words = std::vector<std::string>;
    return complete(app, words,
                    {.of_kind =
                         [this](const ResourceType& type, const Words&) {
                           asked.emplace_back(type.plural);
                           return Words{"train", "test", "other"};
                         },
                     .of_jobs = [](const Words&) { return Words{}; },
                     .of_resources =
                         [](const Words&) {
                           return Words{"nvidia.com/gpu", "cpu", "cpu"};
                         }});
  }
};

TEST_CASE("completion: commands, kinds, names, flags and their values") {
  struct Row {
    std::vector<std::string> words;
    std::string text;
    std::string asked;
  };
  const Row rows[] = {
      {{""}, "create\nget\nstop\ntree\nwho\n:4\n", ""},
      {{"g"}, "get\n:4\n", ""},
      {{"get", ""}, "clusterqueues\ncohorts\njobs\nqueues\nworkloads\n:4\n", ""},
      {{"get", "jobs", "t"}, "test\ntrain\n:4\n", "jobs"},
      {{"get", "-n", "team", "queues", "o"}, "other\n:4\n", "localqueues"},
      {{"get", "jobs", "-n", ""}, "other\ntest\ntrain\n:4\n", "namespaces"},
      {{"get", "workloads", "-q", "tr"}, "train\n:4\n", "localqueues"},
      {{"get", "jobs", "-o", ""}, "json\nname\nwide\nyaml\n:4\n", ""},
      {{"get", "jobs", "--all"}, "--all-namespaces\n:4\n", ""},
      {{"get", "jobs", "--state", "F"}, "Failed\nFinished\n:4\n", ""},
      {{"get", "jobs", "--sort-by", ""}, "created\nname\npriority\nqueue\n:4\n", ""},
      {{"stop", "cl"}, "clusterqueue\n:4\n", ""},
      {{"stop", "clusterqueue", "te"}, "test\n:4\n", "clusterqueues"},
      {{"stop", "job", "te"}, "test\n:4\n", "jobs"},
      {{"who", ""}, "cpu\nnvidia.com/gpu\n:4\n", ""},
      {{"tree", "--resource", "n"}, "nvidia.com/gpu\n:4\n", ""},
      {{"create", ""}, "clusterqueue\nflavor\nlocalqueue\n:4\n", ""},
      {{"create", "localqueue", "-c", "o"}, "other\n:4\n", "clusterqueues"},
      {{}, "create\nget\nstop\ntree\nwho\n:4\n", ""},
  };
  for (const Row& row : rows) {
    Completion completion;
    std::string words;
    for (const std::string& word : row.words) words += word + "|";
    INFO(words);
    CHECK(completion(row.words) == row.text);
    CHECK(completion.asked == (row.asked.empty() ? std::vector<std::string>{} : std::vector<std::string>{row.asked}));
  }
}

TEST_CASE("completion: a script for each shell") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = completion_script(shell);
    REQUIRE(script.ok());
    CHECK(script->find("__complete") != std::string::npos);
    CHECK(script->find("kubectl-muster") != std::string::npos);
  }
  CHECK(completion_script("tcsh").error().message ==
        "there is no completion for \"tcsh\"; there are bash, zsh and fish");
}

}  // namespace
}  // namespace muster::commands::commands_test
