#include "commands/review/review_print.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "base/did_you_mean.h"
#include "commands/terminal/escape.h"
#include "commands/terminal/text_table.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

using nlohmann::json;

struct FormatName {
  std::string_view text;
  ReviewFormat format;
};
constexpr std::array kFormats = {
    FormatName{"yaml", ReviewFormat::kYaml},   FormatName{"json", ReviewFormat::kJson},
    FormatName{"patch", ReviewFormat::kPatch}, FormatName{"table", ReviewFormat::kTable},
    FormatName{"junit", ReviewFormat::kJunit}, FormatName{"sarif", ReviewFormat::kSarif},
};

size_t count(const std::vector<ReviewedObject>& objects, bool allowed) {
  return static_cast<size_t>(std::count_if(objects.begin(), objects.end(),
                                           [&](const ReviewedObject& object) { return object.allowed == allowed; }));
}

std::string summary(const std::vector<ReviewedObject>& objects) {
  return std::to_string(objects.size()) + (objects.size() == 1 ? " object: " : " objects: ") +
         std::to_string(count(objects, true)) + " allowed, " + std::to_string(count(objects, false)) + " rejected. " +
         std::string(kNeedsCluster);
}

std::string place_of(const ReviewedObject& object, const ReviewFinding* finding) {
  const size_t line = finding && finding->line ? finding->line : object.line;
  return object.file + (line ? ":" + std::to_string(line) : "");
}

std::string findings_text(const std::vector<ReviewedObject>& objects) {
  std::string text;
  for (const ReviewedObject& object : objects) {
    for (const ReviewFinding& finding : object.findings)
      text += on_one_line(object.name + ": " + (finding.is_error ? "" : "warning: ") + finding.text()) + "\n";
  }
  return text;
}

std::string objects_text(ReviewFormat format, const std::vector<ReviewedObject>& objects) {
  std::string text;
  for (const ReviewedObject& object : objects) {
    if (format == ReviewFormat::kPatch) {
      if (object.allowed) text += to_text({{"object", object.name}, {"patch", object.patch}}) + "\n";
    } else if (object.printed.is_null()) {
      continue;
    } else if (format == ReviewFormat::kJson) {
      text += to_text(object.printed) + "\n";
    } else {
      text += (text.empty() ? "" : "---\n") + write_yaml(object.printed);
    }
  }
  return text;
}

std::string table(const std::vector<ReviewedObject>& objects) {
  std::vector<TableRow> rows = {{"RESULT", "OBJECT", "PLACE", "FINDING"}};
  for (const ReviewedObject& object : objects) {
    const std::string name = on_one_line(object.name);
    const bool has_error = std::any_of(object.findings.begin(), object.findings.end(),
                                       [](const ReviewFinding& finding) { return finding.is_error; });
    if (!has_error)
      rows.push_back({object.allowed ? "allowed" : "rejected", name, on_one_line(place_of(object, nullptr)), ""});
    for (const ReviewFinding& finding : object.findings) {
      rows.push_back({finding.is_error ? "rejected" : "warning", name, on_one_line(place_of(object, &finding)),
                      on_one_line(finding.text())});
    }
  }
  return text_table(rows) + summary(objects) + "\n";
}

std::string junit(const std::vector<ReviewedObject>& objects) {
  const std::string counts =
      " tests=\"" + std::to_string(objects.size()) + "\" failures=\"" + std::to_string(count(objects, false)) + "\"";
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"muster review\"" + counts +
                     ">\n  <testsuite name=\"muster review\"" + counts + " errors=\"0\" skipped=\"0\">\n";
  for (const ReviewedObject& object : objects) {
    std::string errors, warnings, first;
    for (const ReviewFinding& finding : object.findings) {
      (finding.is_error ? errors : warnings) += place_of(object, &finding) + ": " + finding.text() + "\n";
      if (finding.is_error && first.empty()) first = finding.text();
    }
    text += "    <testcase classname=\"" + escape_xml(object.file) + "\" name=\"" + escape_xml(object.name) +
            "\" file=\"" + escape_xml(object.file) + "\" line=\"" + std::to_string(object.line) + "\"";
    if (object.allowed && warnings.empty()) {
      text += "/>\n";
      continue;
    }
    text += ">\n";
    if (!object.allowed)
      text += "      <failure type=\"rejected\" message=\"" + escape_xml(first) + "\">" + escape_xml(errors) +
              "</failure>\n";
    if (!warnings.empty()) text += "      <system-out>" + escape_xml(warnings) + "</system-out>\n";
    text += "    </testcase>\n";
  }
  return text + "    <system-out>" + escape_xml(summary(objects)) + "</system-out>\n  </testsuite>\n</testsuites>\n";
}

// A relative reference, as RFC 3986 has it.
std::string uri_of(const std::string& file) {
  static constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = file.starts_with('/') ? "file://" : "";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos)
      uri += c;
    else
      uri.append("%").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return uri;
}

json sarif_result(const ReviewedObject& object, const ReviewFinding& finding) {
  const size_t line = std::max<size_t>(1, finding.line ? finding.line : object.line);
  json location = {{"physicalLocation",
                    {{"artifactLocation", {{"uri", object.file == "-" ? "stdin" : uri_of(object.file)}}},
                     {"region", {{"startLine", line}}}}}};
  location["logicalLocations"] = json::array(
      {{{"fullyQualifiedName", object.name + (finding.field.empty() ? "" : "/" + finding.field)}, {"kind", "object"}}});
  return {{"ruleId", finding.rule},
          {"level", finding.is_error ? "error" : "warning"},
          {"message", {{"text", object.name + ": " + finding.text()}}},
          {"locations", json::array({std::move(location)})}};
}

json sarif(const std::vector<ReviewedObject>& objects) {
  json results = json::array(), rules = json::array();
  std::set<std::string> names;
  for (const ReviewedObject& object : objects) {
    for (const ReviewFinding& finding : object.findings) {
      results.push_back(sarif_result(object, finding));
      names.insert(finding.rule);
    }
  }
  for (const std::string& name : names) rules.push_back({{"id", name}});
  const json driver = {{"name", "muster review"}, {"version", runtime::kVersion}, {"rules", std::move(rules)}};
  const json note = {{"level", "note"}, {"message", {{"text", summary(objects)}}}};
  const json run = {
      {"tool", {{"driver", driver}}},
      {"columnKind", "utf16CodeUnits"},
      {"invocations",
       json::array({{{"executionSuccessful", true}, {"toolExecutionNotifications", json::array({note})}}})},
      {"results", std::move(results)}};
  return {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", json::array({run})}};
}

}  // namespace

const std::vector<std::string>& review_format_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FormatName& name : kFormats) all.emplace_back(name.text);
    return all;
  }();
  return names;
}

Result<ReviewFormat> parse_review_format(std::string_view text) {
  for (const FormatName& name : kFormats) {
    if (name.text == text) return name.format;
  }
  return fail("there is no output format \"" + std::string(text) +
              "\"; there are yaml, json, patch, table, junit and sarif" + did_you_mean(text, review_format_names()));
}

ReviewOutput print_review(ReviewFormat format, const std::vector<ReviewedObject>& objects) {
  switch (format) {
    case ReviewFormat::kTable:
      return {table(objects), ""};
    case ReviewFormat::kJunit:
      return {junit(objects), ""};
    case ReviewFormat::kSarif:
      return {to_text(sarif(objects)) + "\n", ""};
    case ReviewFormat::kYaml:
    case ReviewFormat::kJson:
    case ReviewFormat::kPatch:
      break;
  }
  return {objects_text(format, objects), findings_text(objects) + "muster review: " + summary(objects) + "\n"};
}

}  // namespace muster::commands
