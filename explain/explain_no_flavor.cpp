// What a person can do when no flavor suits the pods of a Workload, by the obstacle of each flavor.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/texts/unmet_requests.h"
#include "base/did_you_mean.h"
#include "explain/explain_context.h"
#include "scheduler/views/explanation.h"

namespace muster::explain {
namespace {

// The toleration that a taint needs, and the patch of a Job that adds it.
void add_taint_remedy(const ResourceFlavor& flavor, const Taint& taint, const PodSet& pod_set, Words words,
                      ExplainReply& reply) {
  nlohmann::json toleration = {{"key", taint.key}, {"effect", taint.effect}};
  if (taint.value.empty())
    toleration["operator"] = "Exists";
  else
    toleration["value"] = taint.value;
  if (words.contains("type") && words.at("type") == kJobs.plural) {
    const bool has_others = !pod_set.pod_template.spec->tolerations.empty();
    const std::string path = "/spec/template/spec/tolerations";
    const nlohmann::json added = has_others ? toleration : nlohmann::json::array({toleration});
    words.emplace(
        "patch",
        to_text(nlohmann::json::array({{{"op", "add"}, {"path", has_others ? path + "/-" : path}, {"value", added}}})));
  }
  words.emplace("flavor", flavor.meta.name);
  words.emplace("taint", taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect);
  words.emplace("toleration", to_text(toleration));
  add_remedies(Cause::kTaint, std::move(words), reply);
}

void add_flavor_remedy(const ExplainContext& context, const Workload& workload, const scheduler::FlavorRow& row,
                       Words words, ExplainReply& reply) {
  if (row.verdict == kAsksForTopology) return add_remedies(Cause::kTopology, std::move(words), reply);
  if (row.flavor.empty()) {
    words.emplace("resource", row.resource);
    std::vector<std::string> known;
    const ClusterQueue* queue = context.state.find<ClusterQueue>(words.at("cq"));
    for (const ResourceGroup& group : queue == nullptr ? std::vector<ResourceGroup>() : queue->resource_groups)
      known.insert(known.end(), group.covered_resources.begin(), group.covered_resources.end());
    if (std::string near = nearest_word(row.resource, known); !near.empty()) words.emplace("meant", std::move(near));
    return add_remedies(Cause::kResourceWithoutQuota, std::move(words), reply);
  }
  if (row.why == scheduler::FlavorRow::Why::kFailed)
    return add_remedies(Cause::kFlavorsFailed, std::move(words), reply);
  const ResourceFlavor* flavor = context.state.find<ResourceFlavor>(row.flavor);
  const auto pod_set = std::find_if(workload.pod_sets.begin(), workload.pod_sets.end(),
                                    [&](const PodSet& one) { return one.name == row.pod_set; });
  if (flavor == nullptr || pod_set == workload.pod_sets.end()) return;
  if (row.why == scheduler::FlavorRow::Why::kTaint) {
    std::vector<Toleration> tolerations = pod_set->pod_template.spec->tolerations;
    tolerations.insert(tolerations.end(), flavor->tolerations.begin(), flavor->tolerations.end());
    for (const Taint& taint : flavor->node_taints) {
      if (taint.counts_for_scheduling() && !any_tolerates(tolerations, taint, ComparisonOperators::kHonoured))
        add_taint_remedy(*flavor, taint, *pod_set, words, reply);
    }
    return;
  }
  std::string labels;
  for (const auto& [key, value] : flavor->node_labels) labels += (labels.empty() ? "" : ", ") + key + "=" + value;
  words.emplace("labels", labels.empty() ? "nodes" : labels);
  words.emplace("flavor", row.flavor);
  add_remedies(Cause::kAffinity, std::move(words), reply);
}

}  // namespace

void add_flavor_remedies(const ExplainContext& context, const Workload& workload, const scheduler::SchedulerView& waits,
                         ExplainReply& reply) {
  for (const scheduler::FlavorRow& row : waits.flavors) {
    if (row.suitable) continue;
    Words words = words_of_job(context, workload);
    words.emplace("cq", waits.cluster_queue);
    add_flavor_remedy(context, workload, row, std::move(words), reply);
  }
}

}  // namespace muster::explain
