// Lists of Workloads and queues, from muster or, where it cannot be asked, from what the person can list. Both
// have one form (explain/lists), so that what is printed is the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "commands/kubectl/reader.h"
#include "explain/lists/workload_filter.h"

namespace muster::commands {

enum class ListKind { kWorkloadList, kLocalQueueList, kClusterQueueList, kCohortList, kHolderList, kUsage };

struct ListQuestion {
  ListKind kind = ListKind::kWorkloadList;
  std::string ns{};  // empty: all namespaces
  std::string local_queue{}, cluster_queue{};
  std::string resource{};  // of holders
  // A part of the Workloads; a limit of 0: all of them.
  int64_t limit = 0, offset = 0;
  // Of Workloads: the values of explain::kFilterParameters, which are valid.
  explain::FilterValues filter{};
};

struct FetchedList {
  nlohmann::json list;             // all that the question asks for
  std::vector<std::string> notes;  // what it does not know, and why muster was not asked
  std::string alarm{};             // muster is down; in the list's metadata as well
};

Result<FetchedList> fetch_list(MusterReader& reader, const ListQuestion& question, bool local);

}  // namespace muster::commands
