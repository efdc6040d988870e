// What `muster review` says of one object, before it is printed in one of the formats.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace muster::commands {

struct ReviewFinding {
  bool is_error = true;  // otherwise a warning, which rejects nothing
  // "input", "kind", "schema", "unknown-field", "conversion", "mutation", "kind-not-queued", "cronjob-queue",
  // "warning", or the name of a validating rule.
  std::string rule{};
  std::string field{};    // "spec.parallelism"; empty: the object as a whole
  std::string message{};  // "Invalid value: -1: must not be negative", without the field
  size_t line = 0;        // where the field is written, from 1; 0: not known

  // "field: message".
  std::string text() const { return field.empty() ? message : field + ": " + message; }
};

struct ReviewedObject {
  std::string name{};  // "Job/train"
  std::string file{};  // as it was named; "-" for standard input
  size_t line = 0;     // where the object begins
  bool allowed = true;
  bool readable = true;  // otherwise it stands for a file or a document that is no object, and has no name
  std::vector<ReviewFinding> findings{};
  nlohmann::json printed{};  // the resulting object, or the AdmissionReview with its response; null: nothing
  nlohmann::json patch{};    // what the mutators changed
};

}  // namespace muster::commands
