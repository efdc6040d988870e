#include "test/world/invariants/write_storms.h"

#include <array>

#include "api/codec/json.h"

namespace muster::world {
namespace {

using nlohmann::json;

constexpr size_t kQuietLength = 4;
constexpr size_t kBusyLength = 8;
// More changes by others are not on their way to muster at a time.
constexpr size_t kMostRemembered = 10'000;

// Fields that an administrator changes, and to which every Workload can have to react.
bool is_queue_kind(const ResourceType& type) {
  for (const ResourceType* kind : {&kClusterQueues, &kLocalQueues, &kCohorts, &kResourceFlavors, &kAdmissionChecks,
                                   &kWorkloadPriorityClasses, &kNamespaces}) {
    if (*kind == type) return true;
  }
  return false;
}

void drop_stamps(json& value) {
  if (value.is_object()) {
    for (const char* key : {"lastTransitionTime", "observedGeneration"}) value.erase(key);
  }
  if (!value.is_structured()) return;
  for (json& part : value) drop_stamps(part);
}

size_t digest(const json& value) {
  return std::hash<std::string>()(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

size_t whole_digest(json object) {
  for (const char* key : {"resourceVersion", "generation", "managedFields"}) object["metadata"].erase(key);
  drop_stamps(object);
  return digest(object);
}

size_t rough_digest(const json& object) {
  json rough = {object_at(object, {"spec"})};
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    rough.push_back(
        {string_at(condition, {"type"}), string_at(condition, {"status"}), string_at(condition, {"reason"})});
  }
  return digest(rough);
}

// The last values, in this number, are two values in turns.
template <class Values, class Digest>
bool alternates(const Values& values, size_t length, Digest digest_of) {
  if (values.size() < length) return false;
  const size_t begin = values.size() - length;
  if (digest_of(values[begin]) == digest_of(values[begin + 1])) return false;
  for (size_t i = begin + 2; i < values.size(); ++i) {
    if (digest_of(values[i]) != digest_of(values[i - 2])) return false;
  }
  return true;
}

}  // namespace

void WriteStorms::see(const Change& change, bool by_muster) {
  const ObjectKey key = key_of(*change.type, *change.after);
  if (!by_muster) {
    ++disturbances_;
    by_others_.insert(change.version);
    if (by_others_.size() > kMostRemembered) by_others_.erase(by_others_.begin());
    if (is_queue_kind(*change.type)) ++queue_changes_;
    histories_.erase(key);
    return;
  }
  if (change.removed || change.before == nullptr) return void(histories_.erase(key));
  History& history = histories_[key];
  history.values.push_back({whole_digest(*change.after), rough_digest(*change.after), disturbances_, queue_changes_});
  if (history.values.size() > kBusyLength) history.values.pop_front();
  if (history.undisturbed_since != disturbances_) history.writes = 0;
  history.undisturbed_since = disturbances_;
  ++history.writes;
  if (history.reported) return;
  check_alternation(key, history);
  check_quiet(key, history);
}

void WriteStorms::see_heard(const Change& change) {
  if (by_others_.contains(change.version)) ++disturbances_;
}

void WriteStorms::check_alternation(const ObjectKey& key, History& history) {
  const std::deque<Value>& values = history.values;
  const bool in_quiet = values.size() >= kQuietLength &&
                        values[values.size() - kQuietLength + 1].undisturbed_since == values.back().undisturbed_since &&
                        alternates(values, kQuietLength, [](const Value& value) { return value.whole; });
  const bool in_turmoil = values.size() >= kBusyLength && values.front().queues_since == values.back().queues_since &&
                          alternates(values, kBusyLength, [](const Value& value) { return value.rough; });
  if (!in_quiet && !in_turmoil) return;
  history.reported = true;
  report_(to_text(key) + " alternates between two values, and nobody but muster writes it");
}

void WriteStorms::check_quiet(const ObjectKey& key, History& history) {
  if (history.reported || history.writes <= kMostWrites) return;
  history.reported = true;
  report_("muster wrote " + to_text(key) + " more than " + std::to_string(kMostWrites) +
          " times although nothing else has happened");
}

}  // namespace muster::world
