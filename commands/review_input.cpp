#include "commands/review_input.h"

#include <fstream>
#include <iterator>

#include "api/cluster_view.h"
#include "api/json.h"
#include "api/yaml.h"
#include "base/encoding.h"
#include "jobs/job_kind.h"

namespace muster {
namespace {

using nlohmann::json;

Result<std::string> read_all(const std::string& file, std::istream& standard_input) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(standard_input), {});
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fail(file + ": cannot be read; is the path right?");
  std::string bytes(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) return fail(file + ": cannot be read; is it a folder?");
  return bytes;
}

bool is_list(const json& value) {
  return string_at(value, {"kind"}).ends_with("List") && find_path(value, {"items"}) != nullptr;
}

// Appends a document, or the items of a List one by one.
Outcome<> append_objects(InputDocument document, std::vector<InputDocument>& to) {
  const json& value = document.value;
  if (!value.is_object())
    return fail(document.place() + ": a Kubernetes object was expected, a mapping with apiVersion and kind");
  if (string_at(value, {"apiVersion"}).empty()) return fail(document.place() + ": apiVersion is missing");
  if (string_at(value, {"kind"}).empty()) return fail(document.place() + ": kind is missing");
  if (!is_list(value)) {
    to.push_back(std::move(document));
    return Done{};
  }
  for (const json& item : array_at(value, {"items"})) {
    if (auto added = append_objects({document.file, document.line, item}, to); !added) return added;
  }
  return Done{};
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

Result<std::vector<InputDocument>> read_documents(const std::vector<std::string>& files, std::istream& standard_input) {
  std::vector<InputDocument> documents;
  for (const std::string& file : files) {
    auto bytes = read_all(file, standard_input);
    if (!bytes) return fail(bytes.error().message);
    auto parsed = read_yaml(*bytes);
    if (!parsed) {
      return fail(file + ":" + std::to_string(parsed.error().line) + ": " + parsed.error().message);
    }
    const size_t before = documents.size();
    for (YamlDocument& document : *parsed) {
      if (document.value.is_null()) continue;  // "---" with nothing behind it
      auto added = append_objects({file, document.line, std::move(document.value)}, documents);
      if (!added) return fail(added.error().message);
    }
    if (documents.size() == before) return fail(file + ": holds no object");
  }
  return documents;
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
  const JobKind* known = find_job_kind(request.group, kind);
  request.resource = known ? std::string(known->resource) : plural_of(kind);
  request.name = string_at(subject, {"metadata", "name"});
  request.namespace_ = string_at(subject, {"metadata", "namespace"});
  request.operation = operation;
  request.object = object;
  request.old_object = old_object;
  return request;
}

}  // namespace muster
