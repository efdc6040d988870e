#include "commands/review/source_flags.h"

#include <CLI/CLI.hpp>

namespace muster::commands {

void add_file_flags(CLI::App& command, SourceNames& sources, const std::string& help) {
  command.add_option("-f,--filename", sources.files, help)->type_name("FILE");
  command.add_flag("-R,--recursive", sources.recursive, "Of a folder, the folders below it as well");
}

void add_kustomize_flag(CLI::App& command, SourceNames& sources) {
  command
      .add_option("-k,--kustomize", sources.kustomizations,
                  "A folder that kubectl or kustomize builds the manifests from")
      ->type_name("FOLDER");
}

}  // namespace muster::commands
