// Input of `muster review`: manifests, Lists and whole AdmissionReviews, as one flat
// list of things to review.
#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/admission_review.h"
#include "base/result.h"

namespace muster {

// One object or AdmissionReview and where it was read.
struct InputDocument {
  std::string file;  // "-" for stdin
  size_t line = 0;   // where the document starts; a List's items share the List's line
  nlohmann::json value;

  // "jobs.yaml:12"
  std::string place() const { return file + ":" + std::to_string(line); }
  bool is_review() const;
};

// Reads every file ("-" is `standard_input`) and expands Lists. Refuses what is not YAML or
// JSON, documents that are no Kubernetes objects, and files without any object,
// naming file and line.
Result<std::vector<InputDocument>> read_documents(const std::vector<std::string>& files, std::istream& standard_input);

// "Job/train", or "Job/train-*" for generateName.
std::string display_name(const nlohmann::json& object);

// The request that the API server would make for a manifest. `old_object` is null
// for CREATE. The uid is a function of `position`, so that equal input gives equal output.
AdmissionRequest make_request(const nlohmann::json& object, const nlohmann::json& old_object, Operation operation,
                              size_t position);

}  // namespace muster
