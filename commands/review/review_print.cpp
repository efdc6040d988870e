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

template <class Wanted>
size_t count(const std::vector<ReviewedObject>& objects, Wanted wanted) {
  return static_cast<size_t>(std::count_if(objects.begin(), objects.end(), wanted));
}

std::string summary(const std::vector<ReviewedObject>& objects) {
  const auto readable = [](const ReviewedObject& object) { return object.readable; };
  const auto allowed = [](const ReviewedObject& object) { return object.readable && object.allowed; };
  const auto warned = [&](const ReviewedObject& object) { return allowed(object) && !object.findings.empty(); };
  const size_t all = count(objects, readable), good = count(objects, allowed), warnings = count(objects, warned);
  const size_t unread = count(objects, [](const auto& object) { return !object.readable && !object.allowed; });
  std::string text = std::to_string(all) + (all == 1 ? " object: " : " objects: ") + std::to_string(good) + " allowed";
  if (warnings > 0) text += " (" + std::to_string(warnings) + " with warnings)";
  text += ", " + std::to_string(all - good) + " rejected. ";
  if (unread > 0)
    text += std::to_string(unread) + (unread == 1 ? " document cannot be read. " : " documents cannot be read. ");
  return text + std::string(kNeedsCluster);
}

std::string place_of(const ReviewedObject& object, const ReviewFinding* finding) {
  const size_t line = finding && finding->line ? finding->line : object.line;
  return object.file + (line ? ":" + std::to_string(line) : "");
}

// What a line of text begins with.
std::string subject_of(const ReviewedObject& object) {
  return object.readable ? object.name : place_of(object, nullptr);
}

std::string findings_text(const std::vector<ReviewedObject>& objects) {
  std::string text;
  for (const ReviewedObject& object : objects) {
    for (const ReviewFinding& finding : object.findings)
      text += on_one_line(subject_of(object) + ": " + (finding.is_error ? "" : "warning: ") + finding.text()) + "\n";
  }
  return text;
}

std::string objects_text(ReviewFormat format, const std::vector<ReviewedObject>& objects) {
  std::string text;
  for (const ReviewedObject& object : objects) {
    if (format == ReviewFormat::kPatch) {
      if (object.allowed && object.readable) text += to_text({{"object", object.name}, {"patch", object.patch}}) + "\n";
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

// The lines of one object: errors before warnings.
void add_rows(const ReviewedObject& object, std::vector<TableRow>& rows) {
  const std::string name = object.readable ? on_one_line(object.name) : "-";
  for (const bool errors : {true, false}) {
    for (const ReviewFinding& finding : object.findings) {
      if (finding.is_error != errors) continue;
      rows.push_back({errors ? "rejected" : "warning", name, on_one_line(place_of(object, &finding)),
                      on_one_line(finding.text())});
    }
  }
  if (object.findings.empty()) rows.push_back({"allowed", name, on_one_line(place_of(object, nullptr)), ""});
}

// Rejected objects, then those with warnings, then with `verbose` those without a finding.
std::string table(const std::vector<ReviewedObject>& objects, bool verbose) {
  std::vector<TableRow> rows = {{"RESULT", "OBJECT", "PLACE", "FINDING"}};
  for (const ReviewedObject& object : objects) {
    if (!object.allowed) add_rows(object, rows);
  }
  for (const ReviewedObject& object : objects) {
    if (object.allowed && !object.findings.empty()) add_rows(object, rows);
  }
  for (const ReviewedObject& object : objects) {
    if (verbose && object.allowed && object.findings.empty()) add_rows(object, rows);
  }
  return (rows.size() > 1 ? text_table(rows) : "") + summary(objects) + "\n";
}

std::string junit(const std::vector<ReviewedObject>& objects) {
  const std::string counts = " tests=\"" + std::to_string(objects.size()) + "\" failures=\"" +
                             std::to_string(count(objects, [](const auto& object) { return !object.allowed; })) + "\"";
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"muster review\"" + counts +
                     ">\n  <testsuite name=\"muster review\"" + counts + " errors=\"0\" skipped=\"0\">\n";
  for (const ReviewedObject& object : objects) {
    std::string errors, warnings, first;
    for (const ReviewFinding& finding : object.findings) {
      (finding.is_error ? errors : warnings) += place_of(object, &finding) + ": " + finding.text() + "\n";
      if (finding.is_error && first.empty()) first = finding.text();
    }
    text += "    <testcase classname=\"" + escape_xml(object.file) + "\" name=\"" +
            escape_xml(object.readable ? object.name : object.file) + "\" file=\"" + escape_xml(object.file) +
            "\" line=\"" + std::to_string(object.line) + "\"";
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
  if (object.readable)
    location["logicalLocations"] =
        json::array({{{"fullyQualifiedName", object.name + (finding.field.empty() ? "" : "/" + finding.field)},
                      {"kind", "object"}}});
  return {{"ruleId", finding.rule},
          {"level", finding.is_error ? "error" : "warning"},
          {"message", {{"text", (object.readable ? object.name + ": " : "") + finding.text()}}},
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

ReviewOutput print_review(ReviewFormat format, const std::vector<ReviewedObject>& objects, bool verbose) {
  switch (format) {
    case ReviewFormat::kTable:
      return {table(objects, verbose), ""};
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
