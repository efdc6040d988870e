#include "commands/dashboard/page_source.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "commands/explain/fetch_explanation.h"

namespace muster::commands {
namespace {

constexpr Duration kKeep = std::chrono::seconds(1);
constexpr Duration kKeepFoundHere = std::chrono::seconds(5);

std::string key_of(const ListQuestion& question) {
  std::string key = std::to_string(static_cast<int>(question.kind)) + "/" + question.ns + "/" + question.local_queue +
                    "/" + question.cluster_queue + "/" + question.resource + "/" + std::to_string(question.limit) +
                    "/" + std::to_string(question.offset);
  for (const auto& [name, value] : question.filter)
    key.append("/").append(name).append("=").append(std::to_string(value.size())).append(":").append(value);
  return key;
}

}  // namespace

Result<FetchedList> ClusterPageSource::list(const ListQuestion& question) {
  const MutexLock lock(mutex_);
  const MonotonicTime now = clock_.now().monotonic;
  std::erase_if(kept_, [&](const auto& entry) { return entry.second.until <= now; });
  const std::string key = key_of(question);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second.answer;
  auto answer = fetch_list(reader_, question, local_);
  const bool found_here = answer && !answer->notes.empty();
  kept_.insert_or_assign(key, Kept{answer, clock_.now().monotonic + (found_here ? kKeepFoundHere : kKeep)});
  return answer;
}

Result<nlohmann::json> ClusterPageSource::explain(const ObjectKey& key) {
  const MutexLock lock(mutex_);
  auto answer = fetch_explanation(reader_, key, local_);
  if (!answer) return fail(answer.error().message);
  return to_json(*answer);
}

}  // namespace muster::commands
