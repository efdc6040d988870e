#include "commands/moving/rules/finding.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "api/codec/yaml.h"
#include "base/did_you_mean.h"
#include "commands/terminal/escape.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr size_t kNamedObjects = 3;

std::string objects_text(const std::vector<std::string>& objects) {
  std::string text;
  for (size_t i = 0; i < objects.size() && i < kNamedObjects; ++i) text += (i == 0 ? "" : ", ") + objects[i];
  if (objects.size() > kNamedObjects) text += " and " + std::to_string(objects.size() - kNamedObjects) + " more";
  if (objects.size() > 1) text += " (" + std::to_string(objects.size()) + " in all)";
  return on_one_line(text);
}

std::string subject_of(const Finding& finding) {
  return finding.objects.empty() ? finding.rule : objects_text(finding.objects);
}

std::string table(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    std::string severity(severity_name(finding.severity));
    severity.resize(9, ' ');
    text += severity + subject_of(finding) + "\n";
    text += "         " + on_one_line(finding.problem) + "\n";
    if (!finding.remedy.empty()) text += "         -> " + on_one_line(finding.remedy) + "\n";
    if (!finding.consequences.empty()) text += "         It follows:\n";
    for (const Finding& next : finding.consequences)
      text += "         - " + subject_of(next) + ": " + on_one_line(next.problem) + "\n";
  }
  return text;
}

json items_of(const std::vector<Finding>& findings) {
  json items = json::array();
  for (const Finding& finding : findings) {
    json item = {{"severity", severity_name(finding.severity)},
                 {"rule", finding.rule},
                 {"count", finding.objects.size()},
                 {"objects", finding.objects},
                 {"problem", finding.problem},
                 {"remedy", finding.remedy}};
    if (!finding.consequences.empty()) item["consequences"] = items_of(finding.consequences);
    items.push_back(std::move(item));
  }
  return items;
}

json as_json(const std::vector<Finding>& findings) {
  return {{"findings", items_of(findings)}, {"needsAction", needs_action(findings)}};
}

}  // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kBlocker:
      return "Blocker";
    case Severity::kHarm:
      return "Harm";
    case Severity::kChange:
      return "Change";
    case Severity::kUnknown:
      return "Unknown";
    case Severity::kNote:
      break;
  }
  return "Note";
}

std::vector<Finding> sorted_findings(std::vector<Finding> findings) {
  std::map<std::tuple<Severity, std::string, std::string, std::string>, std::vector<std::string>> merged;
  for (Finding& finding : findings) {
    auto& objects = merged[{finding.severity, finding.rule, finding.problem, finding.remedy}];
    objects.insert(objects.end(), finding.objects.begin(), finding.objects.end());
  }
  std::vector<Finding> sorted;
  for (auto& [key, objects] : merged) {
    std::sort(objects.begin(), objects.end());
    objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
    const auto& [severity, rule, problem, remedy] = key;
    sorted.push_back({severity, rule, std::move(objects), problem, remedy});
  }
  return sorted;
}

bool needs_action(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity != Severity::kNote; });
}

Result<FindingFormat> parse_finding_format(std::string_view text) {
  if (text == "table") return FindingFormat::kTable;
  if (text == "json") return FindingFormat::kJson;
  if (text == "yaml") return FindingFormat::kYaml;
  static const std::vector<std::string> kKnown = {"table", "json", "yaml"};
  return fail("there is no output format \"" + std::string(text) + "\"; there are table, json and yaml" +
              did_you_mean(std::string(text), kKnown));
}

std::string print_findings(const std::vector<Finding>& findings, FindingFormat format, std::string_view clean) {
  if (format == FindingFormat::kJson) return as_json(findings).dump(4) + "\n";
  if (format == FindingFormat::kYaml) return write_yaml(as_json(findings));
  std::string text = table(findings);
  if (!needs_action(findings)) text += std::string(clean) + "\n";
  return text;
}

}  // namespace muster::commands
