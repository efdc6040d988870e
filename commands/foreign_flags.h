// Flags of Kueue's and JobSet's controllers, in manifests that start muster in their place.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace muster::commands {

// They are accepted and not shown in --help. Each that is given adds a sentence to `notes`: what acts instead of it.
void add_foreign_flags(CLI::App& command, std::vector<std::string>& notes);

}  // namespace muster::commands
