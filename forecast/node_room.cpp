#include "forecast/node_room.h"

#include <algorithm>

namespace muster::forecast {
namespace {

// Pods that the free amounts of one node have room for.
int64_t room_for(const Amounts& free, const Needs& needs, int64_t most) {
  for (const Need& need : needs) {
    const int64_t amount = need.resource < free.size() ? free[need.resource] : 0;
    if (amount < need.amount) return 0;
    most = std::min(most, amount / need.amount);
  }
  return most;
}

}  // namespace

NodeRange NodeRoom::add(uint64_t count, const Amounts& free) {
  const NodeRange added{nodes_, nodes_ + count};
  if (count > 0) runs_.emplace(added.first, Run{added.end, added.first, free});
  nodes_ = added.end;
  return added;
}

void NodeRoom::take(uint64_t node, const Needs& needs) {
  change({node, node + 1}, needs, -1);
}

NodeRoom::Runs::iterator NodeRoom::run_at(uint64_t node) {
  return node < nodes_ ? std::prev(runs_.upper_bound(node)) : runs_.end();
}

// A run that begins there.
NodeRoom::Runs::iterator NodeRoom::cut(uint64_t at) {
  const auto run = run_at(at);
  if (run == runs_.end()) return run;
  if (run->first == at) return run;
  const Run rest = run->second;
  run->second.end = at;
  return runs_.emplace_hint(std::next(run), at, rest);
}

void NodeRoom::change(NodeRange nodes, const Needs& needs, int64_t factor) {
  cut(nodes.end);
  for (auto run = cut(nodes.first); run != runs_.end() && run->first < nodes.end; ++run) {
    Amounts& free = run->second.free;
    for (const Need& need : needs) {
      if (free.size() <= need.resource) free.resize(need.resource + 1);
      free[need.resource] += factor * need.amount;
    }
  }
  join(nodes.first, nodes.end);
}

// Neighbours that have become equal, from the run before `first` to the one at `end`.
void NodeRoom::join(uint64_t first, uint64_t end) {
  auto run = runs_.find(first);
  if (run != runs_.begin()) --run;
  while (run->first < end) {
    const auto next = std::next(run);
    if (next == runs_.end()) return;
    if (next->second.group == run->second.group && next->second.free == run->second.free) {
      run->second.end = next->second.end;
      runs_.erase(next);
    } else {
      run = next;
    }
  }
}

int64_t NodeRoom::place(const std::vector<NodeRange>& ranges, const Needs& needs, int64_t pods,
                        std::vector<Seats>& seats) {
  int64_t left = pods;
  for (const NodeRange& range : ranges) {
    uint64_t node = range.first;
    for (auto run = run_at(node); node < range.end && left > 0;) {
      const uint64_t end = std::min(run->second.end, range.end);
      const int64_t each = room_for(run->second.free, needs, left);
      if (each <= 0) {
        node = end;
        ++run;
        continue;
      }
      // As many nodes as are filled; the last pods come to the next node, by another round.
      const uint64_t nodes = std::min<uint64_t>(end - node, static_cast<uint64_t>(left / each));
      const Seats taken{{node, node + nodes}, each};
      change(taken.nodes, needs, -each);
      seats.push_back(taken);
      left -= each * static_cast<int64_t>(nodes);
      node += nodes;
      run = run_at(node);
    }
  }
  return pods - left;
}

void NodeRoom::give_back(const std::vector<Seats>& seats, const Needs& needs) {
  for (const Seats& taken : seats) change(taken.nodes, needs, taken.pods_each);
}

NodeRoom::Lack NodeRoom::lack(const std::vector<NodeRange>& ranges, const Needs& needs) const {
  Lack lack{.nodes = std::vector<uint64_t>(needs.size()), .fitting = 0};
  for (const NodeRange& range : ranges) {
    auto run = runs_.upper_bound(range.first);
    if (run != runs_.begin()) --run;
    for (uint64_t node = range.first; node < range.end; ++run) {
      const uint64_t end = std::min(run->second.end, range.end);
      const Amounts& free = run->second.free;
      bool fits = true;
      for (size_t i = 0; i < needs.size(); ++i) {
        if (needs[i].resource < free.size() && free[needs[i].resource] >= needs[i].amount) continue;
        lack.nodes[i] += end - node;
        fits = false;
      }
      if (fits) lack.fitting += end - node;
      node = end;
    }
  }
  return lack;
}

}  // namespace muster::forecast
