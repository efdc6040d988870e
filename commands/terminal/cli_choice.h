// Options that take one of a few words, and arguments that nobody expects: in plain sentences, where CLI11
// would print its own terms.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

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

}  // namespace muster::commands
