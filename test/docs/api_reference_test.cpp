// docs/api-reference.md is made of the definitions in manifests/crds, which say what every field is.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "api/codec/json.h"
#include "manifests/schema.h"
#include "test/support/files.h"

namespace api_reference_test {

namespace {

using nlohmann::json;
using namespace muster;

const std::filesystem::path kRoot = MUSTER_SOURCE_DIR;

const char* const kHead =
    R"(# API reference

The kinds of `kueue.x-k8s.io`, `jobset.x-k8s.io` and `muster.batch` that muster serves, made of the definitions in [manifests/crds](../manifests/crds). A test compares
(`api reference: the page is that of the definitions`). `kubectl explain clusterqueue.spec` has the same texts. Fields that every object has (`metadata`), pod
templates, Job templates, tolerations and conditions are as in Kubernetes.

Fields of features that muster does not have are named here, because their names are Kueue's; the description says what happens to them. The settings of
muster are in [configuration.md](configuration.md), its metrics in [metrics.md](metrics.md), its annotations in [group-scheduling.md](group-scheduling.md),
[preemption-protection.md](preemption-protection.md), [nodes.md](nodes.md) and [simulate.md](simulate.md).
)";

// Types of Kubernetes whose fields every reader knows.
bool is_of_kubernetes(const std::string& name, const json& schema) {
  static const std::set<std::string> kKnown = {"conditions", "nodeTaints", "tolerations", "namespaceSelector"};
  return kKnown.contains(name) || name == "template" || schema.value("x-kubernetes-preserve-unknown-fields", false);
}

// The field is here for its name.
bool is_without_effect(const std::string& description) {
  return description.find("Not supported by muster") != std::string::npos ||
         description.find("muster does not write this field") != std::string::npos;
}

std::string quoted(const json& value) {
  return "`" + (value.is_string() ? value.get<std::string>() : value.dump()) + "`";
}

std::string type_of(const json& schema) {
  if (schema.value("x-kubernetes-int-or-string", false)) return "quantity";
  const std::string type = schema.value("type", "object");
  if (type == "array") return "list of " + type_of(schema.at("items"));
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
    return "map of " + type_of(schema["additionalProperties"]);
  if (schema.value("format", "") == "date-time") return "time";
  return type;
}

// What holds of the value besides its type, in a few words.
std::string remarks_of(const json& schema, bool required) {
  std::string text;
  const auto add = [&](const std::string& remark) { text += (text.empty() ? "" : "; ") + remark; };
  if (required) add("required");
  if (schema.contains("default")) add("default " + quoted(schema["default"]));
  if (const json& allowed = array_at(schema, {"enum"}); !allowed.empty()) {
    std::string all;
    for (const json& one : allowed) all += (all.empty() ? "" : ", ") + quoted(one);
    add("one of " + all);
  }
  if (schema.contains("minimum")) add("at least " + schema["minimum"].dump());
  if (schema.contains("maximum")) add("at most " + schema["maximum"].dump());
  for (const char* items : {"maxItems", "maxProperties"})
    if (schema.contains(items)) add("at most " + schema[items].dump() + " items");
  return text;
}

struct Field {
  std::string path, type, remarks, description;
};

void add_fields(const json& schema, const std::string& path, std::vector<Field>& fields);

void add_field(const std::string& name, const json& schema, bool required, const std::string& path,
               std::vector<Field>& fields) {
  const std::string description = schema.value("description", "");
  fields.push_back({path + name, type_of(schema), remarks_of(schema, required), description});
  if (is_of_kubernetes(name, schema) || is_without_effect(description)) return;
  if (schema.contains("items"))
    add_fields(schema["items"], path + name + "[].", fields);
  else
    add_fields(schema, path + name + ".", fields);
}

void add_fields(const json& schema, const std::string& path, std::vector<Field>& fields) {
  const json& required = array_at(schema, {"required"});
  if (!schema.contains("properties")) return;
  for (const auto& [name, property] : schema["properties"].items()) {
    const bool wanted = std::find(required.begin(), required.end(), json(name)) != required.end();
    add_field(name, property, wanted, path, fields);
  }
}

// Of the object itself, without what every object has.
std::vector<Field> fields_of(const json& schema) {
  std::vector<Field> fields;
  for (const auto& [name, property] : schema.at("properties").items()) {
    if (name == "apiVersion" || name == "kind" || name == "metadata") continue;
    if (name == "spec" || name == "status")
      add_fields(property, name + ".", fields);
    else
      add_field(name, property, false, "", fields);
  }
  return fields;
}

std::string table_of(const std::vector<Field>& fields) {
  std::string text = "| Field | Type | |\n|---|---|---|\n";
  for (const Field& field : fields) {
    std::string words = field.description;
    if (!field.remarks.empty()) words += (words.empty() ? "" : " ") + std::string("*") + field.remarks + "*";
    for (size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) words.insert(at, "\\");
    text += "| `" + field.path + "` | " + field.type + " | " + words + " |\n";
  }
  return text;
}

// The paths in `one` that are not in `other`.
std::string only_in(const std::vector<Field>& one, const std::vector<Field>& other) {
  std::set<std::string> known;
  for (const Field& field : other) known.insert(field.path);
  std::string text, last = "\n";
  for (const Field& field : one) {
    // A field says enough about those below it.
    if (known.contains(field.path) || field.path.starts_with(last + ".") || field.path.starts_with(last + "[]"))
      continue;
    text += (text.empty() ? "`" : ", `") + field.path + "`";
    last = field.path;
  }
  return text;
}

std::string section_of(const manifests::DefinedKind& kind) {
  const json& spec = kind.definition->at("spec");
  std::string stored;
  for (const json& version : spec.at("versions"))
    if (version.value("storage", false)) stored = version.at("name");
  const json& schema = *kind.version(stored).schema;
  std::string text =
      "\n## " + spec["names"]["kind"].get<std::string>() + "\n\n" + schema.value("description", "") + "\n\n";
  text += "`" + spec["group"].get<std::string>() + "/" + stored + "`, " +
          (kind.namespaced ? "in a namespace" : "in the cluster");
  std::string names;
  for (const json& name : array_at(spec, {"names", "shortNames"})) names += (names.empty() ? "" : ", ") + quoted(name);
  text += names.empty() ? ".\n\n" : "; kubectl's short names: " + names + ".\n\n";
  const std::vector<Field> fields = fields_of(schema);
  text += table_of(fields);
  for (const std::string& version : kind.served) {
    if (version == stored) continue;
    const std::vector<Field> others = fields_of(*kind.version(version).schema);
    const std::string gone = only_in(others, fields), come = only_in(fields, others);
    text += "\n`" + version + "` can be served too (`--serve-v1beta1`, or the value `crds.v1beta1`), by conversion.";
    if (!gone.empty()) text += " Only there: " + gone + ".";
    if (!come.empty()) text += " Not there: " + come + ".";
    text += "\n";
  }
  return text;
}

std::string reference() {
  std::string text = kHead;
  for (const manifests::DefinedKind& kind : manifests::defined_kinds()) text += section_of(kind);
  return text;
}

}  // namespace

TEST_CASE("api reference: the page is that of the definitions") {
  const std::string wanted = reference();
  const std::filesystem::path made = std::filesystem::temp_directory_path() / "muster-api-reference.md";
  if (std::ifstream in(kRoot / "docs/api-reference.md");
      !in || test::read_file(kRoot / "docs/api-reference.md") != wanted)
    std::ofstream(made) << wanted;
  INFO("if the change is wanted: cp " << made.string() << " docs/api-reference.md");
  CHECK(test::read_file(kRoot / "docs/api-reference.md") == wanted);
}

TEST_CASE("api reference: every field that is documented says what it is") {
  size_t seen = 0;
  for (const manifests::DefinedKind& kind : manifests::defined_kinds()) {
    for (const std::string& version : kind.served) {
      for (const Field& field : fields_of(*kind.version(version).schema)) {
        ++seen;
        CHECK_MESSAGE(!field.description.empty(),
                      kind.plural << " " << version << ": " << field.path << " has no description");
      }
    }
  }
  CHECK(seen > 300);
}

}  // namespace api_reference_test
