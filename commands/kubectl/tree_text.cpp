// The tree of Cohorts and ClusterQueues as text.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/meta/readable_quantity.h"
#include "base/did_you_mean.h"
#include "commands/kubectl/list_text.h"

namespace muster::commands {
namespace {

using nlohmann::json;

class Tree {
 public:
  Tree(const json& cohorts, const json& cluster_queues, std::string_view resource) : resource_(resource) {
    for (const json& item : array_at(cohorts, {"items"})) {
      const std::string name(string_at(item, {"name"}));
      cohorts_[name] = item;
      children_[std::string(string_at(item, {"parent"}))].push_back(name);
    }
    for (const json& item : array_at(cluster_queues, {"items"}))
      queues_[std::string(string_at(item, {"cohort"}))].push_back(item);
  }

  std::string text() {
    rows_.push_back({"NAME", "STATE", "PENDING", "FLAVOR", "RESOURCE", "USED", "NOMINAL", "BORROWED", "FREE", "MAX"});
    for (const std::string& root : children_[""]) add_cohort(root, 0);
    // Cohorts in a cycle have no root.
    for (const auto& [name, cohort] : cohorts_) {
      if (!shown_.contains(name)) add_cohort(name, 0);
    }
    for (const json& queue : queues_[""]) add_queue(queue, 0);
    return text_table(rows_);
  }

 private:
  void add_cohort(const std::string& name, size_t depth) {
    if (!shown_.insert(name).second) return;
    add(cohorts_[name], "cohort/" + name, depth, {"", ""});
    for (const json& queue : queues_[name]) add_queue(queue, depth + 1);
    for (const std::string& child : children_[name]) add_cohort(child, depth + 1);
  }

  void add_queue(const json& queue, size_t depth) {
    const auto pending = int_at(queue, {"pending"}).value_or(0);
    add(queue, "clusterqueue/" + std::string(string_at(queue, {"name"})), depth,
        {std::string(string_at(queue, {"state"})), std::to_string(pending)});
  }

  // A row for each flavor and resource; the first row has the name.
  void add(const json& node, const std::string& name, size_t depth, TableRow facts) {
    facts.insert(facts.begin(), std::string(2 * depth, ' ') + name);
    bool any = false;
    for (const json& quota : array_at(node, {"quotas"})) {
      if (!resource_.empty() && string_at(quota, {"resource"}) != resource_) continue;
      TableRow row = any ? TableRow{"", "", ""} : facts;
      for (const char* key : {"flavor", "resource"}) row.emplace_back(string_at(quota, {key}));
      for (const char* key : {"used", "nominal", "borrowed", "free", "max"})
        row.push_back(readable_quantity(string_at(quota, {"resource"}), string_at(quota, {key})));
      rows_.push_back(std::move(row));
      any = true;
    }
    if (!any) rows_.push_back(facts);
  }

  const std::string_view resource_;
  std::map<std::string, json> cohorts_;
  std::map<std::string, std::vector<std::string>> children_;  // of a Cohort; of "" the roots
  std::map<std::string, std::vector<json>> queues_;
  std::set<std::string> shown_;
  std::vector<TableRow> rows_;
};

}  // namespace

std::string no_such_resource(const std::vector<json>& lists, const std::string& resource) {
  std::set<std::string> names;
  for (const json& list : lists) {
    for (const json& item : array_at(list, {"items"})) {
      for (const json& quota : array_at(item, {"quotas"})) names.emplace(string_at(quota, {"resource"}));
    }
  }
  if (resource.empty() || names.contains(resource)) return "";
  const std::vector<std::string> known(names.begin(), names.end());
  return "no ClusterQueue or Cohort has quota for \"" + resource + "\"; there is quota for " +
         (known.empty() ? "nothing" : join(known, ", ")) + did_you_mean(resource, known);
}

std::string tree_text(const json& cohorts, const json& cluster_queues, std::string_view resource) {
  return Tree(cohorts, cluster_queues, resource).text();
}

}  // namespace muster::commands
