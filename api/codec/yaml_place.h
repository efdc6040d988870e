// Where a field of a YAML (or JSON) text is written, so that a message about the field can name the line. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "api/codec/yaml_node.h"

namespace muster {

// The line, from 1, of the value at `path` below the node `root`, as in "spec.podSets[0].template" or
// "metadata.labels[example.com/a]". Of a path that leads further than the text, the line of the deepest
// part that is written.
size_t line_of_field(const YamlTree& tree, size_t root, std::string_view path);

}  // namespace muster
