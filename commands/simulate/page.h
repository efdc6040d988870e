// The outcome of a simulation as one HTML page: plots as inline SVG, no script and nothing from the network. Names of
// objects are written by tenants: each is escaped where it is written, and the page's own policy forbids scripts.
// Pure.
#pragma once

#include <string>

#include "commands/simulate/report.h"

namespace muster::commands {

// Well-formed XML too. Long lists end after some rows and say so.
std::string report_page(const Report& report);

// Two configurations side by side, the figures of both first. Each plot has its own axes.
std::string comparison_page(const Report& before, const Report& after);

}  // namespace muster::commands
