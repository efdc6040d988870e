#include "forecast/summary.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "api/cluster_queue.h"
#include "api/requests.h"
#include "api/workload.h"
#include "api/workload_conditions.h"

namespace muster::forecast {
namespace {

// As fixed numbers of groups: names are compared once for each shape, not for each job.
class Groups {
 public:
  explicit Groups(const Scenario& scenario) {
    std::map<std::string, std::string> queues;
    for (const TypedObject& object : scenario.objects) {
      if (const auto* local = std::get_if<LocalQueuePtr>(&object))
        queues[path_of((*local)->meta)] = (*local)->cluster_queue;
    }
    std::map<std::pair<std::string, std::string>, size_t> index;
    for (const JobShape& shape : scenario.shapes) {
      const Workload& workload = *shape.workload;
      const std::string queue = path_of(workload.meta.ns, workload.queue_name);
      const std::string name = workload.priority_class ? workload.priority_class->name.text() : "";
      const auto [known, is_new] = index.try_emplace({queue, name}, groups_.size());
      if (is_new) groups_.push_back({{}, queue, queues[queue], name});
      of_shape_.push_back(known->second);
    }
    waits_.resize(groups_.size());
  }

  void take(const Arrival& arrival, const JobRecord& record) {
    const size_t number = of_shape_[arrival.shape];
    WaitGroup& group = groups_[number];
    if (record.fate == Fate::kNotCome) return;
    ++group.jobs;
    switch (record.fate) {
      case Fate::kFinished:
        ++group.finished;
        break;
      case Fate::kRunning:
        ++group.running;
        break;
      case Fate::kDeactivated:
        ++group.deactivated;
        break;
      default:
        ++group.waiting;
    }
    group.evictions += record.evictions;
    group.preemptions += record.preemptions;
    group.fallbacks += record.fallbacks;
    // A job that was admitted before the simulation began did not wait in the simulation.
    const bool ran_before = arrival.stored && arrival.stored->admitted();
    if (record.first_start != kNever && record.first_placed == kNever) ++group.never_placed;
    if (record.first_start == kNever)
      ++group.never_started;
    else if (!ran_before)
      waits_[number].push_back(static_cast<double>(record.first_start - arrival.at.count()) / kSecond);
  }

  void finish(Summary& summary) {
    std::vector<double> all;
    for (size_t i = 0; i < groups_.size(); ++i) {
      all.insert(all.end(), waits_[i].begin(), waits_[i].end());
      groups_[i].waits = waits_of(waits_[i]);
      summary.add(groups_[i]);
    }
    summary.waits = waits_of(all);
    std::erase_if(groups_, [](const WaitGroup& group) { return group.jobs == 0; });
    std::sort(groups_.begin(), groups_.end(), [](const WaitGroup& a, const WaitGroup& b) {
      return std::tie(a.queue, a.priority_class) < std::tie(b.queue, b.priority_class);
    });
    summary.groups = std::move(groups_);
  }

 private:
  std::vector<WaitGroup> groups_;
  std::vector<size_t> of_shape_;
  std::vector<std::vector<double>> waits_;
};

using Key = std::tuple<std::string, std::string, std::string>;

std::map<Key, int64_t> nominal_quotas(const Scenario& scenario) {
  std::map<Key, int64_t> quotas;
  const auto read = [&](const std::string& owner, const std::vector<ResourceGroup>& groups) {
    for (const ResourceGroup& group : groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        for (const ResourceQuota& quota : flavor.resources)
          quotas[{owner, flavor.name, quota.name}] = to_amount(quota.name, quota.nominal);
      }
    }
  };
  for (const TypedObject& object : scenario.objects) {
    if (const auto* queue = std::get_if<ClusterQueuePtr>(&object)) read((*queue)->meta.name, (*queue)->resource_groups);
    // Quota of a Cohort belongs to no queue; it counts in the sums.
    if (const auto* cohort = std::get_if<CohortPtr>(&object))
      read("cohort " + (*cohort)->meta.name, (*cohort)->resource_groups);
  }
  return quotas;
}

void add_usage(const Scenario& scenario, const History& history, Summary& summary) {
  std::map<Key, UsageRow> queues;
  std::map<std::pair<std::string, std::string>, UsageRow> flavors;
  std::map<std::pair<std::string, std::string>, std::vector<double>> spans;
  const auto row_of = [&](const Key& key) -> UsageRow& {
    const auto& [queue, flavor, resource] = key;
    return queues.try_emplace(key, UsageRow{.cluster_queue = queue, .flavor = flavor, .resource = resource})
        .first->second;
  };
  for (const auto& [key, nominal] : nominal_quotas(scenario)) row_of(key).nominal = nominal;
  const UsageTracks& usage = history.usage;
  const double seconds = static_cast<double>(usage.end()) / kSecond;
  for (size_t i = 0; i < usage.slots().size(); ++i) {
    const QuotaSlot& slot = usage.slots()[i];
    UsageRow& row = row_of({slot.cluster_queue, slot.flavor, slot.resource});
    row.most = usage.track(i).most();
    if (seconds > 0) row.mean = usage.track(i).area() / seconds;
    std::vector<double>& sums = spans[{slot.flavor, slot.resource}];
    const std::vector<double> averages = usage.track(i).averages(usage.width(), usage.end());
    if (sums.size() < averages.size()) sums.resize(averages.size());
    for (size_t span = 0; span < averages.size(); ++span) sums[span] += averages[span];
  }
  for (const auto& [key, row] : queues) {
    UsageRow& sum = flavors
                        .try_emplace({row.flavor, row.resource},
                                     UsageRow{.cluster_queue = "", .flavor = row.flavor, .resource = row.resource})
                        .first->second;
    sum.nominal = saturating_add(sum.nominal, row.nominal);
    sum.mean += row.mean;
    if (!row.cluster_queue.starts_with("cohort ")) summary.queue_usage.push_back(row);
  }
  for (auto& [key, row] : flavors) {
    for (const double average : spans[key]) row.most = std::max(row.most, static_cast<int64_t>(std::llround(average)));
    summary.flavors.push_back(row);
  }
}

// Of annotations, or of all nodes of the input that carry the flavor's labels.
void add_nodes_of(const Scenario& scenario, const ResourceFlavor& flavor, std::map<std::string, NodeRow>& rows) {
  uint64_t count = 0;
  const auto traits = scenario.flavors.find(flavor.meta.name);
  if (traits != scenario.flavors.end() && traits->second.any_number_of_nodes) return;
  const bool counted = traits != scenario.flavors.end() && traits->second.nodes.has_value();
  for (const NodeGroup& nodes : scenario.nodes) {
    if (counted ? nodes.flavor != flavor.meta.name : !carries_labels_of(nodes, flavor)) continue;
    count += nodes.count;
    for (const auto& [resource, amount] : nodes.allocatable) {
      if (resource == kPodsResource) continue;
      NodeRow& row = rows[resource];
      row.allocatable = saturating_add(row.allocatable, saturating_multiply(amount, static_cast<int64_t>(nodes.count)));
    }
    for (const auto& [number, used] : nodes.used) {
      for (const auto& [resource, amount] : used) {
        if (resource != kPodsResource) rows[resource].others = saturating_add(rows[resource].others, amount);
      }
    }
  }
  for (auto& [resource, row] : rows) row.nodes = count;
}

void add_nodes(const Scenario& scenario, const History& history, Summary& summary) {
  summary.knows_nodes = !scenario.nodes.empty();
  if (!summary.knows_nodes) return;
  const double seconds = static_cast<double>(history.elapsed.count()) / kSecond;
  std::map<std::string, std::map<std::string, NodeRow>> rows;
  for (const TypedObject& object : scenario.objects) {
    if (const auto* flavor = std::get_if<ResourceFlavorPtr>(&object))
      add_nodes_of(scenario, **flavor, rows[(*flavor)->meta.name]);
  }
  for (size_t i = 0; i < history.nodes.slots().size(); ++i) {
    const QuotaSlot& slot = history.nodes.slots()[i];
    NodeRow& row = rows[slot.flavor][slot.resource];
    row.most = history.nodes.track(i).most();
    if (seconds > 0) row.mean = history.nodes.track(i).area() / seconds;
  }
  for (auto& [flavor, resources] : rows) {
    for (auto& [resource, row] : resources) {
      row.flavor = flavor;
      row.resource = resource;
      summary.nodes.push_back(row);
    }
  }
  std::vector<double> waits;
  for (const Stay& stay : history.stays) {
    if (stay.placed == stay.from) continue;
    ++summary.node_waits.waited;
    if (stay.placed == kNever)
      ++summary.node_waits.in_vain;
    else
      waits.push_back(static_cast<double>(stay.placed - stay.from) / kSecond);
  }
  summary.node_waits.waits = waits_of(waits);
  summary.node_waits.most_pods = static_cast<size_t>(history.nodes.pending().most());
  if (seconds > 0) summary.node_waits.mean_pods = history.nodes.pending().area() / seconds;
}

}  // namespace

void JobCounts::add(const JobCounts& others) {
  jobs += others.jobs;
  finished += others.finished;
  running += others.running;
  waiting += others.waiting;
  deactivated += others.deactivated;
  never_started += others.never_started;
  never_placed += others.never_placed;
  evictions += others.evictions;
  preemptions += others.preemptions;
  fallbacks += others.fallbacks;
}

Waits waits_of(std::vector<double>& seconds) {
  Waits waits{.jobs = seconds.size()};
  if (seconds.empty()) return waits;
  std::sort(seconds.begin(), seconds.end());
  double sum = 0;
  for (const double one : seconds) sum += one;
  const auto percentile = [&](size_t percent) {
    const size_t rank = (seconds.size() * percent + 99) / 100;
    return seconds[std::max<size_t>(rank, 1) - 1];
  };
  waits.mean = sum / static_cast<double>(seconds.size());
  waits.p50 = percentile(50);
  waits.p99 = percentile(99);
  waits.most = seconds.back();
  return waits;
}

Summary summarize(const Scenario& scenario, const History& history) {
  Summary summary;
  summary.elapsed = history.elapsed;
  summary.steps = history.steps;
  Groups groups(scenario);
  for (size_t i = 0; i < history.jobs.size(); ++i) groups.take(scenario.arrivals[i], history.jobs[i]);
  groups.finish(summary);
  add_usage(scenario, history, summary);
  add_nodes(scenario, history, summary);
  summary.evictions_by_queue = history.evictions;
  summary.deactivations = history.deactivations;
  summary.most_pending = static_cast<size_t>(history.usage.pending().most());
  const double seconds = static_cast<double>(history.elapsed.count()) / kSecond;
  if (seconds > 0) summary.mean_pending = history.usage.pending().area() / seconds;
  return summary;
}

}  // namespace muster::forecast
