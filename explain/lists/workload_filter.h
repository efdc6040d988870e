// Which Workloads a list shows, how many at once, and in which order. Read from the parameters of a question, which are
// the same for muster and for an evaluation elsewhere. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "api/meta/selectors.h"
#include "base/result.h"

namespace muster::explain {

enum class WorkloadOrder { kQueue, kCreated, kName, kPriority };

// Empty: all.
struct WorkloadFilter {
  std::string ns{};
  std::string local_queue{};  // of `ns`
  std::string cluster_queue{};
  static constexpr int64_t kDefaultLimit = 500;
  static constexpr int64_t kMostLimit = 2000;
  int64_t limit = kDefaultLimit;
  int64_t offset = 0;

  std::set<std::string, std::less<>> states{};  // of kWorkloadStates
  std::vector<LabelRequirement> labels{};       // of the job, or of the Workload where muster knows no job
  std::string search{};                         // in lower case; of the namespace, the job or the Workload
  std::string submitter{};
  bool finished = false;  // also those that finished within the last day
  WorkloadOrder order = WorkloadOrder::kQueue;
  bool descending = false;

  // Plurals of the kinds of jobs that the reader cannot list: their labels are neither shown nor compared.
  std::set<KindId> hidden_kinds{};
};

inline constexpr std::array<std::string_view, 6> kFilterParameters = {"state",  "labelSelector", "search",
                                                                      "sortBy", "finished",      "submitter"};
bool is_filter_parameter(std::string_view name);
// Why nothing can be said about submitters.
inline constexpr std::string_view kNoSubmitters =
    "muster does not record who submits jobs here: an administrator sets recordSubmitter: true in muster's "
    "configuration, and jobs that are submitted from then on have a submitter";
using FilterValues = std::map<std::string, std::string, std::less<>>;

// From the values of kFilterParameters; others are left alone, an empty one is not given. An error names the parameter.
Result<WorkloadFilter> read_workload_filter(const FilterValues& values);
// ASCII letters.
std::string in_lower_case(std::string_view text);

}  // namespace muster::explain
