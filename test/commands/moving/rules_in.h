// The rules of preflight and doctor, as their sources name them.
#pragma once

#include <regex>
#include <set>
#include <string>

#include "test/support/vectors.h"

namespace muster::test {

// Of a file of commands/moving/rules: the texts between a severity and the list of objects.
inline std::set<std::string> rules_in(const std::string& file) {
  const std::string text = read_source_file("commands/moving/rules/" + file);
  static const std::regex place("Severity::k\\w+,\\s*([^,;{]*)"), name("\"([a-z][a-z0-9-]*)\"");
  std::set<std::string> rules;
  for (std::sregex_iterator found(text.begin(), text.end(), place), end; found != end; ++found) {
    const std::string names = (*found)[1];
    for (std::sregex_iterator rule(names.begin(), names.end(), name); rule != end; ++rule) rules.insert((*rule)[1]);
  }
  return rules;
}

}  // namespace muster::test
