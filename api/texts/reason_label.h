// The reasons of conditions that are labels of metrics. Conditions can be written by other programs too: a label has
// few values, so that clients cannot add series.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// `reason` when muster itself writes it, otherwise "other".
std::string reason_label(std::string_view reason);

}  // namespace muster
