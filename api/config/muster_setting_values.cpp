#include "api/config/muster_setting_values.h"

#include "api/meta/time.h"
#include "base/whole_number.h"

namespace muster::setting_values {
namespace {

constexpr const char* kShareRange = "must be a share from 0 to 1, as 0.1";

bool is_share(double value) {
  return value >= 0 && value <= 1;
}

std::string count_range(int most) {
  return "must be a whole number from 1 to " + std::to_string(most);
}

}  // namespace

std::string shown(const std::string& text) {
  return text;
}

std::string shown(Duration duration) {
  std::string text = format_duration(duration);
  if (text.ends_with("m0s")) text.resize(text.size() - 2);
  if (text.ends_with("h0m")) text.resize(text.size() - 2);
  return text;
}

std::string shown(bool on) {
  return on ? "true" : "false";
}

std::string shown(double number) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  return std::string(digits, end);
}

std::string shown(int number) {
  return std::to_string(number);
}

std::string shown(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& entry : list) text += (text.empty() ? "" : ",") + entry;
  return text;
}

std::string shown(const FeatureGateMap& gates) {
  std::string text;
  for (const auto& [gate, on] : gates) text += (text.empty() ? "" : ",") + gate + "=" + shown(on);
  return text;
}

std::string text_of(const json& value, const FieldPath& path, FieldErrors& errors) {
  if (!value.is_string()) {
    errors.push_back(type_invalid(path, value, "must be a string"));
    return {};
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty()) errors.push_back(required(path, "must not be empty; leave the field out to have the default"));
  return text;
}

void read_names(const json& value, const FieldPath& path, std::string_view kind, std::vector<std::string>& into,
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

Outcome<> add_names(const std::vector<std::string>& texts, std::vector<std::string>& into) {
  for (const std::string& name : texts) {
    if (name.empty()) return fail("must not be empty; leave the flag out to have the default");
    if (std::find(into.begin(), into.end(), name) == into.end()) into.push_back(name);
  }
  return Done{};
}

void read_switch(const json& value, const FieldPath& path, bool& into, FieldErrors& errors) {
  if (value.is_boolean())
    into = value.get<bool>();
  else
    errors.push_back(type_invalid(path, value, "must be true or false"));
}

Result<bool> parse_switch(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return fail("must be true or false");
}

void read_share(const json& value, const FieldPath& path, double& into, FieldErrors& errors) {
  if (!value.is_number()) {
    errors.push_back(type_invalid(path, value, kShareRange));
  } else if (!is_share(value.get<double>())) {
    errors.push_back(invalid(path, value, kShareRange));
  } else {
    into = value.get<double>();
  }
}

Result<double> parse_share(std::string_view text) {
  const auto value = finite_number(text);
  if (!value || !is_share(*value)) return fail(kShareRange);
  return *value;
}

void read_count(const json& value, const FieldPath& path, int most, int& into, FieldErrors& errors) {
  const Result<int> number = parse_count(value.dump(), most);
  if (!value.is_number())
    errors.push_back(type_invalid(path, value, count_range(most)));
  else if (!number)
    errors.push_back(invalid(path, value, count_range(most)));
  else
    into = *number;
}

Result<int> parse_count(std::string_view text, int most) {
  const auto number = whole_number<int>(text);
  if (!number || *number < 1 || *number > most) return fail(count_range(most));
  return *number;
}

void read_jobset_gates(const json& value, const FieldPath& path, FeatureGateMap& into, FieldErrors& errors) {
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
  into = std::move(gates);
}

Result<FeatureGateMap> parse_jobset_gates(std::string_view text) {
  Result<FeatureGateMap> gates = parse_feature_gates(text);
  if (!gates) return gates;
  const FieldErrors errors = check_jobset_feature_gates("", *gates);
  if (!errors.empty()) return fail(errors.front().text());
  return gates;
}

}  // namespace muster::setting_values
