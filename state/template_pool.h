// Shares equal pod specs: a thousand Jobs made from one manifest, their Workloads, and all
// the versions of each that updates bring, hold one copy.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "api/meta/object_pointers.h"
#include "api/pod_spec.h"

namespace muster::state {

// Not thread-safe. A spec lives as long as it has a holder; the pool holds none.
class TemplatePool {
 public:
  // Gives a new object, which no other thread reads yet, the pod specs that others hold already.
  void intern(const Job& job);
  void intern(const JobSet& jobset);
  void intern(const DescribedJob& job);
  void intern(const Workload& workload);
  void intern(const QueuedPod& pod);

  // Specs that are alive, and some that have possibly died since the last sweep.
  size_t size() const { return specs_.size(); }

 private:
  void share(const PodTemplate& pod_template);
  void share(PodSpecPtr& spec);
  // Now and then, so that each spec is checked a bounded number of times.
  void sweep();

  // By the hash of their texts; two of one hash are not shared, which costs memory and
  // nothing else.
  std::unordered_map<size_t, std::weak_ptr<const PodSpec>> specs_;
  size_t sweep_at_ = 64;
};

}  // namespace muster::state
