// Flags of the commands that read manifests from files, in kubectl's words.
#pragma once

#include <string>

#include "commands/review/review_files.h"

namespace CLI {
class App;
}

namespace muster::commands {

// -f and -R. `help` says what the files hold and where they can lie.
void add_file_flags(CLI::App& command, SourceNames& sources, const std::string& help);
// -k.
void add_kustomize_flag(CLI::App& command, SourceNames& sources);

}  // namespace muster::commands
