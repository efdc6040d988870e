#include "kinds/described_job.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "base/ascii.h"
#include "kinds/kind_description.h"
#include "kinds/kind_hook.h"

namespace muster {
namespace {

using nlohmann::json;

std::string text_at(const ValuePath& path, const json& object) {
  const json* value = path.find(object);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

void add_pod_set(const PodSetSource& source, size_t source_index, size_t element_index, const json& element,
                 DescribedJob& job) {
  if (!element.is_object()) return;
  const json* found = source.pod_template.find(element);
  DescribedPodSet pod_set{.name = pod_set_name(source, element),
                          .count = count_of(source, element),
                          .source = source_index,
                          .element = element_index,
                          .pod_template = {}};
  if (found != nullptr && found->is_object()) pod_set.pod_template = read_pod_template(*found);
  job.pod_sets.push_back(std::move(pod_set));
}

std::string rest_of(const PodSetSource& source, const json& element) {
  json rest = element;
  if (source.pod_template.find(rest) != nullptr) source.pod_template.set(rest, nullptr);
  return to_text(rest);
}

void read_list(const PodSetSource& source, size_t index, const json& list, DescribedJob& job) {
  std::vector<std::string>& texts = job.lists[index];
  for (size_t i = 0; i < list.size(); ++i) {
    texts.push_back(rest_of(source, list[i]));
    add_pod_set(source, index, i, list[i], job);
  }
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  return a != b && in_small_letters(a) == in_small_letters(b);
}

// Some controllers read "worker" as "Worker": its pods would run without being counted.
void refuse_other_spellings(const PodSetSource& source, const json& object, DescribedJob& job) {
  const json* parent = &object;
  const std::vector<std::string>& steps = source.path.steps();
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const auto next = parent->is_object() ? parent->find(steps[i]) : parent->end();
    if (next == parent->end()) return;
    parent = &*next;
  }
  if (!parent->is_object() || steps.empty()) return;
  for (auto field = parent->begin(); field != parent->end(); ++field) {
    if (same_but_for_case(field.key(), steps.back()))
      job.unreadable = source.path.text() + " is written as \"" + field.key() + "\"";
  }
}

void read_pod_sets(const json& object, DescribedJob& job) {
  const auto& sources = job.kind->pod_sets;
  job.lists.resize(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].when && !sources[i].when->holds(object)) continue;
    refuse_other_spellings(sources[i], object, job);
    const json* place = sources[i].path.find(object);
    if (place == nullptr) continue;
    if (!sources[i].each) {
      add_pod_set(sources[i], i, 0, *place, job);
    } else if (place->is_array() && place->size() <= KindDescription::kMostPodSets) {
      read_list(sources[i], i, *place, job);
    } else if (place->is_array()) {
      job.unreadable = sources[i].path.text() + " has more than " + std::to_string(KindDescription::kMostPodSets) +
                       " elements, as many pod sets as a Workload can have";
    }
  }
}

std::string message_of_condition(const json& object, std::string_view type) {
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) == type) return std::string(string_at(condition, {"message"}));
  }
  return {};
}

std::string message_of(const EndRule& rule, const json& object) {
  if (!rule.message.empty()) return text_at(rule.message, object);
  return rule.message_condition.empty() ? rule.message_text : message_of_condition(object, rule.message_condition);
}

std::optional<DescribedEnd> end_of(const KindDescription& kind, const json& object) {
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    if (string_at(condition, {"status"}) != "True") continue;
    for (const EndRule& rule : kind.ends) {
      if (!rule.condition.empty() && rule.condition == string_at(condition, {"type"}))
        return DescribedEnd{rule.success, std::string(string_at(condition, {"message"}))};
    }
  }
  for (const EndRule& rule : kind.ends) {
    if (rule.condition.empty() && rule.when.holds(object))
      return DescribedEnd{rule.succeeded.holds(object), message_of(rule, object)};
  }
  return std::nullopt;
}

}  // namespace

void check_pod_sets(DescribedJob& job) {
  if (job.pod_sets.size() > KindDescription::kMostPodSets)
    job.unreadable = "it has more than " + std::to_string(KindDescription::kMostPodSets) + " pod sets";
  std::set<std::string_view> names;
  for (const DescribedPodSet& pod_set : job.pod_sets) {
    if (!names.insert(pod_set.name).second) job.unreadable = "it has two pod sets of the name \"" + pod_set.name + "\"";
  }
}

int32_t count_of(const PodSetSource& source, const json& element) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t count = 1;
  for (const CountFactor& factor : source.counts) {
    const json* value = factor.path.find(element);
    int64_t number = factor.absent;
    // A number of another shape counts as the largest: no quota has place for it.
    if (value != nullptr && value->is_number_unsigned())
      number = static_cast<int64_t>(std::min<uint64_t>(value->get<uint64_t>(), kMost));
    else if (value != nullptr && value->is_number_integer())
      number = std::clamp<int64_t>(value->get<int64_t>(), 0, kMost);
    else if (value != nullptr && !value->is_null())
      number = kMost;
    count = std::min(count * std::max<int64_t>(number, factor.at_least), kMost);
  }
  return static_cast<int32_t>(count);
}

std::string pod_set_name(const PodSetSource& source, const json& element) {
  return in_small_letters(source.name.empty() ? text_at(source.name_path, element) : source.name);
}

DescribedJobPtr read_described_job(const KindDescription& kind, const json& object) {
  DescribedJob job;
  job.kind = &kind;
  job.meta = read_meta(object);
  job.managed_by = text_at(kind.managed_by, object);
  const json* suspend = kind.suspend.find(object);
  const bool value = suspend != nullptr && suspend->is_boolean() && suspend->get<bool>();
  job.suspended = value == kind.suspended_when;
  for (const ValuePath& path : kind.priority_classes) {
    if (job.priority_class.empty()) job.priority_class = text_at(path, object);
  }
  read_pod_sets(object, job);
  job.left_alone = kind.left_alone.holds(object);
  job.pod_selector = pod_selector_of(kind.pod_selector, object);
  job.on_hold = kind.on_hold.holds(object);
  job.active = kind.active.holds(object);
  job.pods_ready = kind.ready.holds(object);
  job.end = end_of(kind, object);
  if (kind.hook != nullptr) kind.hook->read(object, job);
  check_pod_sets(job);
  return std::make_shared<const DescribedJob>(std::move(job));
}

}  // namespace muster
