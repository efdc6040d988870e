// What must hold of quota in every state of every run:
//
//   never above quota   when a Workload gets quota, its ClusterQueue uses no more than it has
//                       and can borrow, and its tree of Cohorts no more than all in it have
//   nothing twice       quota is never handed from one ClusterQueue to another, and given
//                       back only by an eviction, at the end, or with the Workload
//   no pods without     quota is not given back while the job is active, or while a pod of the group could run; nor,
//                       however the Workload of a Job or JobSet ends, while one of its pods has a node
//
// It looks at what the API server stores, and knows nothing of muster's ledger. A quota that
// was changed counts on for half a minute: an admission can be on its way while the change
// is. Lending limits are not checked.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster_queue.h"
#include "api/meta/object_pointers.h"
#include "test/world/api_server.h"

namespace muster::world {

class QuotaInvariants {
 public:
  // The server and the timeline must outlive it; `violated` takes a sentence.
  QuotaInvariants(const ApiServer& server, const Timeline& timeline, std::function<void(std::string)> violated);

  void see(const Change& change);

 private:
  using Flavored = std::pair<std::string, std::string>;  // flavor, resource
  struct Holding {
    std::string queue;
    std::map<Flavored, int64_t> used;  // thousandths
  };
  // A ClusterQueue or a Cohort.
  struct Node {
    std::string parent;  // a Cohort; empty: none
    std::vector<ResourceGroup> groups;
    std::vector<ResourceGroup> earlier;  // until `changed` is long ago
    std::optional<Duration> changed;
  };

  void see_node(const Change& change);
  void see_workload(const Change& change);
  bool names_another_queue(const Workload& workload) const;
  void check_release(const Workload& workload, const Holding& held);
  void check_pods_gone(const Workload& workload);
  void check_group_release(const Workload& workload, const Holding& held);
  void check_fits(const Workload& workload, const Holding& holding);
  // "ClusterQueue name" or "Cohort name".
  std::string root(std::string node) const;
  // The largest quota that counts now; nullptr: none.
  const ResourceQuota* quota(const Node& node, const Flavored& flavored) const;

  const ApiServer& server_;
  const Timeline& timeline_;
  std::function<void(std::string)> violated_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Holding> held_;  // by the Workload's uid
};

}  // namespace muster::world
