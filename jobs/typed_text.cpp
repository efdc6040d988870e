#include "jobs/typed_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/quantity.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

constexpr TypedField kMetadataFields[] = {{"name"},   {"generateName"}, {"namespace"},
                                          {"labels"}, {"annotations"},  {"finalizers"}};
}  // namespace
const TypedShape kTypedMetadata{kMetadataFields};
namespace {

constexpr TypedField kResourcesFields[] = {{"limits"}, {"requests"}, {"claims"}};
constexpr TypedShape kResources{kResourcesFields};

constexpr TypedField kEnvFields[] = {{"name", nullptr, "\"\""}, {"value"}, {"valueFrom"}};
constexpr TypedShape kEnv{kEnvFields};

constexpr TypedField kPortFields[] = {
    {"name"}, {"hostPort"}, {"containerPort", nullptr, "0"}, {"protocol"}, {"hostIP"}};
constexpr TypedShape kPort{kPortFields};

constexpr TypedField kMountFields[] = {
    {"name", nullptr, "\"\""}, {"readOnly"},   {"recursiveReadOnly"}, {"mountPath", nullptr, "\"\""}, {"subPath"},
    {"mountPropagation"},      {"subPathExpr"}};
constexpr TypedShape kMount{kMountFields};

constexpr TypedField kNamedFields[] = {{"name", nullptr, "\"\""}};
constexpr TypedShape kNamed{kNamedFields};

constexpr TypedField kTolerationFields[] = {{"key"}, {"operator"}, {"value"}, {"effect"}, {"tolerationSeconds"}};
}  // namespace
const TypedShape kTypedToleration{kTolerationFields};
namespace {

constexpr TypedField kContainerFields[] = {
    {"name", nullptr, "\"\""},
    {"image"},
    {"command"},
    {"args"},
    {"workingDir"},
    {"ports", &kPort},
    {"envFrom"},
    {"env", &kEnv},
    {"resources", &kResources, "{}"},
    {"resizePolicy"},
    {"restartPolicy"},
    {"restartPolicyRules"},
    {"volumeMounts", &kMount},
    {"volumeDevices", &kNamed},
    {"livenessProbe"},
    {"readinessProbe"},
    {"startupProbe"},
    {"lifecycle"},
    {"terminationMessagePath"},
    {"terminationMessagePolicy"},
    {"imagePullPolicy"},
    {"securityContext"},
    {"stdin"},
    {"stdinOnce"},
    {"tty"},
};
constexpr TypedShape kContainer{kContainerFields};

constexpr TypedField kPodSpecFields[] = {
    {"volumes", &kNamed},
    {"initContainers", &kContainer},
    {"containers", &kContainer, "null"},
    {"ephemeralContainers", &kContainer},
    {"restartPolicy"},
    {"terminationGracePeriodSeconds"},
    {"activeDeadlineSeconds"},
    {"dnsPolicy"},
    {"nodeSelector"},
    {"serviceAccountName"},
    {"serviceAccount"},
    {"automountServiceAccountToken"},
    {"nodeName"},
    {"hostNetwork"},
    {"hostPID"},
    {"hostIPC"},
    {"shareProcessNamespace"},
    {"securityContext"},
    {"imagePullSecrets"},
    {"hostname"},
    {"subdomain"},
    {"affinity"},
    {"schedulerName"},
    {"tolerations", &kTypedToleration},
    {"hostAliases"},
    {"priorityClassName"},
    {"priority"},
    {"dnsConfig"},
    {"readinessGates"},
    {"runtimeClassName"},
    {"enableServiceLinks"},
    {"preemptionPolicy"},
    {"overhead"},
    {"topologySpreadConstraints"},
    {"setHostnameAsFQDN"},
    {"os"},
    {"hostUsers"},
    {"schedulingGates", &kNamed},
    {"resourceClaims", &kNamed},
    {"resources", &kResources},
};
constexpr TypedShape kPodSpec{kPodSpecFields};

constexpr TypedField kPodTemplateFields[] = {{"metadata", &kTypedMetadata, "{}"}, {"spec", &kPodSpec, "{}"}};
}  // namespace
const TypedShape kTypedPodTemplate{kPodTemplateFields};
namespace {

bool is_empty(const json& value) {
  return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty()) ||
         (value.is_array() && value.empty());
}

bool is_resource_list(std::string_view key) {
  return key == "limits" || key == "requests" || key == "overhead" || key == "resourceUsage";
}

json canonical_quantities(const json& list) {
  json canonical = list;
  if (!canonical.is_object()) return canonical;
  for (json& amount : canonical) {
    if (const auto quantity = Quantity::from_json(amount)) amount = quantity->to_json();
  }
  return canonical;
}

class Printer {
 public:
  void print(const json& value, const TypedShape* shape) {
    if (value.is_array()) {
      text_ += '[';
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) text_ += ',';
        print(value[i], shape);
      }
      text_ += ']';
    } else if (value.is_object() && shape) {
      print_members(value, *shape);
    } else {
      text_ += muster::to_text(value);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void print_members(const json& object, const TypedShape& shape) {
    text_ += '{';
    const char* separator = "";
    const auto start = [&](std::string_view key) {
      text_.append(separator).append("\"").append(key).append("\":");
      separator = ",";
    };
    for (const TypedField& field : shape.fields) {
      const auto found = object.find(field.name);
      if (found != object.end() && !is_empty(*found) && !is_zero_replicas(field, *found)) {
        start(field.name);
        print(is_resource_list(field.name) ? canonical_quantities(*found) : *found, field.shape);
      } else if (!field.when_empty.empty()) {
        start(field.name);
        if (field.shows_empty_list && found != object.end() && found->is_array())
          text_ += "[]";
        else
          print_empty(field);
      }
    }
    for (const auto& [key, value] : object.items()) {
      const bool listed = std::any_of(shape.fields.begin(), shape.fields.end(),
                                      [&, &name = key](const TypedField& field) { return field.name == name; });
      if (listed || is_empty(value)) continue;
      start(key);
      print(value, nullptr);
    }
    text_ += '}';
  }
  void print_empty(const TypedField& field) {
    if (field.shape && field.when_empty == "{}") {
      print_members(json::object(), *field.shape);
    } else {
      text_ += field.when_empty;
    }
  }
  static bool is_zero_replicas(const TypedField& field, const json& value) {
    return field.name == "replicas" && value == 0;
  }

  std::string text_;
};

// The encoder of the typed API escapes these characters so that a text can be part of a web page.
std::string escape_markup(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "\\u003c";
        break;
      case '>':
        escaped += "\\u003e";
        break;
      case '&':
        escaped += "\\u0026";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// A missing value means off for these switches; for others a missing value is a third state.
bool is_plain_switch(std::string_view key) {
  static constexpr std::array<std::string_view, 7> kSwitches = {"hostNetwork", "hostPID",  "hostIPC", "stdin",
                                                                "stdinOnce",   "readOnly", "tty"};
  return std::find(kSwitches.begin(), kSwitches.end(), key) != kSwitches.end();
}

bool says_nothing(std::string_view key, const json& value) {
  return is_empty(value) || (value.is_object() && value.empty()) || (value == false && is_plain_switch(key));
}

bool same_member(std::string_view key, const json& one, const json& other) {
  if (says_nothing(key, one) || says_nothing(key, other)) return says_nothing(key, one) == says_nothing(key, other);
  if (is_resource_list(key)) return canonical_quantities(one) == canonical_quantities(other);
  return same_in_typed_api(one, other);
}

bool same_members(const json& one, const json& other) {
  static const json nothing;
  const bool covered = std::all_of(one.items().begin(), one.items().end(), [&](const auto& item) {
    const auto found = other.find(item.key());
    return same_member(item.key(), item.value(), found == other.end() ? nothing : *found);
  });
  return covered && std::all_of(other.items().begin(), other.items().end(), [&](const auto& item) {
           return one.contains(item.key()) || says_nothing(item.key(), item.value());
         });
}

constexpr size_t kMostChanges = 10;
constexpr size_t kLongestValue = 200;

// Of a long list its names, if all its elements have one.
std::string short_text(const json& value) {
  json shown = value;
  if (value.is_array() && !value.empty()) {
    json names = json::array();
    for (const json& element : value) {
      const auto name = element.is_object() ? element.find("name") : element.end();
      if (element.is_object() && name != element.end()) names.push_back(*name);
    }
    if (names.size() == value.size()) shown = std::move(names);
  }
  std::string text = muster::to_text(shown);
  return text.size() <= kLongestValue ? text : "";
}

// Each pair of values is compared once, so the cost is that of one comparison of the whole.
class Changes {
 public:
  explicit Changes(std::string_view detail) : detail_(detail) {}

  void compare(std::string_view key, const json& before, const json& now, const FieldPath& path) {
    if (found_.size() >= kMostChanges) return;
    if (before.is_object() && now.is_object() && !is_resource_list(key)) {
      compare_members(before, now, path);
    } else if (before.is_array() && now.is_array() && before.size() == now.size()) {
      for (size_t i = 0; i < now.size(); ++i) compare("", before[i], now[i], path.index(i));
    } else if (!same_member(key, before, now)) {
      found_.push_back({path, FieldErrorType::kInvalid, short_text(now), detail_});
    }
  }
  FieldErrors take() { return std::move(found_); }

 private:
  void compare_members(const json& before, const json& now, const FieldPath& path) {
    static const json nothing;
    const auto at = [&](const std::string& key) {
      return key.find_first_of("./") == std::string::npos ? path.child(key) : path.key(key);
    };
    for (const auto& [key, value] : now.items()) {
      const auto old = before.find(key);
      compare(key, old == before.end() ? nothing : *old, value, at(key));
    }
    for (const auto& [key, value] : before.items()) {
      if (!now.contains(key)) compare(key, value, nothing, at(key));
    }
  }

  std::string detail_;
  FieldErrors found_;
};

}  // namespace

std::string print_typed(const json& value, const TypedShape& shape) {
  Printer printer;
  printer.print(value, &shape);
  return escape_markup(printer.take());
}

bool same_in_typed_api(const json& one, const json& other) {
  if (one.is_object() && other.is_object()) return same_members(one, other);
  if (!one.is_array() || !other.is_array()) return one == other || (is_empty(one) && is_empty(other));
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), same_in_typed_api);
}

FieldErrors changes_in_typed_api(const json& before, const json& now, const FieldPath& path, std::string_view detail) {
  Changes changes(detail);
  changes.compare("", before, now, path);
  return changes.take();
}

}  // namespace muster::jobs
