#include "api/config/muster_configuration.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "api/meta/time.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr Duration kShortestCertificate = std::chrono::seconds(5);
constexpr const char* kJitterRange = "must be a share from 0 to 1, as 0.1";

bool is_share(double value) {
  return value >= 0 && value <= 1;
}

// Reads one field into the configuration; puts what is wrong with it into the errors.
struct Setting {
  std::string_view name;
  void (*read)(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors);
};

// The text of a value that must be one; empty with an error when it is not.
std::string text_of(const json& value, const FieldPath& path, FieldErrors& errors) {
  if (!value.is_string()) {
    errors.push_back(type_invalid(path, value, "must be a string"));
    return {};
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty()) errors.push_back(required(path, "must not be empty; leave the field out to have the default"));
  return text;
}

template <class T, class Parse>
void read_word(const json& value, const FieldPath& path, T& into, FieldErrors& errors, Parse parse) {
  const std::string text = text_of(value, path, errors);
  if (text.empty()) return;
  const auto parsed = parse(text);
  if (parsed) {
    into = *parsed;
  } else {
    errors.push_back(invalid(path, value, parsed.error().message));
  }
}

void read_suspend_guard(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_word(value, path, into.suspend_guard, errors, parse_suspend_guard);
}

void read_names(const json& value, const FieldPath& path, const char* kind, std::vector<std::string>& into,
                FieldErrors& errors) {
  if (!value.is_array()) {
    errors.push_back(type_invalid(path, value, "must be a list of " + std::string(kind)));
    return;
  }
  for (size_t i = 0; i < value.size(); ++i) {
    std::string name = text_of(value[i], path.index(i), errors);
    if (name.empty()) continue;
    if (std::find(into.begin(), into.end(), name) != into.end()) {
      errors.push_back(duplicate(path.index(i), value[i]));
      continue;
    }
    into.push_back(std::move(name));
  }
}

void read_admitters(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_names(value, path, "user names", into.admitters, errors);
}

void read_client_names(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_names(value, path, "names in certificates", into.webhook_client_names, errors);
}

void read_client_ca_file(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  std::string file = text_of(value, path, errors);
  if (!file.empty()) into.webhook_client_ca_file = std::move(file);
}

void read_waiter_image(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  const std::string image = text_of(value, path, errors);
  if (image.empty()) return;
  if (image.find_first_of(" \t\r\n") != std::string::npos) {
    errors.push_back(invalid(path, value, "must be the name of a container image, without white space"));
    return;
  }
  into.waiter_image = image;
}

void read_log_format(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_word(value, path, into.log_format, errors, parse_log_format);
}

void read_lifetime(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_word(value, path, into.certificate_lifetime, errors, parse_certificate_lifetime);
}

void read_limit_timeout(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_word(value, path, into.backoff_limit_timeout, errors, parse_backoff_limit_timeout);
}

void read_jitter(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  if (!value.is_number()) {
    errors.push_back(type_invalid(path, value, kJitterRange));
  } else if (!is_share(value.get<double>())) {
    errors.push_back(invalid(path, value, kJitterRange));
  } else {
    into.backoff_jitter = value.get<double>();
  }
}

void read_jobset_gates(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  if (!value.is_object()) {
    errors.push_back(type_invalid(path, value, "must be a map from feature gates of JobSet to true or false"));
    return;
  }
  FeatureGateMap gates;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (it->is_boolean()) {
      gates[it.key()] = it->get<bool>();
    } else {
      errors.push_back(type_invalid(path.child(it.key()), *it, "must be true or false"));
    }
  }
  append(errors, check_jobset_feature_gates(path.text(), gates));
  into.jobset_feature_gates = std::move(gates);
}

void read_jobset_controller(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_word(value, path, into.jobset_controller, errors, parse_jobset_controller);
}

void read_switch(const json& value, const FieldPath& path, bool& into, FieldErrors& errors) {
  if (value.is_boolean())
    into = value.get<bool>();
  else
    errors.push_back(type_invalid(path, value, "must be true or false"));
}

void read_patch_definition(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_switch(value, path, into.patch_jobset_definition, errors);
}

void read_group_scheduling(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_switch(value, path, into.group_scheduling, errors);
}

void read_aggregated_visibility(const json& value, const FieldPath& path, MusterConfiguration& into,
                                FieldErrors& errors) {
  read_switch(value, path, into.aggregated_visibility, errors);
}

void read_dashboard(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_switch(value, path, into.dashboard, errors);
}

void read_unqueued_kinds(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  read_word(value, path, into.unqueued_kinds, errors, parse_unqueued_kinds);
}

constexpr Setting kSettings[] = {
    {"suspendGuard", read_suspend_guard},
    {"admitters", read_admitters},
    {"waiterImage", read_waiter_image},
    {"logFormat", read_log_format},
    {"certificateLifetime", read_lifetime},
    {"jobSetFeatureGates", read_jobset_gates},
    {"jobSetController", read_jobset_controller},
    {"patchJobSetDefinition", read_patch_definition},
    {"backoffLimitTimeout", read_limit_timeout},
    {"backoffJitter", read_jitter},
    {"groupScheduling", read_group_scheduling},
    {"webhookClientCAFile", read_client_ca_file},
    {"webhookClientNames", read_client_names},
    {"unqueuedKinds", read_unqueued_kinds},
    {"aggregatedVisibility", read_aggregated_visibility},
    {"dashboard", read_dashboard},
};

std::string known_settings() {
  std::string names;
  for (const Setting& setting : kSettings) names += (names.empty() ? "" : ", ") + std::string(setting.name);
  return names;
}

}  // namespace

Result<SuspendGuard> parse_suspend_guard(std::string_view text) {
  if (text == "enforce") return SuspendGuard::kEnforce;
  if (text == "observe") return SuspendGuard::kObserve;
  return fail("must be enforce (reject) or observe (let through, with a warning)");
}

Result<LogFormat> parse_log_format(std::string_view text) {
  if (text == "json") return LogFormat::kJson;
  if (text == "text") return LogFormat::kText;
  return fail("must be json or text");
}

Result<JobSetController> parse_jobset_controller(std::string_view text) {
  if (text == "auto") return JobSetController::kAuto;
  if (text == "native") return JobSetController::kNative;
  if (text == "external") return JobSetController::kExternal;
  return fail(
      "must be auto (found out at start), native (muster runs JobSets) or external (JobSet's own controller does)");
}

Result<Duration> parse_certificate_lifetime(std::string_view text) {
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed) return fail(parsed.error().message + "; write a duration such as 2160h");
  if (*parsed < kShortestCertificate) return fail("must be at least " + format_duration(kShortestCertificate));
  return *parsed;
}

Result<Duration> parse_backoff_limit_timeout(std::string_view text) {
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed) return fail(parsed.error().message + "; write a duration such as 24h");
  if (*parsed <= Duration::zero()) return fail("must be longer than 0s; leave it out to have no such limit");
  return *parsed;
}

Result<double> parse_backoff_jitter(std::string_view text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !is_share(value)) return fail(kJitterRange);
  return value;
}

Result<FeatureGateMap> parse_jobset_feature_gates(std::string_view text) {
  Result<FeatureGateMap> gates = parse_feature_gates(text);
  if (!gates) return gates;
  const FieldErrors errors = check_jobset_feature_gates("", *gates);
  if (!errors.empty()) return fail(errors.front().text());
  return gates;
}

Result<MusterConfiguration, FieldErrors> decode_muster_configuration(const json& document) {
  MusterConfiguration configuration;
  FieldErrors errors;
  for (auto it = document.begin(); it != document.end(); ++it) {
    if (it.key() == "apiVersion" || it.key() == "kind") continue;
    const FieldPath path(it.key());
    const auto* setting = std::find_if(std::begin(kSettings), std::end(kSettings),
                                       [&](const Setting& candidate) { return candidate.name == it.key(); });
    if (setting == std::end(kSettings)) {
      errors.push_back(forbidden(path, "is no field of MusterConfiguration; the fields are " + known_settings()));
    } else if (!it->is_null()) {
      setting->read(*it, path, configuration, errors);
    }
  }
  if (!errors.empty()) return fail_with(std::move(errors));
  return configuration;
}

}  // namespace muster
