// What rules can know of the cluster beyond the object under review: an immutable
// picture, published by the engine, read by any thread. `muster review` builds one
// from the objects it is given.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/owner_reference.h"
#include "api/meta/selectors.h"
#include "base/result.h"
#include "base/shared_map.h"
#include "kinds/typed_object.h"

namespace muster {

// An object that can own jobs: the metadata that the ownership rules need.
struct OwnerFacts {
  std::string uid;
  std::string queue_name;  // label kueue.x-k8s.io/queue-name; empty when absent
  std::optional<OwnerReference> controller;
  // Its Workload is all that is known of it: its kind is one of integrations.externalFrameworks.
  bool has_workload = false;
  bool deleting = false;
};

OwnerFacts owner_facts(const ObjectMeta& meta);

struct LocalQueueFacts {
  std::string cluster_queue;
};

// The smallest cpu and memory a container can ask for in a namespace, from its
// LimitRanges (type Container, min); quantities as written, empty when unset.
struct ContainerMinimum {
  std::string cpu;
  std::string memory;
};

// A snapshot of the cluster. A copy is cheap (SharedMap); its owner publishes it as shared_ptr<const ClusterView> and
// never changes it afterwards.
class ClusterView {
 public:
  // Queries; pointers live as long as the view.
  const Labels* namespace_labels(std::string_view name) const { return namespaces_.find(name); }
  const LocalQueueFacts* local_queue(std::string_view ns, std::string_view name) const;
  bool has_workload_priority_class(std::string_view name) const { return priority_classes_.contains(name); }
  // Whether the ClusterQueue behind this LocalQueue uses a MultiKueue admission check.
  bool uses_multikueue(std::string_view ns, std::string_view local_queue) const;
  // `group` without version; namespaced kinds only.
  const OwnerFacts* owner(std::string_view group, std::string_view kind, std::string_view ns,
                          std::string_view name) const;
  // An object of a kind that some described kind consults; nullptr: there is none.
  const nlohmann::json* consulted(const ResourceType& type, std::string_view ns, std::string_view name) const;
  ContainerMinimum container_minimum(std::string_view ns) const;
  // Whether the job of this uid has a Workload that is admitted and not evicted.
  bool is_admitted(std::string_view job_uid) const { return admitted_jobs_.contains(job_uid); }
  // The same of the job that this reference in `ns` names: a uid alone can be taken from another namespace.
  bool is_admitted(std::string_view ns, const OwnerReference& job) const;
  // Namespaces that have a LocalQueue named `default`, sorted.
  std::vector<std::string> namespaces_with_default_queue() const;

  // Changes, only while a view is built. Each takes an object of a kind that the view knows
  // (Namespace, LocalQueue, ClusterQueue, AdmissionCheck, WorkloadPriorityClass, LimitRange) or,
  // for every other kind, records it as a possible owner. Needs metadata only for Namespaces and
  // owners.
  void put_typed(const TypedObject& object);
  // The same of an object as it is written in a manifest.
  void put(const nlohmann::json& object);
  // A Workload is `present`, or is gone. Of all its changes few matter to a view: whether
  // this one did.
  bool note_workload(const Workload& workload, bool present);
  void put_owner(std::string_view api_version, std::string_view kind, std::string_view ns, std::string_view name,
                 OwnerFacts facts);
  void remove(std::string_view api_version, std::string_view kind, std::string_view ns, std::string_view name);

 private:
  struct AdmittedJob {
    std::string workload, ns;
    SharedText api_version, kind;  // of the job
    std::string name;
  };
  void set_container_minimum(std::string_view ns, std::string_view name, const ContainerMinimum* minimum);

  SharedMap<Labels> namespaces_;
  SharedMap<LocalQueueFacts> local_queues_;             // "ns/name"
  SharedMap<std::vector<std::string>> cluster_queues_;  // name -> admission checks
  SharedMap<std::string> admission_checks_;             // name -> controllerName
  SharedMap<bool> priority_classes_;
  SharedMap<bool> default_queue_namespaces_;                              // namespaces with a LocalQueue `default`
  using Minimums = std::map<std::string, ContainerMinimum, std::less<>>;  // by LimitRange
  SharedMap<Minimums> container_minimums_;                                // by namespace
  SharedMap<AdmittedJob> admitted_jobs_;                                  // by uid
  SharedMap<OwnerFacts> owners_;                                          // "group/kind/ns/name"
  SharedMap<std::shared_ptr<const nlohmann::json>> consulted_;            // the same
};

using ClusterViewPtr = std::shared_ptr<const ClusterView>;

}  // namespace muster
