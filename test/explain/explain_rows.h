// Tables of situations and what muster says of each.
#pragma once

#include <functional>
#include <vector>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "test/explain/explain_cluster.h"

namespace muster::test {

using namespace std::chrono_literals;

struct ExplainRow {
  const char* name;
  std::function<void(ExplainCluster&)> arrange;
  const char* reason;
  const char* headline;             // a part of it
  std::vector<const char*> also{};  // somewhere in the answer
  const ResourceType* type = &kJobs;
  std::string object{};  // empty: "train", and of Workloads "job-train"
  ReconcilerSettings settings{};
  // What is found in the objects alone, where the reason is only in the memory of the leader.
  const char* without_leader = nullptr;

  std::string asked() const { return !object.empty() ? object : type == &kWorkloads ? "job-train" : "train"; }
};

inline ReconcilerSettings with_pods_ready() {
  ReconcilerSettings settings;
  settings.queues.wait_for_pods_ready =
      WaitForPodsReady{.timeout = 5min, .recovery_timeout = 3min, .requeuing = {.backoff_limit_count = 3}};
  return settings;
}

// A queued job whose Workload is like this.
inline std::function<void(ExplainCluster&)> with_workload(std::function<json(ExplainCluster&)> patch,
                                                          const json& job = json::object()) {
  return [patch = std::move(patch), job](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job(job));
    cluster.put(kWorkloads, ExplainCluster::workload(patch(cluster)));
  };
}

inline void check_row(const ExplainRow& row, ExplainCluster cluster) {
  INFO(std::string(row.name));
  row.arrange(cluster);
  cluster.decide();
  const ExplainReply reply = cluster.ask(*row.type, row.asked());
  const std::string all = to_json(reply).dump();
  INFO(all);
  CHECK(reply.reason == row.reason);
  CHECK(reply.headline.find(row.headline) != std::string::npos);
  for (const char* part : row.also) CHECK_MESSAGE(all.find(part) != std::string::npos, part);
  CHECK(reply.headline.ends_with("."));
  for (const std::string& sentence : reply.because) CHECK(sentence.find("..") == std::string::npos);
}

inline void check_row(const ExplainRow& row) {
  check_row(row, ExplainCluster(row.settings));
}

}  // namespace muster::test
