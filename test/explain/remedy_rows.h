// A cause that explain names, what it tells a reader to do about it, and the change that follows that.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>

#include "explain/remedies.h"
#include "test/explain/explain_rows.h"

namespace muster::test::remedy_rows {

using explain::Cause;
using Change = std::function<void(ExplainCluster&)>;

struct Row {
  Cause of;
  const char* cause;
  Change arrange;
  const char* reason;
  const char* remedy;  // a part of it
  Change follow;
  const ResourceType* asked = &kJobs;
};

inline ExplainReply ask(const Row& row, ExplainCluster& cluster) {
  cluster.decide();
  return cluster.ask(*row.asked, row.asked == &kWorkloads ? "job-train" : "train");
}

inline void check_remedy(const Row& row, const ExplainReply& reply) {
  INFO(to_json(reply).dump());
  if (*row.reason != '\0') CHECK(reply.reason == row.reason);
  std::string remedies;
  for (const std::string& change : reply.change) remedies += change + "\n";
  CHECK(remedies.find(row.remedy) != std::string::npos);
}

inline json workload_with(const std::function<void(json& spec)>& change) {
  json workload = ExplainCluster::workload();
  change(workload["spec"]);
  return workload;
}

inline Change put_workload(const std::function<void(json& spec)>& change) {
  return [change](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, workload_with(change));
  };
}

inline Change both(const Change& one, const Change& other) {
  return [one, other](ExplainCluster& cluster) {
    one(cluster);
    other(cluster);
  };
}

// Of remedies_test.cpp: who follows them is admitted.
std::set<Cause> causes_of_admitted();

}  // namespace muster::test::remedy_rows
