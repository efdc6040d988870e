// The tree of one YAML text before its scalars mean anything: what libyaml found, with
// places. Shared by all aliases, so that reading costs no more than the text is long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/yaml.h"
#include "base/result.h"

namespace muster {

struct YamlNode {
  enum class Kind { kScalar, kSequence, kMapping, kAlias };

  Kind kind;
  size_t line, column;             // from 1
  bool plain = false;              // a scalar without quotes and tag
  std::string tag{};               // in full: "tag:yaml.org,2002:str"; empty for none
  std::string text{};              // of a scalar; the anchor's name of an alias
  std::vector<size_t> children{};  // positions in YamlTree::nodes; of a mapping: key, value, key, …
  size_t target = 0;               // what an alias stands for
};

struct YamlTree {
  std::vector<YamlNode> nodes;
  std::vector<size_t> documents;  // the root of each
};

// Line and column of a byte, both from 1.
struct TextPlace {
  size_t line, column;
};
TextPlace place_of(std::string_view text, size_t at);

// Refuses what is no YAML, nesting beyond `max_depth`, unknown anchors, and anchors that
// contain themselves.
Result<YamlTree, YamlError> parse_yaml_tree(std::string_view text, size_t max_depth);

}  // namespace muster
