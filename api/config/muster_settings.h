// One row for each setting of MusterConfiguration. From the rows come
// - the strict reader of the configuration file (decode_muster_configuration),
// - the flags of `muster serve` and `muster manifests` with their --help (commands/settings_flags.h),
// - the table in docs/configuration.md and the chart's values.schema.json, which tests compare with them.
//
// A setting is added by a field of MusterConfiguration, whose initializer is the default,
// and a row in muster_settings.cpp.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/muster_configuration.h"

namespace muster {

// What a setting looks like in the file: a string, one of a few words, a number from 0 to 1,
// a whole number from 1 on, true or false, a list of strings, a map from names to true or false.
enum class SettingForm { kText, kWord, kShare, kCount, kSwitch, kList, kMap };

// How a setting is read and where it is stored; muster_setting_values.h makes them.
struct SettingValue {
  SettingForm form;
  // Of a kWord, in the order of the documentation; else empty.
  std::vector<std::string_view> (*words)();
  // From the file, not null. What is wrong goes into `errors`, under `path`.
  void (*read)(const nlohmann::json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors);
  // From a flag, which is given once for each text; of a kSwitch "true" or "false".
  Outcome<> (*set)(const std::vector<std::string>& texts, MusterConfiguration& into);
  // As `set` takes it (a list with commas); empty: it is unset or has no entries.
  std::string (*show)(const MusterConfiguration& configuration);
};

struct MusterSetting {
  std::string_view name;  // of the field in the file: "backoffJitter"
  std::string_view flag;  // "--backoff-jitter"; a kSwitch has "--no-..." as well
  SettingValue value;
  std::string_view help;               // of the flag, without the default
  std::string_view off_help{};         // of the second flag of a kSwitch
  std::string_view unset{};            // the default in words, where it is no value
  std::string_view argument = "TEXT";  // of the flag, in --help
  bool fits_manifests = false;         // `muster manifests` takes the flag too: it prints other objects
  std::string_view page;               // the sentences of docs/configuration.md
};

std::span<const MusterSetting> muster_settings();
// nullptr: there is none.
const MusterSetting* find_muster_setting(std::string_view name);

// The default as the documentation names it: a value in backquotes, or words.
std::string default_of(const MusterSetting& setting);
// "--group-scheduling", or "--no-group-scheduling".
std::string flag_of(const MusterSetting& setting, bool on);

// Settings by flags: the name of the setting -> what its flag was given, once or more often.
using GivenSettings = std::map<std::string, std::vector<std::string>, std::less<>>;

// A flag wins over `into`, which is what the file says; --admitters adds to it. The error begins with the flag.
Outcome<> apply_settings(const GivenSettings& given, MusterConfiguration& into);
// As a command line gives them: "--jobset-controller=native", "--no-group-scheduling".
std::vector<std::string> arguments_of(const GivenSettings& given);

}  // namespace muster
