#include "commands/review/review_input.h"

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/codec/yaml_place.h"
#include "api/review/cluster_view.h"
#include "base/encoding.h"
#include "jobs/job_kind.h"

namespace muster::commands {
namespace {

using nlohmann::json;

bool is_list(const json& value) {
  return string_at(value, {"kind"}).ends_with("List") && find_path(value, {"items"}) != nullptr;
}

// Lists of Lists end somewhere.
constexpr size_t kDeepestList = 8;

// Why it is no object and no List that can be read; empty: it is.
std::string why_no_object(const json& value, size_t depth) {
  if (!value.is_object()) return "a Kubernetes object was expected, a mapping with apiVersion and kind";
  if (string_at(value, {"apiVersion"}).empty()) return "apiVersion is missing";
  if (string_at(value, {"kind"}).empty()) return "kind is missing";
  return is_list(value) && depth == kDeepestList ? "Lists are nested more than 8 deep" : "";
}

// Appends a document, or the items of a List one by one.
void append_objects(InputDocument document, std::vector<InputDocument>& to, LineFinder& lines, size_t depth = 0) {
  const json& value = document.value;
  document.why_unread = why_no_object(value, depth);
  if (!document.why_unread.empty()) document.value = nullptr;
  if (!document.why_unread.empty() || !is_list(value)) return to.push_back(std::move(document));
  const json& items = array_at(value, {"items"});
  for (size_t i = 0; i < items.size(); ++i) {
    InputDocument item{document.file, document.line, items[i], document.text, document.position, document.path};
    item.path += (item.path.empty() ? "items[" : ".items[") + std::to_string(i) + "]";
    item.line = lines.line_of(item, "");
    append_objects(std::move(item), to, lines, depth + 1);
  }
}

// kustomization.yaml is in the same folder as the manifests that it names.
bool is_for_kustomize(const json& value) {
  return string_at(value, {"apiVersion"}).starts_with("kustomize.config.k8s.io/");
}

std::string plural_of(std::string_view kind) {
  std::string plural;
  for (char c : kind) plural += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plural + (plural.ends_with('s') ? "es" : "s");
}

std::string uid_for(size_t position) {
  const std::string hex = sha256_hex("muster review " + std::to_string(position));
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" +
         hex.substr(20, 12);
}

}  // namespace

bool InputDocument::is_review() const {
  return string_at(value, {"kind"}) == "AdmissionReview";
}

std::vector<InputDocument> read_each_document(const std::vector<SourceText>& sources) {
  std::vector<InputDocument> documents;
  LineFinder lines;
  for (const SourceText& source : sources) {
    auto parsed = read_yaml(*source.text);
    if (!parsed) {
      documents.push_back(
          {.file = source.name, .line = parsed.error().line, .value = nullptr, .why_unread = parsed.error().message});
      continue;
    }
    const size_t before = documents.size();
    for (size_t position = 0; position < parsed->size(); ++position) {
      YamlDocument& document = (*parsed)[position];
      if (document.value.is_null()) continue;  // "---" without a document after it
      if (source.listed && is_for_kustomize(document.value)) continue;
      append_objects({source.name, document.line, std::move(document.value), source.text, position}, documents, lines);
    }
    if (documents.size() == before && !source.listed)
      documents.push_back(
          {.file = source.name, .line = 0, .value = nullptr, .why_unread = "holds no object", .harmless = true});
  }
  return documents;
}

Result<std::vector<InputDocument>> read_documents(const std::vector<SourceText>& sources) {
  auto documents = read_each_document(sources);
  for (const InputDocument& document : documents) {
    if (!document.why_unread.empty())
      return fail((document.line ? document.place() : document.file) + ": " + document.why_unread);
  }
  return documents;
}

size_t LineFinder::line_of(const InputDocument& document, const std::string& field) {
  if (text_ != document.text) {
    text_ = document.text;
    tree_.reset();
    if (text_) {
      auto tree = parse_yaml_tree(*text_, YamlLimits().max_depth);
      if (tree) tree_ = std::make_shared<const YamlTree>(std::move(*tree));
    }
  }
  // Several JSON values in a row are no YAML.
  if (!tree_ || document.position >= tree_->documents.size()) return document.line;
  std::string path = document.path;
  if (!field.empty()) path += (path.empty() || field.starts_with('[') ? "" : ".") + field;
  return line_of_field(*tree_, tree_->documents[document.position], path);
}

std::string display_name(const json& object) {
  std::string name(string_at(object, {"metadata", "name"}));
  if (name.empty()) name = std::string(string_at(object, {"metadata", "generateName"})) + "*";
  return std::string(string_at(object, {"kind"})) + "/" + name;
}

AdmissionRequest make_request(const json& object, const json& old_object, Operation operation, size_t position) {
  AdmissionRequest request;
  const json& subject = operation == Operation::kDelete ? old_object : object;
  const std::string_view api_version = string_at(subject, {"apiVersion"});
  const std::string_view kind = string_at(subject, {"kind"});
  request.uid = uid_for(position);
  request.group = group_of(api_version);
  request.version = api_version.substr(request.group.empty() ? 0 : request.group.size() + 1);
  request.kind = kind;
  const jobs::JobKind* known = jobs::find_job_kind(request.group, kind);
  request.resource = known ? std::string(known->type.plural) : plural_of(kind);
  request.name = string_at(subject, {"metadata", "name"});
  request.namespace_ = string_at(subject, {"metadata", "namespace"});
  request.operation = operation;
  request.object = object;
  request.old_object = old_object;
  return request;
}

}  // namespace muster::commands
