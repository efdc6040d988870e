#include "commands/kubectl/list_text.h"
#include "scheduler/eligibility.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::commands::list_text_test {
namespace {

using nlohmann::json;

const Timestamp kNow = *parse_rfc3339("2026-01-01T12:00:00Z");

json workloads() {
  const json held = {{"namespace", "team-a"},
                     {"name", "job-run-1"},
                     {"localQueue", "lq"},
                     {"clusterQueue", "cq"},
                     {"state", "Admitted"},
                     {"reason", "Running"},
                     {"priority", 3},
                     {"flavors", {"spot"}},
                     {"usage", {{"cpu", "6"}}},
                     {"submitter", "alice"},
                     {"job", {{"kind", "Job"}, {"name", "run"}}},
                     {"reasonInWords", "running"},
                     {"since", "2026-01-01T11:00:00Z"},
                     {"created", "2026-01-01T09:00:00Z"}};
  const json waits = {
      {"namespace", "team-b"},
      {"name", "jobset-llm-2"},
      {"localQueue", "lq"},
      {"clusterQueue", "cq"},
      {"state", "Pending"},
      {"reason", "WaitingForQuota"},
      {"positionInClusterQueue", 4},
      {"positionInLocalQueue", 0},
      {"job", {{"kind", "JobSet"}, {"name", "llm"}}},
      {"reasonInWords", "waiting for quota"},
      {"estimatedStart",
       {{"outcome", "Range"}, {"earliest", "2026-01-01T12:05:00Z"}, {"latest", "2026-01-01T12:20:00Z"}}},
      {"since", "2026-01-01T11:59:30Z"},
      {"created", "2026-01-01T11:59:30Z"}};
  return {{"kind", "WorkloadSummaryList"}, {"items", {held, waits}}};
}

TEST_CASE("list text: Workloads with positions that begin at one, as kubectl's tables") {
  CHECK(list_text(workloads(), {}, kNow) ==
        "NAME          QUEUE  STATE     POSITION  IN CLUSTERQUEUE  REASON             SINCE  FLAVORS\n"
        "job-run-1     lq     Admitted  -         -                running            60m    spot\n"
        "jobset-llm-2  lq     Pending   1         5                waiting for quota  30s    -\n");
  const auto wide = list_rows(workloads(), {.format = ListFormat::kWide, .namespaces = true, .jobs = true}, kNow);
  REQUIRE(wide.size() == 3);
  CHECK(wide[0] == TableRow{"NAMESPACE", "JOB", "QUEUE", "CLUSTERQUEUE", "STATE", "POS", "REASON", "SINCE", "PRIO",
                            "USAGE", "ETA", "SUBMITTER"});
  CHECK(wide[1] ==
        TableRow{"team-a", "job/run", "lq", "cq", "Admitted", "-", "running", "60m", "3", "spot:cpu=6", "-", "alice"});
  CHECK(wide[2][1] == "jobset/llm");
  CHECK(wide[2][5] == "1/5");
  CHECK(wide[2][10] == "5m-20m");
}

TEST_CASE("list text: a wide table of usual names fits 160 columns") {
  json list = workloads();
  list["items"][0]["job"]["name"] = "finetune-llama-lora";
  list["items"][0]["flavors"] = {"on-demand"};
  list["items"][0]["usage"] = {{"cpu", "8"}, {"memory", "64Gi"}, {"nvidia.com/gpu", "8"}};
  for (json& item : list["items"]) {
    item["localQueue"] = "team-a";
    item["clusterQueue"] = "research-a";
  }
  const std::string table = list_text(list, {.format = ListFormat::kWide, .jobs = true}, kNow);
  INFO(table);
  CHECK(table.find('\n') <= 160);
  for (size_t begin = 0; begin < table.size();) {
    const size_t end = table.find('\n', begin);
    CHECK(end - begin <= 160);
    begin = end + 1;
  }
}

json quota(const char* used, const char* borrowed) {
  return {{"flavor", "spot"}, {"resource", "cpu"},    {"nominal", "10"}, {"used", used},
          {"free", "4"},      {"borrowed", borrowed}, {"max", "20"}};
}

TEST_CASE("list text: a Cohort shows what is used of its tree, not of the quota that it has itself") {
  json own = quota("8", "0");
  own["nominal"] = "0";
  const json cohorts = {{"kind", "CohortSummaryList"},
                        {"items", {{{"name", "all"}, {"clusterQueues", {"cq"}}, {"quotas", {own}}}}}};
  CHECK(list_text(cohorts, {}, kNow) ==
        "NAME  PARENT  CLUSTERQUEUES  USAGE\n"
        "all   -       cq             spot/cpu=8 of 20\n");
  const auto wide = list_rows(cohorts, {.format = ListFormat::kWide}, kNow);
  CHECK(wide[0].back() == "OWN QUOTA");
  CHECK(wide[1].back() == "spot/cpu=0");
}

TEST_CASE("list text: names, JSON and YAML hold every item") {
  CHECK(list_text(workloads(), {.format = ListFormat::kName}, kNow) ==
        "workload.kueue.x-k8s.io/job-run-1\nworkload.kueue.x-k8s.io/jobset-llm-2\n");
  CHECK(json::parse(list_text(workloads(), {.format = ListFormat::kJson}, kNow)) == workloads());
  CHECK(list_text(workloads(), {.format = ListFormat::kYaml}, kNow).find("positionInClusterQueue: 4") !=
        std::string::npos);
}

json cluster_queues() {
  const json own = {{"name", "cq"},
                    {"cohort", "all"},
                    {"state", "Active"},
                    {"pending", 2},
                    {"reserving", 1},
                    {"oldestPendingSince", "2026-01-01T10:00:00Z"},
                    {"strategy", "StrictFIFO"},
                    {"quotas", {quota("12", "2")}}};
  const json alone = {{"name", "lone"}, {"cohort", ""},   {"state", "Stopped"},     {"reasonInWords", "stopped"},
                      {"pending", 0},   {"reserving", 0}, {"quotas", json::array()}};
  return {{"kind", "ClusterQueueSummaryList"}, {"items", {own, alone}}};
}

TEST_CASE("list text: queues show what they use and have borrowed") {
  CHECK(list_text(cluster_queues(), {}, kNow) ==
        "NAME  COHORT  STATE    PENDING  RESERVING  LONGEST WAIT  USAGE              BORROWED\n"
        "cq    all     Active   2        1          120m          spot/cpu=12 of 10  spot/cpu=2\n"
        "lone  -       Stopped  0        0          -             -                  -\n");
  const auto wide = list_rows(cluster_queues(), {.format = ListFormat::kWide}, kNow);
  CHECK(wide[1].back() == "-");
  CHECK(wide[1][8] == "StrictFIFO");
  CHECK(wide[2].back() == "stopped");
}

TEST_CASE("list text: the tree has Cohorts above their ClusterQueues, and loses none in a circle") {
  const json cohorts = {{"kind", "CohortSummaryList"},
                        {"items",
                         {{{"name", "all"}, {"parent", "root"}, {"quotas", {quota("12", "0")}}},
                          {{"name", "root"}, {"parent", ""}, {"quotas", json::array()}},
                          {{"name", "a"}, {"parent", "b"}, {"quotas", json::array()}},
                          {{"name", "b"}, {"parent", "a"}, {"quotas", json::array()}}}}};
  const std::string tree = tree_text(cohorts, cluster_queues(), "");
  INFO(tree);
  CHECK(tree.find("cohort/root\n  cohort/all") != std::string::npos);
  CHECK(tree.find("\n    clusterqueue/cq  Active   2") != std::string::npos);
  CHECK(tree.find("clusterqueue/lone") != std::string::npos);
  CHECK(tree.find("cohort/a") != std::string::npos);
  CHECK(tree.find("cohort/b") != std::string::npos);
  CHECK(tree.find("spot") != std::string::npos);
  CHECK(tree_text(cohorts, cluster_queues(), "memory").find("spot") == std::string::npos);
}

TEST_CASE("list text: a resource without quota is refused with the one that is meant") {
  const json list = {{"items", {{{"quotas", {{{"resource", "nvidia.com/gpu"}}, {{"resource", "cpu"}}}}}}}};
  CHECK(no_such_resource({list}, "cpu").empty());
  CHECK(no_such_resource({list}, "").empty());
  CHECK(no_such_resource({list}, "gpu") ==
        "no ClusterQueue or Cohort has quota for \"gpu\"; there is quota for cpu, nvidia.com/gpu; did you mean "
        "\"nvidia.com/gpu\"?");
  CHECK(no_such_resource({}, "cpu").find("there is quota for nothing") != std::string::npos);
}

TEST_CASE("list text: who holds a resource, and how much is hidden") {
  const json held = {{"namespace", "team-a"},
                     {"name", "w"},
                     {"job", {{"kind", "Job"}, {"name", "run"}}},
                     {"amount", "6"},
                     {"flavor", "spot"},
                     {"since", "2026-01-01T11:50:00Z"},
                     {"clusterQueue", "cq"},
                     {"untilAtMost", "2026-01-01T13:00:00Z"}};
  json list = {{"kind", "HolderSummaryList"},
               {"metadata", {{"resource", "cpu"}, {"hidden", {{"count", 2}, {"amount", "8"}}}}},
               {"items", {held}}};
  CHECK(list_text(list, {}, kNow) ==
        "NAMESPACE  JOB      AMOUNT  FLAVOR  SINCE  LATEST END            CLUSTERQUEUE\n"
        "team-a     job/run  cpu=6   spot    10m    2026-01-01T13:00:00Z  cq\n"
        "2 more that you cannot list hold 8 of cpu\n");
}

TEST_CASE("list text: amounts have one format, whatever muster counts in") {
  const json quota = {{"flavor", "f"},   {"resource", "memory"},   {"used", "244186889246"}, {"nominal", "400Gi"},
                      {"borrowed", "0"}, {"free", "185309840154"}, {"max", "400Gi"}};
  const json cohorts = {{"kind", "CohortSummaryList"},
                        {"items", {{{"name", "all"}, {"parent", ""}, {"quotas", {quota}}}}}};
  const std::string tree = tree_text(cohorts, {{"items", json::array()}}, "");
  INFO(tree);
  CHECK(tree.find("227.4Gi") != std::string::npos);
  CHECK(tree.find("172.6Gi") != std::string::npos);
  CHECK(tree.find("244186889246") == std::string::npos);
  CHECK(list_text(cohorts, {}, kNow).find("f/memory=227.4Gi of 400Gi") != std::string::npos);
  const json holders = {{"kind", "HolderSummaryList"},
                        {"metadata", {{"resource", "memory"}, {"hidden", {{"count", 1}, {"amount", "1073741825"}}}}},
                        {"items", {{{"namespace", "a"}, {"name", "w"}, {"resource", "cpu"}, {"amount", "99626m"}}}}};
  const std::string who = list_text(holders, {}, kNow);
  INFO(who);
  CHECK(who.find("99.626") != std::string::npos);
  CHECK(who.find("hold 1Gi of memory") != std::string::npos);
}

TEST_CASE("list text: ages as kubectl's") {
  const auto at = [](int64_t seconds) { return age(time_to_json(Timestamp{kNow.seconds - seconds, 0}), kNow); };
  CHECK(at(0) == "0s");
  CHECK(at(119) == "119s");
  CHECK(at(312) == "5m12s");
  CHECK(at(3600) == "60m");
  CHECK(at(4 * 3600 + 120) == "4h2m");
  CHECK(at(30 * 3600) == "30h");
  CHECK(at(3 * 86400) == "3d");
  CHECK(at(-5) == "0s");
  CHECK(age(json(), kNow) == "-");
  CHECK(age("soon", kNow) == "-");
}

TEST_CASE("list text: a watch prints the rows that changed") {
  const std::vector<TableRow> before = {{"NAME", "STATE"}, {"a", "Pending"}, {"b", "Pending"}};
  const std::vector<TableRow> after = {{"NAME", "STATE"}, {"a", "Admitted"}, {"b", "Pending"}, {"c", "Pending"}};
  CHECK(changed_rows(before, after) == std::vector<TableRow>{{"a", "Admitted"}, {"c", "Pending"}});
  CHECK(changed_rows(after, after).empty());
}

TEST_CASE("list text: formats") {
  CHECK(*parse_list_format("wide") == ListFormat::kWide);
  CHECK(parse_list_format("yml").error().message.find("did you mean \"yaml\"?") != std::string::npos);
  CHECK_FALSE(parse_list_format("jsonpath={.items}").ok());
}

}  // namespace
}  // namespace muster::commands::list_text_test
