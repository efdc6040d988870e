#include "kinds/kind_description.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "base/ascii.h"
#include "kinds/kind_hook.h"
#include "kinds/strict_fields.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr size_t kMostFactors = 4;
constexpr size_t kMostEnds = 8;
constexpr size_t kMostPriorityPaths = 4;
constexpr size_t kMostConsulted = 4;
constexpr size_t kMostOwned = 8;
constexpr int64_t kMostTimes = 10;

CountFactor read_factor(const json& value, const FieldPath& place, FieldErrors& errors) {
  CountFactor factor;
  if (value.is_string()) {
    factor.path = read_value_path(value, place, StrictFields::kWithoutWildcard, errors);
    return factor;
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  StrictFields fields(value, place, errors);
  factor.path = fields.path("path");
  factor.absent = static_cast<int32_t>(fields.number("absent", 1, 0, kMost));
  factor.at_least = static_cast<int32_t>(fields.number("atLeast", 0, 0, kMost));
  fields.refuse_others();
  return factor;
}

PodSetSource read_source(const json& value, const FieldPath& place, FieldErrors& errors) {
  PodSetSource source;
  StrictFields fields(value, place, errors);
  source.each = fields.find("each") != nullptr;
  if (source.each) {
    source.path = fields.path("each");
    source.name_path = fields.path("namePath");
  } else {
    source.path = fields.path("path");
    source.name = fields.text("name");
  }
  source.pod_template = fields.path("template", StrictFields::kWithoutWildcard, true);
  if (source.pod_template.empty()) source.pod_template = *ValuePath::parse("template");
  for (const auto& [item, at] : fields.list("count", kMostFactors, true))
    source.counts.push_back(read_factor(*item, at, errors));
  if (const json* when = fields.find("when")) source.when = read_predicate(*when, fields.at("when"), errors);
  fields.refuse_others();
  return source;
}

EndRule read_end(const json& value, const FieldPath& place, FieldErrors& errors) {
  EndRule rule;
  StrictFields fields(value, place, errors);
  if (fields.find("condition") != nullptr) {
    rule.condition = fields.text("condition");
    rule.success = fields.truth("success", false);
  } else if (const json* when = fields.find("when")) {
    rule.when = read_predicate(*when, fields.at("when"), errors);
    if (const json* succeeded = fields.find("succeeded"))
      rule.succeeded = read_predicate(*succeeded, fields.at("succeeded"), errors);
    rule.message = fields.path("message", StrictFields::kWithoutWildcard, true);
    rule.message_condition = fields.text("messageOf", "");
    rule.message_text = fields.text("messageText", "");
  } else if (fields.is_object()) {
    errors.push_back(required(place, "must have `condition` or `when`"));
  }
  fields.refuse_others();
  return rule;
}

// Of a kind, and of a kind that it consults.
template <class Kind>
void read_resource(StrictFields& fields, Kind& kind) {
  kind.group = fields.text("group");
  kind.version = fields.text("version");
  kind.kind = fields.text("kindName");
  kind.plural = fields.text("resource");
  const auto check = [&](const char* name, const std::string& value) {
    for (const std::string& problem : is_dns1123_subdomain(value))
      fields.errors().push_back(invalid(fields.at(name), value, problem));
  };
  if (!kind.group.empty()) check("group", kind.group);
  if (!kind.plural.empty()) check("resource", kind.plural);
}

ConsultedKind read_consulted(const json& value, const FieldPath& place, FieldErrors& errors) {
  ConsultedKind kind;
  StrictFields fields(value, place, errors);
  read_resource(fields, kind);
  kind.namespaced = !fields.truth("clusterScoped", false);
  fields.refuse_others();
  return kind;
}

OwnedKind read_owned(const json& value, const FieldPath& place, FieldErrors& errors) {
  OwnedKind owned;
  StrictFields fields(value, place, errors);
  if (!fields.truth("any", false)) {
    owned.group = fields.text("group");
    owned.kind = fields.text("kindName");
  }
  for (const auto& [item, at] : fields.list("podSets", KindDescription::kMostPodSets, true)) {
    if (item->is_string())
      owned.pod_sets.push_back(item->get<std::string>());
    else
      errors.push_back(invalid(at, *item, "must be the name of a pod set"));
  }
  owned.times = static_cast<int32_t>(fields.number("times", 1, 1, kMostTimes));
  fields.refuse_others();
  return owned;
}

// "a={metadata.name},b in ({status.x},{status.y})"
std::vector<SelectorPart> read_selector(std::string_view text, const FieldPath& place, FieldErrors& errors) {
  std::vector<SelectorPart> parts;
  while (!text.empty()) {
    const size_t open = text.find('{');
    const size_t close = open == std::string_view::npos ? open : text.find('}', open);
    SelectorPart& part = parts.emplace_back();
    part.text = text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::string_view path = text.substr(open + 1, close == std::string_view::npos ? close : close - open - 1);
    const Result<ValuePath> value = ValuePath::parse(path);
    if (close == std::string_view::npos || !value || value->has_wildcard()) {
      errors.push_back(invalid(place, std::string(text), "between { and } must be the path of a text"));
      return {};
    }
    part.value = *value;
    text.remove_prefix(close + 1);
  }
  return parts;
}

void read_hook(StrictFields& fields, KindDescription& kind) {
  const std::string name = fields.text("hook", "");
  kind.hook = find_kind_hook(name);
  if (!name.empty() && kind.hook == nullptr)
    fields.errors().push_back(invalid(fields.at("hook"), name, "muster has no such code: one of " + kind_hook_names()));
  for (const auto& [item, at] : fields.list("consults", kMostConsulted, true))
    kind.consulted.push_back(read_consulted(*item, at, fields.errors()));
  for (const auto& [item, at] : fields.list("owns", kMostOwned, true))
    kind.owned.push_back(read_owned(*item, at, fields.errors()));
}

void read_where_it_stands(StrictFields& fields, KindDescription& kind) {
  kind.suspend = fields.path("suspend");
  kind.suspended_when = fields.truth("suspendedWhen", true);
  kind.managed_by = fields.path("managedBy", StrictFields::kWithoutWildcard, true);
  kind.default_manager = fields.text("controllerName", "");
  if (!kind.managed_by.empty() && kind.default_manager.empty())
    fields.errors().push_back(required(fields.at("controllerName"), "what the kind's own controller is called there"));
  kind.prebuilt_workloads = fields.truth("prebuiltWorkloads", true);
  kind.pod_index_label = fields.text("podIndexLabel", "");
  kind.pod_selector = read_selector(fields.text("podSelector", ""), fields.at("podSelector"), fields.errors());
  const bool made_by_hook = kind.hook != nullptr && kind.hook->makes_pod_sets;
  for (const auto& [item, at] : fields.list("podSets", KindDescription::kMostPodSets, made_by_hook))
    kind.pod_sets.push_back(read_source(*item, at, fields.errors()));
  for (const auto& [item, at] : fields.list("priorityClass", kMostPriorityPaths, true))
    kind.priority_classes.push_back(read_value_path(*item, at, StrictFields::kWithoutWildcard, fields.errors()));
}

// A list names its pod sets itself, and a hook can make others.
void check_owned(StrictFields& fields, const KindDescription& kind) {
  const std::vector<PodSetSource>& sources = kind.pod_sets;
  const bool named = (kind.hook == nullptr || !kind.hook->makes_pod_sets) &&
                     std::none_of(sources.begin(), sources.end(), [](const PodSetSource& each) { return each.each; });
  if (!named) return;
  for (size_t i = 0; i < kind.owned.size(); ++i) {
    for (const std::string& name : kind.owned[i].pod_sets) {
      if (std::none_of(sources.begin(), sources.end(), [&](const PodSetSource& each) { return each.name == name; }))
        fields.errors().push_back(
            invalid(fields.at("owns").index(i).child("podSets"), name, "must be the name of a pod set"));
    }
  }
}

void read_state(StrictFields& fields, KindDescription& kind) {
  const auto test = [&](const char* name) {
    const json* value = fields.find(name);
    if (value != nullptr) return read_predicate(*value, fields.at(name), fields.errors());
    if (fields.is_object()) fields.errors().push_back(required(fields.at(name), "must be given"));
    return Predicate{};
  };
  kind.active = test("active");
  kind.ready = test("ready");
  if (const json* hold = fields.find("onHold"))
    kind.on_hold = read_predicate(*hold, fields.at("onHold"), fields.errors());
  if (const json* alone = fields.find("leftAlone"))
    kind.left_alone = read_predicate(*alone, fields.at("leftAlone"), fields.errors());
  kind.elastic = fields.truth("elasticJobs", false);
  kind.checked_on_update = fields.truth("checkedOnUpdate", false);
  kind.gated_updates = fields.truth("gatedUpdates", false);
  for (const auto& [item, at] : fields.list("ends", kMostEnds, true))
    kind.ends.push_back(read_end(*item, at, fields.errors()));
}

}  // namespace

void KindDescription::settle() {
  api_version_ = group + "/" + version;
  singular_ = in_small_letters(kind);
  type_ = {group, version, plural, kind, true, api_version_};
  for (ConsultedKind& each : consulted) each.settle();
}

const OwnedKind* KindDescription::find_owned(std::string_view of_group, std::string_view of_kind) const {
  const auto found = std::find_if(owned.begin(), owned.end(), [&](const OwnedKind& each) {
    return each.kind.empty() || (each.group == of_group && each.kind == of_kind);
  });
  return found == owned.end() ? nullptr : &*found;
}

void ConsultedKind::settle() {
  api_version_ = group + "/" + version;
  type_ = {group, version, plural, kind, namespaced, api_version_};
}

std::string pod_selector_of(const std::vector<SelectorPart>& parts, const json& object) {
  std::string selector;
  bool any = false;
  for (const SelectorPart& part : parts) {
    const json* value = part.value.find(object);
    const std::string text = value != nullptr && value->is_string() ? value->get<std::string>() : "";
    if (!is_valid_label_value(text).empty()) return "";
    any = any || !text.empty();
    selector.append(part.text).append(text);
  }
  return any ? selector : "";
}

std::string pod_selector_of_gone(const std::vector<SelectorPart>& parts, std::string_view name) {
  const bool needs_more = std::any_of(parts.begin(), parts.end(), [](const SelectorPart& part) {
    return !part.value.empty() && part.value.text() != "metadata.name";
  });
  return needs_more ? "" : pod_selector_of(parts, {{"metadata", {{"name", name}}}});
}

Result<KindDescriptionPtr, FieldErrors> read_kind_description(const json& object) {
  FieldErrors errors;
  auto kind = std::make_shared<KindDescription>();
  StrictFields fields(object, FieldPath(""), errors);
  const auto expect = [&](const char* name, std::string_view value) {
    if (fields.text(name) != value)
      errors.push_back(invalid(name, object.value(name, json()), "must be " + std::string(value)));
  };
  if (fields.is_object()) {
    expect("apiVersion", kJobKindApiVersion);
    expect("kind", kJobKindKind);
    kind->framework = fields.text("framework");
    read_resource(fields, *kind);
    read_hook(fields, *kind);
    read_where_it_stands(fields, *kind);
    check_owned(fields, *kind);
    read_state(fields, *kind);
    fields.refuse_others();
  }
  if (!errors.empty()) return fail_with(std::move(errors));
  kind->text = to_text(object);
  kind->settle();
  return KindDescriptionPtr(std::move(kind));
}

}  // namespace muster
