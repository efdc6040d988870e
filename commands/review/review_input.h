// Input of `muster review`: manifests, Lists and whole AdmissionReviews, as one flat
// list of things to review.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/codec/yaml_node.h"
#include "api/review/admission_review.h"
#include "base/result.h"
#include "commands/review/review_files.h"

namespace muster::commands {

// One object or AdmissionReview and where it was read.
struct InputDocument {
  std::string file;  // "-" for stdin
  size_t line = 0;   // where it starts
  nlohmann::json value;
  // To find the lines of its fields: the text, which document of it, and where below it an item of a List is.
  std::shared_ptr<const std::string> text{};
  size_t position = 0;
  std::string path{};  // "items[2]"
  // Why it cannot be read; then `value` is null. A file that is no YAML is one such document.
  std::string why_unread{};
  bool harmless = false;  // with why_unread: a file that holds no object

  // "jobs.yaml:12"
  std::string place() const { return file + ":" + std::to_string(line); }
  bool is_review() const;
};

// Reads every source and expands Lists. What is not YAML or JSON, documents that are no Kubernetes objects, and
// sources without any object are documents with `why_unread`. Of a folder, files that hold no object and what only
// kustomize reads are passed over.
std::vector<InputDocument> read_each_document(const std::vector<SourceText>& sources);
// The same; fails on the first document that cannot be read, naming file and line.
Result<std::vector<InputDocument>> read_documents(const std::vector<SourceText>& sources);

// Lines of fields. Remembers the text that it was last asked about.
class LineFinder {
 public:
  // Of a field path of the document; the document's own where it is not known better.
  size_t line_of(const InputDocument& document, const std::string& field);

 private:
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const YamlTree> tree_;  // null: not as YAML
};

// "Job/train", or "Job/train-*" for generateName.
std::string display_name(const nlohmann::json& object);

// The request that the API server would make for a manifest. `old_object` is null
// for CREATE. The uid is a function of `position`, so that equal input gives equal output.
AdmissionRequest make_request(const nlohmann::json& object, const nlohmann::json& old_object, Operation operation,
                              size_t position);

}  // namespace muster::commands
