// What the SARIF 2.1.0 specification (OASIS, 27 March 2020) requires of the parts of a log that
// `muster review` writes: required properties, closed sets of values, and no property that it does
// not define. Section numbers are the specification's.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace muster::test {

class SarifCheck {
 public:
  // What is wrong, each with its place; empty: nothing.
  static std::vector<std::string> problems(const nlohmann::json& log) {
    SarifCheck check;
    check.log(log);
    return check.problems_;
  }

 private:
  using json = nlohmann::json;
  using Names = std::set<std::string>;

  void say(const std::string& at, const std::string& what) { problems_.push_back(at + ": " + what); }

  // An object with these required properties and no others than those and `optional`.
  bool object(const json& value, const std::string& at, const Names& required, const Names& optional) {
    if (!value.is_object()) return say(at, "is no object"), false;
    for (const std::string& name : required) {
      if (!value.contains(name)) say(at, "lacks " + name);
    }
    for (const auto& [name, child] : value.items()) {
      if (!required.contains(name) && !optional.contains(name)) say(at, "has " + name);
    }
    return true;
  }
  void text(const json& value, const std::string& at, const std::string& name) {
    if (value.contains(name) && (!value[name].is_string() || value[name].get_ref<const std::string&>().empty()))
      say(at, name + " is no text");
  }
  void one_of(const json& value, const std::string& at, const std::string& name, const Names& words) {
    if (value.contains(name) && (!value[name].is_string() || !words.contains(value[name].get<std::string>())))
      say(at, name + " is " + value[name].dump());
  }
  template <class Each>
  void list(const json& value, const std::string& at, const std::string& name, Each each) {
    if (!value.contains(name)) return;
    if (!value[name].is_array()) return say(at, name + " is no array");
    size_t i = 0;
    for (const json& item : value[name]) each(item, at + "." + name + "[" + std::to_string(i++) + "]");
  }

  // 3.13: version, runs.
  void log(const json& value) {
    if (!object(value, "log", {"version", "runs"}, {"$schema", "inlineExternalProperties", "properties"})) return;
    one_of(value, "log", "version", {"2.1.0"});
    text(value, "log", "$schema");
    list(value, "log", "runs", [&](const json& item, const std::string& at) { run(item, at); });
  }
  // 3.14: tool. The results of a run that came to its end are an array (3.14.23).
  void run(const json& value, const std::string& at) {
    if (!object(value, at, {"tool", "results"}, {"columnKind", "invocations", "artifacts", "automationDetails"}))
      return;
    one_of(value, at, "columnKind", {"utf16CodeUnits", "unicodeCodePoints"});
    rules_.clear();
    if (value.contains("tool")) tool(value["tool"], at + ".tool");
    list(value, at, "invocations", [&](const json& item, const std::string& its) { invocation(item, its); });
    list(value, at, "results", [&](const json& item, const std::string& its) { result(item, its); });
  }
  // 3.18.2 and 3.19.8: a driver with a name. 3.19.23: rules are distinct. 3.49.3: each has an id.
  void tool(const json& value, const std::string& at) {
    if (!object(value, at, {"driver"}, {"extensions"}) || !value.contains("driver")) return;
    const json& driver = value["driver"];
    if (!object(driver, at + ".driver", {"name"}, {"version", "semanticVersion", "informationUri", "rules"})) return;
    text(driver, at, "name");
    text(driver, at, "version");
    list(driver, at, "rules", [&](const json& rule, const std::string& its) {
      if (!object(rule, its, {"id"}, {"name", "shortDescription", "fullDescription", "helpUri"})) return;
      text(rule, its, "id");
      if (rule.contains("id") && rule["id"].is_string() && !rules_.insert(rule["id"].get<std::string>()).second)
        say(its, "is there twice");
    });
  }
  // 3.20.14: executionSuccessful. 3.58.5: a notification has a message.
  void invocation(const json& value, const std::string& at) {
    if (!object(value, at, {"executionSuccessful"}, {"toolExecutionNotifications", "exitCode"})) return;
    if (value.contains("executionSuccessful") && !value["executionSuccessful"].is_boolean())
      say(at, "executionSuccessful is no boolean");
    list(value, at, "toolExecutionNotifications", [&](const json& note, const std::string& its) {
      if (!object(note, its, {"message"}, {"level", "locations"})) return;
      one_of(note, its, "level", kLevels());
      if (note.contains("message")) message(note["message"], its);
    });
  }
  // 3.27.11: message. 3.27.5: the rule's id, which here is one of the driver's. 3.27.10: level.
  void result(const json& value, const std::string& at) {
    if (!object(value, at, {"message"}, {"ruleId", "ruleIndex", "level", "kind", "locations"})) return;
    one_of(value, at, "level", kLevels());
    text(value, at, "ruleId");
    if (value.contains("ruleId") && value["ruleId"].is_string() && !rules_.contains(value["ruleId"].get<std::string>()))
      say(at, "names a rule that the driver lacks");
    if (value.contains("message")) message(value["message"], at);
    list(value, at, "locations", [&](const json& item, const std::string& its) { location(item, its); });
  }
  // 3.11.8: text, or an id.
  void message(const json& value, const std::string& at) {
    if (object(value, at + ".message", {"text"}, {"markdown", "arguments"})) text(value, at + ".message", "text");
  }
  // 3.28, 3.29.2 (an artifact), 3.4.3 (its URI), 3.30.5 (lines from 1), 3.33 (logical locations).
  void location(const json& value, const std::string& at) {
    if (!object(value, at, {}, {"physicalLocation", "logicalLocations", "id", "message"})) return;
    list(value, at, "logicalLocations", [&](const json& item, const std::string& its) {
      if (!object(item, its, {}, {"name", "fullyQualifiedName", "kind", "parentIndex"})) return;
      for (const char* name : {"name", "fullyQualifiedName", "kind"}) text(item, its, name);
    });
    if (!value.contains("physicalLocation")) return;
    const json& place = value["physicalLocation"];
    if (!object(place, at, {"artifactLocation"}, {"region", "contextRegion"})) return;
    if (place.contains("artifactLocation") && object(place["artifactLocation"], at, {"uri"}, {"uriBaseId", "index"}))
      uri(place["artifactLocation"], at);
    if (!place.contains("region") || !object(place["region"], at, {"startLine"}, {"startColumn", "endLine"})) return;
    const json& line = place["region"]["startLine"];
    if (!line.is_number_integer() || line < 1) say(at, "startLine is " + line.dump());
  }
  // RFC 3986: printable ASCII without spaces and without what must be written as %NN.
  void uri(const json& value, const std::string& at) {
    text(value, at, "uri");
    if (!value.contains("uri") || !value["uri"].is_string()) return;
    for (const char c : value["uri"].get_ref<const std::string&>()) {
      if (c <= 0x20 || c >= 0x7f || std::string_view("\"<>\\^`{|}").find(c) != std::string_view::npos)
        return say(at, "the URI " + value["uri"].dump() + " has a character that has to be escaped");
    }
  }

  static const Names& kLevels() {
    static const Names levels = {"none", "note", "warning", "error"};
    return levels;
  }

  std::vector<std::string> problems_;
  Names rules_;
};

}  // namespace muster::test
