// What a list of Workloads shows by its filters, in which order, and what it counts.
#include "api/meta/submitter.h"
#include "api/workload.h"
#include "explain/lists/workload_list.h"
#include "explain/lists/workload_state.h"
#include "test/explain/explain_cluster.h"

namespace muster::test::list_filters_test {
namespace {

using Names = std::vector<std::string>;

explain::QueueSnapshot snapshot_of(const ExplainCluster& cluster, bool records = true) {
  explain::QueueListing listing = explain::take_queue_listing(cluster.state, cluster.decisions, true, cluster.now());
  listing.records_submitters = records;
  return explain::QueueSnapshot(std::move(listing));
}

void put_job(ExplainCluster& cluster, const std::string& name, json labels) {
  labels[kQueueNameLabel] = "lq";
  cluster.put(kJobs, ExplainCluster::job({{"metadata", {{"name", name}, {"uid", name + "-job"}, {"labels", labels}}}}));
}

json submitted_by(const char* user) {
  return {{"metadata", {{"annotations", {{kSubmitterAnnotation, user}}}}}};
}

json ended(const ExplainCluster& cluster, const char* reason, Duration ago) {
  return {{"status",
           {{"admission", {{"clusterQueue", "cq"}}},
            {"conditions", {cluster.condition("Finished", true, reason, "", ago)}}}}};
}

// One holds quota, two wait (the second with the higher priority), one is off; two have ended today, one before.
ExplainCluster filled() {
  ExplainCluster cluster;
  json holder = cluster.admitted();
  holder.merge_patch(submitted_by("alice"));
  cluster.put_other("train-a", -30, "3", holder);
  cluster.put_other("train-b", -25, "3", submitted_by("bob"));
  json urgent = submitted_by("alice");
  urgent["spec"]["priority"] = 7;
  cluster.put_other("eval", -20, "3", urgent);
  cluster.put_other("off", -5, "3", {{"spec", {{"active", false}}}});
  cluster.put_other("done", -50, "3", ended(cluster, "Succeeded", std::chrono::hours(2)));
  cluster.put_other("broken", -55, "3", ended(cluster, "Failed", std::chrono::hours(1)));
  cluster.put_other("old", -58, "3", ended(cluster, "Succeeded", std::chrono::hours(25)));
  put_job(cluster, "train-a", {{"team", "vision"}, {"tier", "gold"}});
  put_job(cluster, "train-b", {{"team", "vision"}});
  put_job(cluster, "eval", {{"team", "text"}});
  cluster.follow();
  return cluster;
}

explain::WorkloadFilter filter_of(const explain::FilterValues& values) {
  auto filter = explain::read_workload_filter(values);
  INFO((filter ? "" : filter.error().message));
  REQUIRE(filter.ok());
  return std::move(*filter);
}

json listed(const explain::FilterValues& values) {
  const ExplainCluster cluster = filled();
  const auto list = explain::workload_list(snapshot_of(cluster), filter_of(values));
  REQUIRE(list.ok());
  return *list;
}

Names names_of(const json& list) {
  Names names;
  for (const json& item : list["items"]) names.push_back(item["name"]);
  return names;
}

TEST_CASE("list filters: each one decides what is shown") {
  struct Row {
    explain::FilterValues values;
    Names names;
  };
  const Row rows[] = {
      {{}, {"train-a", "eval", "train-b", "off"}},
      {{{"state", "Pending"}}, {"eval", "train-b"}},
      {{{"state", "admitted,inactive"}}, {"train-a", "off"}},
      {{{"state", "Finished"}}, {"done"}},
      {{{"state", "Failed,Pending"}}, {"eval", "train-b", "broken"}},
      {{{"finished", "true"}}, {"train-a", "eval", "train-b", "off", "broken", "done"}},
      {{{"finished", "false"}}, {"train-a", "eval", "train-b", "off"}},
      {{{"labelSelector", "team=vision"}}, {"train-a", "train-b"}},
      {{{"labelSelector", "team in (text, sound)"}}, {"eval"}},
      {{{"labelSelector", "team,!tier"}}, {"eval", "train-b"}},
      {{{"search", "RAIN-"}}, {"train-a", "train-b"}},
      {{{"search", "team-a"}}, {"train-a", "eval", "train-b", "off"}},
      {{{"search", "nothing"}}, {}},
      {{{"submitter", "alice"}}, {"train-a", "eval"}},
      {{{"submitter", "ali"}}, {}},
      {{{"sortBy", "-queue"}}, {"off", "train-b", "eval", "train-a"}},
      {{{"sortBy", "created"}}, {"train-a", "train-b", "eval", "off"}},
      {{{"sortBy", "-created"}}, {"off", "eval", "train-b", "train-a"}},
      {{{"sortBy", "name"}}, {"eval", "off", "train-a", "train-b"}},
      {{{"sortBy", "-name"}}, {"train-b", "train-a", "off", "eval"}},
      // What the order says nothing about stays in the order of the queue.
      {{{"sortBy", "priority"}}, {"train-a", "train-b", "off", "eval"}},
      {{{"sortBy", "-priority"}}, {"eval", "train-a", "train-b", "off"}},
      {{{"search", "train"}, {"state", "Pending"}, {"submitter", "bob"}}, {"train-b"}},
  };
  for (const Row& row : rows) {
    for (const auto& [name, value] : row.values) INFO(name << "=" << value);
    CAPTURE(row.values.size());
    const json list = listed(row.values);
    INFO(list.dump());
    CHECK(names_of(list) == row.names);
  }
}

TEST_CASE("list filters: counts are of all that match everything but the states") {
  CHECK(listed({})["metadata"]["counts"] == json({{"Admitted", 1}, {"Pending", 2}, {"Inactive", 1}}));
  CHECK(listed({{"state", "Inactive"}})["metadata"]["counts"] ==
        json({{"Admitted", 1}, {"Pending", 2}, {"Inactive", 1}}));
  CHECK(listed({{"submitter", "alice"}, {"state", "Inactive"}})["metadata"]["counts"] ==
        json({{"Admitted", 1}, {"Pending", 1}}));
  CHECK(listed({{"finished", "true"}})["metadata"]["counts"] ==
        json({{"Admitted", 1}, {"Pending", 2}, {"Inactive", 1}, {"Finished", 1}, {"Failed", 1}}));
  // Of another namespace nothing is counted.
  const ExplainCluster cluster = filled();
  explain::WorkloadFilter filter = filter_of({{"finished", "true"}});
  filter.ns = "team-b";
  const json list = *explain::workload_list(snapshot_of(cluster), filter);
  CHECK(list["items"].empty());
  CHECK(list["metadata"]["counts"] == json::object());
}

TEST_CASE("list filters: a part of what matches, and how many come after it") {
  const ExplainCluster cluster = filled();
  explain::WorkloadFilter filter = filter_of({{"finished", "true"}, {"sortBy", "name"}});
  filter.limit = 2;
  filter.offset = 1;
  const json list = *explain::workload_list(snapshot_of(cluster), filter);
  CHECK(names_of(list) == Names{"done", "eval"});
  CHECK(list["metadata"]["remaining"] == 3);
  filter.offset = 100;
  CHECK(explain::workload_list(snapshot_of(cluster), filter)->at("metadata")["remaining"] == 0);
}

TEST_CASE("list filters: of a queue, also what has finished there") {
  const ExplainCluster cluster = filled();
  explain::WorkloadFilter filter = filter_of({{"state", "Finished"}});
  filter.cluster_queue = "cq";
  CHECK(names_of(*explain::workload_list(snapshot_of(cluster), filter)) == Names{"done"});
  filter.cluster_queue = "";
  filter.ns = "team-a";
  filter.local_queue = "lq";
  CHECK(names_of(*explain::workload_list(snapshot_of(cluster), filter)) == Names{"done"});
}

TEST_CASE("list filters: items say the labels of the job, its submitter and its end") {
  const json list = listed({{"finished", "true"}});
  const json& holder = list["items"][0];
  CHECK(holder["labels"] == json({{"team", "vision"}, {"tier", "gold"}, {kQueueNameLabel, "lq"}}));
  CHECK_FALSE(holder.contains("labelsLeftOut"));
  CHECK(holder["submitter"] == "alice");
  CHECK_FALSE(holder.contains("finishedAt"));
  CHECK_FALSE(list["items"][3].contains("submitter"));
  const json& broken = list["items"][4];
  CHECK(broken["state"] == "Failed");
  CHECK(broken["reason"] == "Failed");
  CHECK(broken["finishedAt"] == "2026-01-01T11:00:00Z");
  CHECK(broken["since"] == broken["finishedAt"]);
  CHECK(broken["clusterQueue"] == "cq");
  CHECK(list["metadata"]["recordsSubmitters"] == true);
}

TEST_CASE("list filters: a job with a megabyte of labels is found by each and shown with few") {
  ExplainCluster cluster = filled();
  json labels = json::object();
  for (int i = 0; i < 5000; ++i) labels["label-" + std::to_string(10'000 + i)] = std::string(63, 'x');
  put_job(cluster, "train-a", labels);
  const auto list =
      explain::workload_list(snapshot_of(cluster), filter_of({{"labelSelector", "label-14999,label-10000"}}));
  REQUIRE(list.ok());
  REQUIRE(names_of(*list) == Names{"train-a"});
  const json& item = (*list)["items"][0];
  CHECK(item.dump().size() < 2 * explain::kMostBytesOfLabels);
  CHECK(item["labels"].size() + item["labelsLeftOut"].get<size_t>() == 5001);
}

TEST_CASE("list filters: labels of a kind that the reader cannot list are neither shown nor compared") {
  const ExplainCluster cluster = filled();
  explain::WorkloadFilter filter = filter_of({});
  filter.hidden_kinds = {kJobs.id()};
  const json list = *explain::workload_list(snapshot_of(cluster), filter);
  CHECK(list["items"].size() == 4);
  CHECK(list.dump().find("vision") == std::string::npos);
  filter = filter_of({{"labelSelector", "!team"}});
  filter.hidden_kinds = {kJobs.id()};
  const auto refused = explain::workload_list(snapshot_of(cluster), filter);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().forbidden);
  CHECK(
      refused.error().message ==
      "you cannot list jobs.batch, whose labels the selector compares; ask for that right, or leave the selector out");
}

TEST_CASE("list filters: what is not known is refused in a sentence") {
  struct Row {
    const char *name, *value, *says;
  };
  const std::string long_text(2000, 'a');
  const Row rows[] = {
      {"state", "Pnding",
       "state: there is no state \"Pnding\"; there are Pending, QuotaReserved, Admitted, Evicted, Inactive, Finished, "
       "Failed; did you mean \"Pending\"?"},
      {"state", "Pending,", "state: there is no state \"\""},
      {"sortBy", "age", "sortBy: there is no order \"age\"; there are queue, created, name, priority"},
      {"sortBy", "--name", "sortBy: there is no order"},
      {"finished", "yes", "finished: must be true or false"},
      {"labelSelector", "team=a,", "labelSelector: the text ends where the name of a label must be"},
      {"labelSelector", long_text.c_str(), "labelSelector: a label selector has at most 1024 characters"},
      {"search", long_text.c_str(), "search: a text to search for has at most 253 characters"},
      {"submitter", long_text.c_str(), "submitter: muster records no name"},
      {"submitter", "a\x1b[31m", "submitter: muster records no name"},
  };
  for (const Row& row : rows) {
    INFO(row.name << "=" << row.value);
    const auto read = explain::read_workload_filter({{row.name, row.value}});
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().message.starts_with(row.says));
  }
}

}  // namespace
}  // namespace muster::test::list_filters_test
