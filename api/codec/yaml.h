// YAML as Kubernetes' users write it: read as kubectl reads it (sigs.k8s.io/yaml on
// go-yaml v2), written as `kubectl -o yaml` prints it. Pure functions.
//
// The scalars are YAML 1.1's: yes and off are booleans, 010 is 8, 1_000 is 1000; what is
// quoted is text, dates are text, and 1:30 is text too. Keys become text: `y: 1` has the
// key "true". Stricter than kubectl in one thing: a key that is written twice is an error.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct YamlDocument {
  size_t line;  // where its content starts, from 1
  nlohmann::json value;
};

// A sentence, and where in the text; both from 1.
struct YamlError {
  size_t line;
  size_t column;
  std::string message;
  std::string duplicate_key = {};  // the key, when the error is that it is written twice
};

struct YamlLimits {
  // Deeper JSON is fine up to JsonLimits; hand-written YAML never comes near.
  size_t max_depth = 500;
  // What aliases can add to the documents of one text: each value counts 1, plus the bytes of
  // its text. Keeps "billion laughs" from filling the memory.
  size_t max_alias_expansion = 1'000'000;
};

// All documents, in order; none in an empty text, a null one for an empty "---". JSON is
// YAML too, and several JSON values in a row are as many documents, as from `jq '.items[]'`.
Result<std::vector<YamlDocument>, YamlError> read_yaml(std::string_view text, YamlLimits limits = {});

// Block style, keys in kubectl's order (a2 before a10), lists at the column of their key,
// text quoted where it would be read back as something else. Lines are not folded.
// Ends with a line break.
std::string write_yaml(const nlohmann::json& value);

}  // namespace muster
