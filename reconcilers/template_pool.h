// Shares equal pod templates: a thousand JobSets made from one manifest, and all the
// versions of each that updates bring, hold its text once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "api/jobset.h"

namespace muster {

// Not thread-safe. A text lives as long as somebody holds it; the pool does not.
class TemplatePool {
 public:
  // The same JobSet, with templates that others hold already.
  JobSetPtr intern(const JobSetPtr& jobset);

  // Texts that are alive, and some that may have died since the last sweep.
  size_t size() const { return texts_.size(); }

 private:
  std::shared_ptr<const std::string> intern(const std::shared_ptr<const std::string>& text);
  void sweep();

  // By hash; two texts of one hash are not shared, which costs memory and nothing else.
  std::unordered_map<size_t, std::weak_ptr<const std::string>> texts_;
  size_t sweep_at_ = 64;
};

}  // namespace muster
