#include "engine/recording/decision.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "api/workload_conditions.h"

namespace muster::recording {
namespace {

using nlohmann::json;

constexpr size_t kLongestValue = 200;

const Conditions* conditions_of(const TypedObject* object) {
  if (object == nullptr) return nullptr;
  if (const auto* workload = std::get_if<WorkloadPtr>(object)) return &(*workload)->status.conditions;
  if (const auto* jobset = std::get_if<JobSetPtr>(object)) return &(*jobset)->status.conditions;
  if (const auto* job = std::get_if<JobPtr>(object)) return &(*job)->status.conditions;
  return nullptr;
}

// The body has all conditions of the object. This selects the conditions that the write changes.
std::vector<const json*> changed_conditions(const RecordedWrite& write, const TypedObject* before) {
  const Conditions* known = conditions_of(before);
  std::vector<const json*> changed;
  for (const json& condition : array_at(write.body, {"status", "conditions"})) {
    const Condition* old = known == nullptr ? nullptr : find_condition(*known, string_at(condition, {"type"}));
    if (old == nullptr || old->status.text() != string_at(condition, {"status"}) ||
        old->reason.text() != string_at(condition, {"reason"}))
      changed.push_back(&condition);
  }
  return changed;
}

DecisionKind kind_of_workload(const RecordedWrite& write, const TypedObject* before) {
  if (const json* active = find_path(write.body, {"spec", "active"}); active != nullptr && *active == false)
    return DecisionKind::kDeactivation;
  DecisionKind kind = DecisionKind::kOther;
  for (const json* condition : changed_conditions(write, before)) {
    if (string_at(*condition, {"status"}) != "True") continue;
    const std::string_view type = string_at(*condition, {"type"});
    if (type == kEvictedCondition)
      return string_at(*condition, {"reason"}) == "Preempted" ? DecisionKind::kPreemption : DecisionKind::kEviction;
    if (type == kQuotaReservedCondition || type == kAdmittedCondition) return DecisionKind::kAdmission;
    if (type == "Requeued") kind = DecisionKind::kRequeue;
  }
  return kind;
}

std::string flavors_text(const json& admission) {
  std::string text;
  for (const json& pod_set : array_at(admission, {"podSetAssignments"})) {
    for (const auto& [resource, flavor] : object_at(pod_set, {"flavors"}).items()) {
      const auto* name = flavor.get_ptr<const std::string*>();
      text += (text.empty() ? "" : " ") + resource + "=" + (name == nullptr ? "" : *name);
    }
  }
  return text;
}

std::string short_text(const json& value) {
  std::string text = to_text(value);
  if (text.size() > kLongestValue) text = text.substr(0, kLongestValue) + "...";
  return text;
}

bool is_time(const std::string& text) {
  return text.size() >= 20 && text[4] == '-' && text[10] == 'T' && text.back() == 'Z';
}

// Without the fields in `words` and `times`, and without versions.
json stripped(const json& value, bool words, bool times) {
  if (times && value.is_string() && is_time(value.get_ref<const std::string&>())) return "time";
  if (!value.is_structured()) return value;
  json kept = value.is_object() ? json::object() : json::array();
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (key != "resourceVersion" && !(words && key == "message")) kept[key] = stripped(member, words, times);
    }
  } else {
    for (const json& item : value) kept.push_back(stripped(item, words, times));
  }
  return kept;
}

std::string find_difference(const json& a, const json& b, const std::string& path) {
  if (a == b) return "";
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, member] : a.items()) {
      const std::string inner = path.empty() ? key : path + "." + key;
      const auto other = b.find(key);
      if (other == b.end()) return inner + ": " + short_text(member) + ", now absent";
      if (auto found = find_difference(member, *other, inner); !found.empty()) return found;
    }
    for (const auto& [key, member] : b.items()) {
      if (!a.contains(key)) return (path.empty() ? key : path + "." + key) + ": absent, now " + short_text(member);
    }
  }
  if (a.is_array() && b.is_array()) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (auto found = find_difference(a[i], b[i], path + "[" + std::to_string(i) + "]"); !found.empty()) return found;
    }
    return path + ": " + std::to_string(a.size()) + " elements, now " + std::to_string(b.size());
  }
  return path + ": " + short_text(a) + ", now " + short_text(b);
}

}  // namespace

std::string_view word_of(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kAdmission:
      return "admission";
    case DecisionKind::kPreemption:
      return "preemption";
    case DecisionKind::kEviction:
      return "eviction";
    case DecisionKind::kRequeue:
      return "requeue";
    case DecisionKind::kDeactivation:
      return "deactivation";
    case DecisionKind::kGang:
      return "gang";
    case DecisionKind::kStart:
      return "start";
    case DecisionKind::kStop:
      return "stop";
    case DecisionKind::kOther:
      break;
  }
  return "other";
}

DecisionKind kind_of(const RecordedWrite& write, const TypedObject* before) {
  const ResourceType& type = *write.target.type;
  if (type == kWorkloads) return kind_of_workload(write, before);
  if (type == kConfigMaps) return DecisionKind::kGang;
  if (write.verb == reconcilers::Verb::kPatch) {
    if (const json* suspend = find_path(write.body, {"spec", "suspend"}); suspend != nullptr && suspend->is_boolean())
      return suspend->get<bool>() ? DecisionKind::kStop : DecisionKind::kStart;
  }
  return DecisionKind::kOther;
}

std::string text_of(const RecordedWrite& write, const TypedObject* before) {
  std::vector<std::string> parts;
  for (const json* condition : changed_conditions(write, before)) {
    parts.push_back(
        std::string(string_at(*condition, {"type"})) + "=" + std::string(string_at(*condition, {"status"})) + " (" +
        std::string(string_at(*condition, {"reason"})) + ": " + std::string(string_at(*condition, {"message"})) + ")");
  }
  if (const json* admission = find_path(write.body, {"status", "admission"}); admission != nullptr)
    parts.push_back(admission->is_object() ? "flavors " + flavors_text(*admission) : "no quota");
  for (const char* field : {"active", "suspend"}) {
    if (const json* value = find_path(write.body, {"spec", field}); value != nullptr)
      parts.push_back(std::string(field) + "=" + to_text(*value));
  }
  std::string text(word_of(write.verb));
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? ": " : "; ") + parts[i];
  return text;
}

Sameness compare(const RecordedWrite& recorded, const RecordedWrite& now, bool moved) {
  if (recorded.verb != now.verb || recorded.target != now.target || recorded.uid != now.uid)
    return Sameness::kDifferent;
  if (recorded.body == now.body) return Sameness::kSame;
  if (stripped(recorded.body, false, moved) == stripped(now.body, false, moved)) return Sameness::kSame;
  const bool same_but_words = stripped(recorded.body, true, moved) == stripped(now.body, true, moved);
  return same_but_words ? Sameness::kOtherWords : Sameness::kDifferent;
}

std::string first_difference(const RecordedWrite& recorded, const RecordedWrite& now) {
  return find_difference(stripped(recorded.body, false, false), stripped(now.body, false, false), "");
}

}  // namespace muster::recording
