// Quota as its definition says it (KEP-79), counted from nothing for every question: slow, and short enough to be
// seen to be right. It has nothing in common with scheduler/quota but the meaning.
//
//   has(node)     its nominal quota, and what each child lends: all that the child has, or its lending limit
//   keeps(node)   what the node has and does not lend
//   uses(node)    of a ClusterQueue its own usage; of a Cohort, what each child uses beyond what that child keeps
//   can(node)     the most that it can use: what it has and its borrowing limit; a root cannot borrow
//
// So much can be added to a ClusterQueue as leaves every node between it and its root within what that can use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace muster::test {

class QuotaModel {
 public:
  struct Limits {
    int64_t nominal = 0;
    std::optional<int64_t> borrowing{}, lending{};
  };
  struct Node {
    bool queue = false;
    std::string parent{};              // a Cohort; empty: none
    std::map<int, Limits> limits{};    // by quota: a resource of a flavor
    std::map<int, int64_t> own_use{};  // of a ClusterQueue
  };
  // ClusterQueues and Cohorts; a Cohort that is only named as a parent is here, too.
  std::map<std::string, Node> nodes;

  bool in_cycle(const std::string& name) const {
    std::set<std::string> seen;
    for (std::string at = name; !at.empty(); at = nodes.at(at).parent) {
      if (!seen.insert(at).second) return true;
    }
    return false;
  }
  std::string root(std::string name) const {
    while (!nodes.at(name).parent.empty()) name = nodes.at(name).parent;
    return name;
  }

  int64_t has(const std::string& name, int quota) const {
    int64_t sum = limits(name, quota).nominal;
    for (const auto& [child, node] : nodes) {
      if (node.parent == name) sum += lends(child, quota);
    }
    return sum;
  }
  int64_t lends(const std::string& name, int quota) const {
    const int64_t all = has(name, quota);
    return std::min(all, limits(name, quota).lending.value_or(all));
  }
  int64_t keeps(const std::string& name, int quota) const { return has(name, quota) - lends(name, quota); }
  int64_t uses(const std::string& name, int quota) const {
    const Node& node = nodes.at(name);
    if (node.queue) return node.own_use.contains(quota) ? node.own_use.at(quota) : 0;
    int64_t sum = 0;
    for (const auto& [child, below] : nodes) {
      if (below.parent == name) sum += std::max<int64_t>(0, uses(child, quota) - keeps(child, quota));
    }
    return sum;
  }
  // nullopt: as much as others have.
  std::optional<int64_t> may(const std::string& name, int quota) const {
    if (nodes.at(name).parent.empty()) return has(name, quota);
    const auto borrowing = limits(name, quota).borrowing;
    return borrowing ? std::optional(has(name, quota) + *borrowing) : std::nullopt;
  }
  bool within(const std::string& name, int quota) const {
    return uses(name, quota) <= may(name, quota).value_or(uses(name, quota));
  }
  // Some node between the ClusterQueue and its root uses more than it can: a quota was lowered.
  bool in_debt(const std::string& queue, int quota) const {
    for (std::string at = queue; !at.empty(); at = nodes.at(at).parent) {
      if (!within(at, quota)) return true;
    }
    return false;
  }
  // By trial: the largest amount that leaves no debt. `most`: more than all have together.
  int64_t available(const std::string& queue, int quota, int64_t most) const {
    QuotaModel trial = *this;
    int64_t& used = trial.nodes.at(queue).own_use[quota];
    const int64_t before = used;
    int64_t fits = 0, too_much = most;
    if (trial.in_debt(queue, quota)) return 0;
    while (too_much - fits > 1) {
      const int64_t amount = (fits + too_much) / 2;
      used = before + amount;
      (trial.in_debt(queue, quota) ? too_much : fits) = amount;
    }
    return fits;
  }
  // Whether this much more makes a debt, or one larger. muster and Kueue give even less then: a
  // debt of others is taken off what a ClusterQueue keeps for itself.
  bool deepens_debt(const std::string& queue, int quota, int64_t amount) const {
    QuotaModel after = *this;
    after.nodes.at(queue).own_use[quota] += amount;
    for (std::string at = queue; !at.empty(); at = nodes.at(at).parent) {
      if (!after.within(at, quota) && after.uses(at, quota) > uses(at, quota)) return true;
    }
    return false;
  }
  QuotaModel unused() const {
    QuotaModel idle = *this;
    for (auto& [name, node] : idle.nodes) node.own_use.clear();
    return idle;
  }

 private:
  Limits limits(const std::string& name, int quota) const {
    const auto& all = nodes.at(name).limits;
    return all.contains(quota) ? all.at(quota) : Limits();
  }
};

}  // namespace muster::test
