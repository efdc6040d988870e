// Quota and its usage: the tree of ClusterQueues and Cohorts, with nominal quota, borrowing and lending limits.
// One number per node and quota, updated by every reservation and release; a decision needs no copy and no
// recount.
//
// A node's usage beyond the quota that it keeps (by its lending limit) is usage of its parent. What-if
// questions run in place: the end of a Simulation undoes all changes since its start, by a log of the old
// numbers.
//
// Amounts are those of api/requests.h. Sums of them are exact, so that a release undoes any reservation; answers stop
// at the ends of int64. A limit of kUnlimited, which is also how the largest limit is read, is no limit: no answer is
// larger. A Cohort that is named but has no object also exists; a tree whose parents form a cycle has no root, and its
// ClusterQueues must not be scheduled. One owner, no locks. Source: Kueue KEP-79.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/quota/names.h"

namespace muster::scheduler {

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Holds the sum of as many amounts as there can be.
__extension__ typedef __int128 WideAmount;

struct QuotaAmount {
  QuotaId quota;
  int64_t amount;

  bool operator==(const QuotaAmount&) const = default;
};
// One entry per quota, sorted by quota.
using Amounts = std::vector<QuotaAmount>;
void add_amount(Amounts& amounts, QuotaId quota, int64_t amount);

struct QuotaLimits {
  QuotaId quota;
  int64_t nominal = 0;
  int64_t borrowing = kUnlimited;
  int64_t lending = kUnlimited;

  bool operator==(const QuotaLimits&) const = default;
};

class Ledger {
 public:
  // The height in the tree at which an amount is available: the height of the smallest subtree that has
  // it, 0 for the ClusterQueue's own nominal quota; and whether that subtree is smaller than the whole
  // tree.
  struct Reach {
    int level;
    bool below_root;
  };
  class Simulation;

  explicit Ledger(const QuotaIdTable& names) : names_(names) {}

  // A ClusterQueue; it keeps its usage through every change.
  NodeId add_queue();
  void set_queue(NodeId queue, std::string cohort, std::vector<QuotaLimits> limits, double weight);
  // Counts for the height of its Cohorts only while it takes part in scheduling.
  void set_scheduled(NodeId queue, bool scheduled);
  void remove_queue(NodeId queue);
  void set_cohort(const std::string& name, std::string parent, std::vector<QuotaLimits> limits, double weight);
  void remove_cohort(const std::string& name);

  // Computes the values that depend on the shape of the tree. Call it after changes of the tree and before any query;
  // add() and remove() call it.
  void settle();

  void add(NodeId queue, const Amounts& usage);
  void remove(NodeId queue, const Amounts& usage);

  // kNoNode for a tree with a cycle.
  NodeId root(NodeId node) const { return nodes_[node].root; }
  NodeId parent(NodeId node) const { return nodes_[node].parent; }
  const std::vector<NodeId>& child_cohorts(NodeId node) const { return nodes_[node].cohorts; }
  const std::vector<NodeId>& child_queues(NodeId node) const { return nodes_[node].queues; }
  // Every ClusterQueue below a root; itself for a ClusterQueue without Cohort.
  const std::vector<NodeId>& queues_of_tree(NodeId root) const { return nodes_[root].tree_queues; }
  const std::string& name(NodeId node) const { return nodes_[node].name; }
  double weight(NodeId node) const { return nodes_[node].weight; }
  NodeId cohort(std::string_view name) const;
  // All Cohorts with an object or a reference, by name.
  const std::map<std::string, NodeId, std::less<>>& cohorts() const { return cohorts_; }

  int64_t nominal(NodeId node, QuotaId quota) const { return cell(node, quota).nominal; }
  int64_t borrowing_limit(NodeId node, QuotaId quota) const { return cell(node, quota).borrowing; }
  int64_t usage(NodeId node, QuotaId quota) const;
  // Own quota and what the children lend.
  int64_t subtree_quota(NodeId node, QuotaId quota) const;
  // The quota that the ClusterQueue can still use, borrowed quota included; 0 when it is over its limit.
  int64_t available(NodeId queue, QuotaId quota) const;
  // The same without any usage.
  int64_t potential(NodeId node, QuotaId quota) const;
  // The unused quota that this node does not lend.
  int64_t local_available(NodeId node, QuotaId quota) const;
  bool fits(NodeId queue, const Amounts& usage) const;
  bool borrowing(NodeId node, QuotaId quota) const { return borrowing_with(node, quota, 0); }
  bool borrowing_with(NodeId node, QuotaId quota, int64_t amount) const;
  bool within_quota(NodeId node, std::span<const QuotaId> quotas) const;
  Reach reach(NodeId queue, QuotaId quota, int64_t amount) const;
  // The maximum of a resource that this Cohort can lend to its children.
  int64_t lendable(NodeId cohort, ResourceId resource) const;
  // Every quota that the node has limits for or uses.
  const std::vector<QuotaId>& quotas(NodeId node) const { return nodes_[node].quotas; }

 private:
  struct Cell {
    int64_t nominal = 0;
    int64_t borrowing = kUnlimited;
    int64_t lending = kUnlimited;
    WideAmount subtree = 0;
    WideAmount usage = 0;

    WideAmount kept() const;  // never lent
  };
  struct Node {
    bool live = false;
    bool queue = false;
    bool scheduled = true;
    bool has_object = false;  // of Cohorts
    std::string name;         // of Cohorts
    std::string parent_name;
    std::vector<QuotaLimits> limits;
    double weight = 1;

    // Derived by rebuild().
    NodeId parent = kNoNode;
    NodeId root = kNoNode;
    int height = 0;
    std::vector<NodeId> cohorts, queues, tree_queues;
    std::vector<QuotaId> quotas;  // sorted; cells in the same order
    std::vector<Cell> cells;
    std::vector<std::pair<ResourceId, int64_t>> lendable;
  };

  NodeId new_node();
  NodeId cohort_node(const std::string& name);
  const Cell& cell(NodeId node, QuotaId quota) const;
  Cell* find_cell(NodeId node, QuotaId quota);
  Cell& own_cell(NodeId node, QuotaId quota);
  WideAmount debt_or_available(NodeId node, QuotaId quota) const;
  WideAmount wide_potential(NodeId node, QuotaId quota) const;
  void set_usage(Cell& cell, WideAmount usage);
  void add_one(NodeId node, QuotaId quota, WideAmount amount);
  void remove_one(NodeId node, QuotaId quota, WideAmount amount);

  void link();
  void find_roots();
  void fill_cells(NodeId queue);
  void accumulate(NodeId cohort, NodeId root);
  void take_from_child(Node& parent, const Node& child);

  const QuotaIdTable& names_;
  std::vector<Node> nodes_;
  std::vector<NodeId> free_;
  std::map<std::string, NodeId, std::less<>> cohorts_;
  struct Undo {
    Cell* cell;
    WideAmount usage;
  };
  std::vector<Undo> log_;
  bool stale_ = false;  // the tree has changed its shape
  int simulations_ = 0;
};

// Undoes every change of usage since its start; simulations can be nested. The structure must not change during a
// simulation.
class Ledger::Simulation {
 public:
  explicit Simulation(Ledger& ledger) : ledger_(ledger), mark_(ledger.log_.size()) { ++ledger_.simulations_; }
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

 private:
  Ledger& ledger_;
  size_t mark_;
};

}  // namespace muster::scheduler
