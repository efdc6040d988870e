#include "test/world/invariants/futile_writes.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/queued_pod.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;

constexpr int kMostOwners = 10;

// What another object can take the place of; empty: muster can delete it as often as it likes, since it has run.
std::string place_of(const ResourceType& type, const json& object) {
  const auto controller = controller_of(object);
  if (!controller) return "";
  if (type == kPods) return read_queued_pod(object)->gated() ? "pods of " + controller->uid : "";
  if (type != kJobs) return "";
  return "Job " + std::string(string_at(object, {"metadata", "name"})) + " of " + controller->uid + " in attempt " +
         std::string(string_at(object, {"metadata", "labels", kRestartAttemptLabel}));
}

}  // namespace

void FutileWrites::see(const Change& change, bool by_muster) {
  const bool was_deleting = change.before != nullptr && is_deleting(*change.before);
  const bool deletes = by_muster && !was_deleting && (change.removed || is_deleting(*change.after));
  const bool makes = !change.removed && change.before == nullptr && !deleted_.empty();
  if (!deletes && !makes) return;
  const std::string place = place_of(*change.type, *change.after);
  if (place.empty()) return;
  Deleted& deleted = deleted_[place];
  const std::string uid = uid_of(*change.after);
  if (deletes) {
    ++deleted.awaited;
    if (deleted.made.erase(uid) > 0) count(*change.after);
  } else if (deleted.awaited > 0) {
    --deleted.awaited;
    deleted.made.insert(uid);
  }
}

void FutileWrites::see_write(const reconcilers::Write& write, const Answer& answer, const ObjectPtr& before) {
  const bool refused =
      answer.outcome == reconcilers::WriteOutcome::kRefused || answer.outcome == reconcilers::WriteOutcome::kFailed;
  if (!refused) return;
  if (write.verb == reconcilers::Verb::kCreate) return count(write.body);
  if (before != nullptr) count(*before);
}

std::string FutileWrites::root_of(const json& object) const {
  json current = object;
  for (int owners = 0; owners < kMostOwners; ++owners) {
    const json& references = array_at(current, {"metadata", "ownerReferences"});
    if (references.empty()) break;
    const json owner = references.front();
    const ResourceType* type = find_type(owner);
    const ObjectPtr found = type == nullptr
                                ? nullptr
                                : server_.get({type, std::string(string_at(current, {"metadata", "namespace"})),
                                               std::string(string_at(owner, {"name"}))});
    if (found == nullptr)
      return std::string(string_at(owner, {"kind"})) + " " + std::string(string_at(owner, {"name"})) + " " +
             std::string(string_at(owner, {"uid"}));
    current = *found;
  }
  return std::string(string_at(current, {"kind"})) + " " + std::string(string_at(current, {"metadata", "name"})) + " " +
         std::string(string_at(current, {"metadata", "uid"}));
}

void FutileWrites::count(const json& object) {
  const std::string root = root_of(object);
  std::deque<MonotonicTime>& times = in_minute_[root];
  const MonotonicTime now = timeline_.time();
  times.push_back(now);
  while (now - times.front() >= std::chrono::minutes(1)) times.pop_front();
  if (times.size() <= kMostAMinute || !reported_.insert(root).second) return;
  report_("more than " + std::to_string(kMostAMinute) + " writes of muster for " + root +
          " within a minute were refused or undone");
}

}  // namespace muster::world
