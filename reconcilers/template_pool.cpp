#include "reconcilers/template_pool.h"

#include <algorithm>
#include <functional>

namespace muster {

JobSetPtr TemplatePool::intern(const JobSetPtr& jobset) {
  auto shared = std::make_shared<JobSet>(*jobset);
  for (ReplicatedJob& replicated : shared->replicated_jobs) {
    replicated.template_text = intern(replicated.template_text);
  }
  sweep();
  return shared;
}

std::shared_ptr<const std::string> TemplatePool::intern(const std::shared_ptr<const std::string>& text) {
  std::weak_ptr<const std::string>& place = texts_[std::hash<std::string>{}(*text)];
  auto known = place.lock();
  if (!known) {
    place = text;
    return text;
  }
  return *known == *text ? known : text;
}

// Now and then, so that each text is looked at a bounded number of times.
void TemplatePool::sweep() {
  if (texts_.size() < sweep_at_) return;
  std::erase_if(texts_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<size_t>(64, 2 * texts_.size());
}

}  // namespace muster
