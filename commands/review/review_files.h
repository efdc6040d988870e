// Which files `-f` and `-k` of `muster review` name, and their text (I/O).
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::commands {

struct SourceText {
  std::string name;  // as it is shown: a path, "-" for standard input
  std::shared_ptr<const std::string> text;
  bool listed = false;  // found in a folder, and not named by itself
};

struct SourceNames {
  std::vector<std::string> files{};           // -f: files, folders, and "-" for standard input
  std::vector<std::string> kustomizations{};  // -k: folders
  bool recursive = false;                     // -R: folders below a folder as well
};

// As kubectl: of a folder the files .json, .yaml and .yml, in the order of their names. Refuses URLs, folders
// without such a file, and more than 64 MiB in one file, each with a sentence.
Result<std::vector<SourceText>> read_sources(const SourceNames& names, std::istream& standard_input);

// Runs `kubectl kustomize` or `kustomize build`, whichever is found first in `search_path` (as PATH), and
// returns what it prints. What it says on its standard error goes to that of this process.
Result<std::string> build_kustomization(const std::string& folder, const std::string& search_path);

}  // namespace muster::commands
