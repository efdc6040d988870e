// Options that take one of a few words, and unexpected arguments: in plain sentences, where CLI11
// would print its own terms.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/whole_number.h"

namespace muster::commands {

// A check that accepts what one of our parse functions accepts, with its message.
template <class Parse>
CLI::Validator parsed_by(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        auto value = parse(text);
        return value ? std::string() : value.error().message;
      },
      "");
}

// An option whose words `parse` turns into a value, and refuses with a sentence.
template <class T, class Parse>
CLI::Option* add_choice(CLI::App& command, const std::string& name, T& value, Parse parse, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = *parse(text); }, help)
      ->check(parsed_by(parse));
}

// A whole number within bounds, with a sentence for what is none. CLI::Range writes its type into --help.
template <class Number>
CLI::Validator whole_number_from(Number least, Number most) {
  return parsed_by([least, most](std::string_view text) -> Result<Number> {
    const auto number = whole_number<Number>(text);
    if (number && *number >= least && *number <= most) return *number;
    return fail("must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  });
}

// Two flags, one for each state. A single flag with a negation has the state in braces in --help.
inline void add_on_off(CLI::App& command, const std::string& on, const std::string& on_help, const std::string& off,
                       const std::string& off_help, bool& value) {
  command.add_flag(on, value, on_help);  // also --on=false
  command.add_flag_function(
      off, [&value](int64_t times) { value = times < 0; }, off_help);  // --off=false: -1
}

}  // namespace muster::commands
