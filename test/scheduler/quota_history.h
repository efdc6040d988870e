// Random histories of quota: ClusterQueues and Cohorts of several levels, two flavors of two resources, reservations,
// releases, limits that change, Cohorts that move, also below each other. After every step the ledger must say what
// the model says. A history that fails is made short: steps are left out for as long as it still fails.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "scheduler/quota/ledger.h"
#include "test/scheduler/quota_model.h"

namespace muster::test {

struct QuotaStep {
  enum class Kind { kReserve, kRelease, kLimits, kMoveQueue, kSetCohort, kRemoveCohort, kSimulate };

  Kind kind = Kind::kReserve;
  int node = 0, other = 0, quota = 0;
  int64_t amount = 0;
  std::optional<int64_t> borrowing{}, lending{};

  std::string text() const {
    const auto limit = [](const char* name, std::optional<int64_t> value) {
      return value ? " " + std::string(name) + " " + std::to_string(*value) : "";
    };
    static constexpr const char* kNames[] = {"reserve",    "release",       "limits",  "move queue",
                                             "set cohort", "remove cohort", "simulate"};
    return std::string(kNames[static_cast<int>(kind)]) + " node " + std::to_string(node) + " other " +
           std::to_string(other) + " quota " + std::to_string(quota) + " amount " + std::to_string(amount) +
           limit("borrowing", borrowing) + limit("lending", lending);
  }
};

using QuotaSteps = std::vector<QuotaStep>;

inline QuotaSteps random_quota_steps(uint64_t seed, int count) {
  std::mt19937_64 chance(seed);
  const auto below = [&](int end) { return static_cast<int>(chance() % static_cast<uint64_t>(end)); };
  QuotaSteps steps;
  for (int i = 0; i < count; ++i) {
    // Half of all steps are of usage, after a beginning that gives quota.
    const bool usage = i > 8 && below(2) == 0;
    QuotaStep step{.kind = usage ? static_cast<QuotaStep::Kind>(below(2)) : static_cast<QuotaStep::Kind>(2 + below(5)),
                   .node = below(5),
                   .other = below(5),
                   .quota = below(4),
                   .amount = below(9)};
    if (i <= 8) step.kind = i % 3 == 2 ? QuotaStep::Kind::kSetCohort : QuotaStep::Kind::kMoveQueue;
    if (below(3) == 0) step.borrowing = below(6);
    if (below(3) == 0) step.lending = below(6);
    steps.push_back(step);
  }
  return steps;
}

// One run of a history through the ledger and the model.
class QuotaRun {
 public:
  QuotaRun() {
    for (int flavor = 0; flavor < 2; ++flavor) {
      for (const char* resource : {"cpu", "memory"})
        ids_.push_back(names_.quota(names_.flavor("flavor" + std::to_string(flavor)), names_.resource(resource)));
    }
    for (int i = 0; i < kQueues; ++i) {
      queues_.push_back(ledger_.add_queue());
      model_.nodes[queue(i)].queue = true;
      tell_queue(i);
    }
    ledger_.settle();
  }

  // What differs; empty: nothing.
  std::string take(const QuotaStep& step) {
    using Kind = QuotaStep::Kind;
    switch (step.kind) {
      case Kind::kReserve:
        use(step, step.amount);
        break;
      case Kind::kRelease:
        use(step, -step.amount);
        break;
      case Kind::kLimits:
      case Kind::kMoveQueue:
        change_queue(step);
        break;
      case Kind::kSetCohort:
        change_cohort(step);
        break;
      case Kind::kRemoveCohort:
        remove_cohort(step);
        break;
      case Kind::kSimulate:
        return simulate(step);
    }
    return difference(step);
  }

 private:
  static constexpr int kQueues = 4, kCohorts = 4;
  static constexpr int64_t kMost = 200;  // more than all nodes have together

  static std::string queue(int i) { return "queue" + std::to_string(i % kQueues); }
  // "" is no Cohort.
  static std::string cohort(int i) {
    return i % (kCohorts + 1) == 0 ? "" : "cohort" + std::to_string(i % (kCohorts + 1));
  }

  std::vector<scheduler::QuotaLimits> limits_of(const std::string& name) const {
    std::vector<scheduler::QuotaLimits> all;
    for (const auto& [quota, limits] : model_.nodes.at(name).limits)
      all.push_back({ids_[quota], limits.nominal, limits.borrowing.value_or(scheduler::kUnlimited),
                     limits.lending.value_or(scheduler::kUnlimited)});
    return all;
  }
  void tell_queue(int i) {
    const std::string name = queue(i);
    ledger_.set_queue(queues_[i % kQueues], model_.nodes[name].parent, limits_of(name), 1);
  }
  void set_limits(const std::string& name, const QuotaStep& step) {
    model_.nodes[name].limits[step.quota] = {step.amount, step.borrowing, step.lending};
  }
  // Cohorts exist while they have an object or are named.
  void name_parent(const std::string& child, const std::string& parent) {
    model_.nodes[child].parent = parent;
    if (!parent.empty()) model_.nodes[parent];
    forget_unnamed();
  }
  void forget_unnamed() {
    for (bool again = true; again;) {
      again = false;
      std::set<std::string> named;
      for (const auto& [name, node] : model_.nodes) named.insert(node.parent);
      for (auto it = model_.nodes.begin(); it != model_.nodes.end(); ++it) {
        if (it->second.queue || objects_.contains(it->first) || named.contains(it->first)) continue;
        model_.nodes.erase(it);
        again = true;
        break;
      }
    }
  }

  void use(const QuotaStep& step, int64_t change) {
    int64_t& used = model_.nodes[queue(step.node)].own_use[step.quota];
    change = std::max(change, -used);
    used += change;
    const scheduler::NodeId node = queues_[step.node % kQueues];
    if (change >= 0)
      ledger_.add(node, {{ids_[step.quota], change}});
    else
      ledger_.remove(node, {{ids_[step.quota], -change}});
  }
  void change_queue(const QuotaStep& step) {
    set_limits(queue(step.node), step);
    if (step.kind == QuotaStep::Kind::kMoveQueue) name_parent(queue(step.node), cohort(step.other));
    tell_queue(step.node);
  }
  void change_cohort(const QuotaStep& step) {
    const std::string name = cohort(step.node);
    if (name.empty()) return;
    objects_.insert(name);
    set_limits(name, step);
    name_parent(name, cohort(step.other));
    ledger_.set_cohort(name, model_.nodes[name].parent, limits_of(name), 1);
  }
  void remove_cohort(const QuotaStep& step) {
    const std::string name = cohort(step.node);
    if (objects_.erase(name) == 0) return;
    model_.nodes[name] = {};
    forget_unnamed();
    ledger_.remove_cohort(name);
  }
  // Inside, the ledger says what the model says of it; afterwards, what it said before.
  std::string simulate(const QuotaStep& step) {
    ledger_.settle();
    const QuotaModel before = model_;
    std::string found;
    {
      const scheduler::Ledger::Simulation simulation(ledger_);
      use(step, step.amount);
      use({.node = step.other, .quota = step.quota}, -step.amount / 2);
      found = difference(step);
    }
    model_ = before;
    if (!found.empty()) return "in a simulation: " + found;
    found = difference(step);
    return found.empty() ? "" : "after a simulation: " + found;
  }

  // Usage changes one quota, and what could be used never.
  std::string difference(const QuotaStep& step) {
    const bool usage = step.kind == QuotaStep::Kind::kReserve || step.kind == QuotaStep::Kind::kRelease ||
                       step.kind == QuotaStep::Kind::kSimulate;
    ledger_.settle();
    for (const auto& [name, node] : model_.nodes) {
      const scheduler::NodeId id = node.queue ? queues_[name.back() - '0'] : ledger_.cohort(name);
      if (id == scheduler::kNoNode) return name + " is not in the ledger";
      if (model_.in_cycle(name) != (ledger_.root(id) == scheduler::kNoNode)) return name + ": its root is wrong";
      if (model_.in_cycle(name)) continue;
      for (int quota = 0; quota < 4; ++quota) {
        if (usage && quota != step.quota) continue;
        if (std::string found = difference(name, id, quota, !usage); !found.empty()) return found;
      }
    }
    return "";
  }
  std::string difference(const std::string& name, scheduler::NodeId id, int quota, bool also_potential) const {
    const auto differs = [&](const char* what, int64_t ledger, int64_t model) {
      return name + ", quota " + std::to_string(quota) + ": " + what + " is " + std::to_string(ledger) +
             " in the ledger and " + std::to_string(model) + " in the model";
    };
    const scheduler::QuotaId key = ids_[quota];
    if (ledger_.subtree_quota(id, key) != model_.has(name, quota))
      return differs("the quota", ledger_.subtree_quota(id, key), model_.has(name, quota));
    if (ledger_.usage(id, key) != model_.uses(name, quota))
      return differs("the usage", ledger_.usage(id, key), model_.uses(name, quota));
    if (ledger_.borrowing(id, key) != (model_.uses(name, quota) > model_.has(name, quota)))
      return differs("borrowing", ledger_.borrowing(id, key), model_.uses(name, quota) > model_.has(name, quota));
    if (!model_.nodes.at(name).queue) return "";
    if (also_potential) {
      const int64_t potential = model_.unused().available(name, quota, kMost);
      if (ledger_.potential(id, key) != potential)
        return differs("the potential", ledger_.potential(id, key), potential);
    }
    const int64_t free = ledger_.available(id, key);
    if (model_.in_debt(name, quota)) {
      if (model_.deepens_debt(name, quota, free)) return name + ": what is available makes a debt larger";
    } else if (const int64_t expected = model_.available(name, quota, kMost); free != expected) {
      return differs("what is available", free, expected);
    }
    if (free > 0 && (!ledger_.fits(id, {{key, free}}) || ledger_.fits(id, {{key, free + 1}})))
      return name + ": what is available does not fit, or more does";
    return "";
  }

  scheduler::QuotaIdTable names_;
  scheduler::Ledger ledger_{names_};
  std::vector<scheduler::QuotaId> ids_;
  std::vector<scheduler::NodeId> queues_;
  QuotaModel model_;
  std::set<std::string> objects_;  // Cohorts that have one
};

// Where a history differs from the model, and how; nullopt: nowhere.
struct QuotaDifference {
  size_t step = 0;
  std::string what;
};
inline std::optional<QuotaDifference> run_quota_steps(const QuotaSteps& steps) {
  QuotaRun run;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (std::string what = run.take(steps[i]); !what.empty()) return QuotaDifference{i, std::move(what)};
  }
  return std::nullopt;
}

// A part of the steps that still differs, from which no step can be left out.
inline QuotaSteps shrink_quota_steps(QuotaSteps steps) {
  const auto found = run_quota_steps(steps);
  if (!found) return steps;
  steps.resize(found->step + 1);
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (size_t i = steps.size(); i-- > 0;) {
      QuotaSteps without = steps;
      without.erase(without.begin() + static_cast<ptrdiff_t>(i));
      if (!run_quota_steps(without)) continue;
      steps = std::move(without);
      shorter = true;
    }
  }
  return steps;
}

}  // namespace muster::test
