// Shell completion: `muster completion bash|zsh|fish` prints a script that calls `muster __complete WORDS...`, and
// kubectl calls `kubectl_complete-muster WORDS...` for its plugin. Both answer as Cobra's programs do: a candidate
// on each line, and ":4" (no file names) at the end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "base/result.h"

namespace CLI {
class App;
}

namespace muster::commands {

// Names of objects of a kind, as far as they can be had quickly; `words` are the command line, for its flags.
using NamesOf =
    std::function<std::vector<std::string>(const ResourceType& type, const std::vector<std::string>& words)>;

// The candidates for the last of the words (which may be empty) and the line ":4". Options and subcommands are those
// of the app. Pure but for `names_of`.
std::string complete(const CLI::App& app, const std::vector<std::string>& words, const NamesOf& names_of);

// Asks the API server that the words' flags name, for at most 500 names and 3 s.
std::vector<std::string> names_from_cluster(const ResourceType& type, const std::vector<std::string>& words);

// The script of a shell.
Result<std::string> completion_script(std::string_view shell);

}  // namespace muster::commands
