// What is free on nodes, and where pods have a place. Nodes lie in one row; neighbours of one group with the same free
// amounts are one run, so that the cost of a pod set depends on the number of runs and not on its pods or on the nodes.
// Values; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace muster::forecast {

// Amounts by the number of a resource.
using Amounts = std::vector<int64_t>;

struct Need {
  size_t resource = 0;
  int64_t amount = 0;  // more than 0
};
// Of one pod.
using Needs = std::vector<Need>;

// Nodes from `first` to before `end`.
struct NodeRange {
  uint64_t first = 0;
  uint64_t end = 0;

  bool operator==(const NodeRange&) const = default;
};

// As many pods on each of these nodes.
struct Seats {
  NodeRange nodes;
  int64_t pods_each = 0;
};

class NodeRoom {
 public:
  // Adds `count` nodes behind the others; returns where they are. Amounts that are missing are 0.
  NodeRange add(uint64_t count, const Amounts& free);
  // What is taken from a node from the beginning; it can be more than there is.
  void take(uint64_t node, const Needs& needs);

  // First fit: each pod gets the first node with enough room, of these ranges in this order. Returns the number of pods
  // that have a place, at most `pods`, and adds their places to `seats`.
  int64_t place(const std::vector<NodeRange>& ranges, const Needs& needs, int64_t pods, std::vector<Seats>& seats);
  void give_back(const std::vector<Seats>& seats, const Needs& needs);

  // Nodes of the ranges on which a pod has too little of each resource of `needs`, and on which it has enough of all.
  struct Lack {
    std::vector<uint64_t> nodes;  // as `needs`
    uint64_t fitting = 0;
  };
  Lack lack(const std::vector<NodeRange>& ranges, const Needs& needs) const;

  size_t runs() const { return runs_.size(); }

 private:
  struct Run {
    uint64_t end;
    uint64_t group;  // the first node of the add() that made it: runs of two groups are never joined
    Amounts free;
  };
  using Runs = std::map<uint64_t, Run>;  // by the first node

  Runs::iterator run_at(uint64_t node);
  Runs::iterator cut(uint64_t at);
  void change(NodeRange nodes, const Needs& needs, int64_t factor);
  void join(uint64_t first, uint64_t end);

  Runs runs_;
  uint64_t nodes_ = 0;
};

}  // namespace muster::forecast
