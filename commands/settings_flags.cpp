#include "commands/settings_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace muster::commands {
namespace {

// The default as --help names it: without the backquotes of the documentation.
std::string with_default(const MusterSetting& setting, std::string_view help) {
  std::string text = default_of(setting);
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return std::string(help) + "; default: " + text;
}

void add_switch(CLI::App& command, const MusterSetting& setting, GivenSettings& given) {
  const bool usual = default_of(setting) == "`true`";
  for (const bool on : {true, false}) {
    const std::string help = std::string(on ? setting.help : setting.off_help) + (on == usual ? " (default)" : "");
    command.add_flag_callback(
        flag_of(setting, on), [&given, name = std::string(setting.name), on] { given[name] = {on ? "true" : "false"}; },
        help);
  }
}

void add_option(CLI::App& command, const MusterSetting& setting, GivenSettings& given) {
  const std::string flag(setting.flag), name(setting.name), help = with_default(setting, setting.help);
  CLI::Option* option = nullptr;
  if (setting.value.form == SettingForm::kList) {
    option = command.add_option_function<std::vector<std::string>>(
        flag, [&given, name](const std::vector<std::string>& texts) { given[name] = texts; }, help);
    option->delimiter(',');
  } else {
    option = command.add_option_function<std::string>(
        flag, [&given, name](const std::string& text) { given[name] = {text}; }, help);
  }
  option->type_name(std::string(setting.argument));
  option->check(CLI::Validator(
      [&setting](std::string& text) {
        MusterConfiguration scratch;
        const auto done = setting.value.set({text}, scratch);
        return done ? std::string() : done.error().message;
      },
      ""));
}

}  // namespace

void add_setting_flags(CLI::App& command, SettingFlags which, GivenSettings& given) {
  for (const MusterSetting& setting : muster_settings()) {
    if (which == SettingFlags::kOfManifests && !setting.fits_manifests) continue;
    if (setting.value.form == SettingForm::kSwitch) {
      add_switch(command, setting, given);
    } else {
      add_option(command, setting, given);
    }
  }
}

}  // namespace muster::commands
