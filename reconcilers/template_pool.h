// Shares equal pod templates: a thousand Jobs made from one manifest, their Workloads,
// and all the versions of each that updates bring, hold one copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "api/job.h"
#include "api/jobset.h"
#include "api/workload.h"

namespace muster {

// Values that are told apart by a text of theirs. Not thread-safe. A value lives as long
// as somebody holds it; the pool does not.
template <class Value>
class Interned {
 public:
  using Pointer = std::shared_ptr<const Value>;

  Pointer share(const Pointer& value) {
    std::weak_ptr<const Value>& place = values_[std::hash<std::string>{}(text_of(*value))];
    Pointer known = place.lock();
    if (known) return text_of(*known) == text_of(*value) ? known : value;
    place = value;
    sweep();
    return value;
  }
  // Values that are alive, and some that may have died since the last sweep.
  size_t size() const { return values_.size(); }

 private:
  static const std::string& text_of(const std::string& text) { return text; }
  static const std::string& text_of(const PodSpec& spec) { return spec.text; }

  // Now and then, so that each value is looked at a bounded number of times.
  void sweep() {
    if (values_.size() < sweep_at_) return;
    std::erase_if(values_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<size_t>(64, 2 * values_.size());
  }

  // By hash; two texts of one hash are not shared, which costs memory and nothing else.
  std::unordered_map<size_t, std::weak_ptr<const Value>> values_;
  size_t sweep_at_ = 64;
};

// Not thread-safe.
class TemplatePool {
 public:
  // Gives an object that nobody else reads yet the templates that others hold already.
  void intern(const Job& job);
  void intern(const JobSet& jobset);
  void intern(const Workload& workload);

  size_t size() const { return texts_.size() + pod_specs_.size(); }

 private:
  Interned<std::string> texts_;  // of JobTemplateSpecs
  Interned<PodSpec> pod_specs_;
};

}  // namespace muster
