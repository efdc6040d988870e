// --dry-run as kubectl has it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {
class App;
}

namespace muster::commands {

enum class DryRun { kNone, kClient, kServer };
Result<DryRun> parse_dry_run(std::string_view text);
// --dry-run, --dry-run=client, =server or =none.
void add_dry_run(CLI::App& command, std::string& text);
// Of a text that the flag has accepted.
DryRun dry_run_of(const std::string& text);
// " (dry run)", " (server dry run)" or nothing.
std::string suffix_of(DryRun dry_run);

}  // namespace muster::commands
