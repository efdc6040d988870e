#include "api/explained.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/kinds/kind_description.h"
#include "api/meta/object_meta.h"
#include "api/meta/resource_type.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kApiVersion = "explain.muster.batch/v1";
constexpr std::string_view kKind = "Explanation";

json to_json(const ExplainedFlavor& row) {
  return {{"podSet", row.pod_set}, {"resource", row.resource}, {"flavor", row.flavor}, {"requested", row.requested},
          {"free", row.free},      {"nominal", row.nominal},   {"most", row.most},     {"verdict", row.verdict}};
}

ExplainedFlavor read_flavor(const json& row) {
  const auto text = [&](std::string_view key) { return std::string(string_at(row, {key})); };
  return {.pod_set = text("podSet"),
          .resource = text("resource"),
          .flavor = text("flavor"),
          .requested = text("requested"),
          .free = text("free"),
          .nominal = text("nominal"),
          .most = text("most"),
          .verdict = text("verdict")};
}

json to_json(const ExplainedOthers& others) {
  json names = json::array();
  for (const auto& other : others.names) names.push_back({{"namespace", other.ns}, {"name", other.name}});
  return {{"role", others.role}, {"count", others.count}, {"names", std::move(names)}};
}

ExplainedOthers read_others(const json& object) {
  ExplainedOthers others{
      .role = std::string(string_at(object, {"role"})), .count = int_at(object, {"count"}).value_or(0), .names = {}};
  for (const json& name : array_at(object, {"names"}))
    others.names.push_back({std::string(string_at(name, {"namespace"})), std::string(string_at(name, {"name"}))});
  return others;
}

json to_json(const ExplainedTries& tries) {
  json made = {{"failed", tries.failed}, {"nextAt", time_to_json(tries.next_at)}};
  if (tries.limit) made["limit"] = *tries.limit;
  return made;
}

ExplainedTries read_tries(const json& object) {
  ExplainedTries tries{
      .failed = int32_at(object, {"failed"}), .limit = std::nullopt, .next_at = time_at(object, {"nextAt"})};
  if (int_at(object, {"limit"})) tries.limit = int32_at(object, {"limit"});
  return tries;
}

json to_json(const ExplainedMoment& moment) {
  json made = {{"time", time_to_json(moment.time)}, {"what", moment.what}};
  if (moment.by) made["by"] = {{"namespace", moment.by->ns}, {"name", moment.by->name}};
  if (moment.from_conditions) made["fromConditions"] = true;
  return made;
}

ExplainedMoment read_moment(const json& object) {
  ExplainedMoment moment{.time = time_at(object, {"time"}), .what = std::string(string_at(object, {"what"}))};
  if (find_path(object, {"by"}) != nullptr)
    moment.by = {std::string(string_at(object, {"by", "namespace"})), std::string(string_at(object, {"by", "name"}))};
  moment.from_conditions = bool_at(object, {"fromConditions"});
  return moment;
}

template <class Items, class ToJson>
json to_array(const Items& items, ToJson convert) {
  json list = json::array();
  for (const auto& item : items) list.push_back(convert(item));
  return list;
}

}  // namespace

void ExplainReply::say(std::string_view token, std::string sentence) {
  reason = token;
  headline = std::move(sentence);
}

void ExplainReply::add_fact(std::string_view fact, std::string value) {
  if (!value.empty()) facts.push_back({std::string(fact), std::move(value)});
}

json to_json(const ExplainReply& explained) {
  json made = {{"apiVersion", kApiVersion},
               {"kind", kKind},
               {"object", {{"kind", explained.kind}, {"namespace", explained.ns}, {"name", explained.name}}},
               {"found", explained.found},
               {"at", time_to_json(explained.at)},
               {"reason", explained.reason},
               {"headline", explained.headline},
               {"because", explained.because},
               {"wouldChange", explained.change},
               {"notes", explained.notes}};
  made["facts"] = to_array(explained.facts, [](const ExplainedFact& fact) {
    return json{{"name", fact.name}, {"value", fact.value}};
  });
  made["flavors"] = to_array(explained.flavors, [](const ExplainedFlavor& row) { return to_json(row); });
  made["others"] = to_array(explained.others, [](const ExplainedOthers& others) { return to_json(others); });
  made["timeline"] = to_array(explained.timeline, [](const ExplainedMoment& moment) { return to_json(moment); });
  if (explained.tries) made["tries"] = to_json(*explained.tries);
  if (!explained.alarm.empty()) made["alarm"] = explained.alarm;
  return made;
}

Result<ExplainReply> read_explained(const json& object) {
  if (string_at(object, {"kind"}) != kKind || string_at(object, {"apiVersion"}) != kApiVersion)
    return fail("the answer is no " + std::string(kKind) + " of " + std::string(kApiVersion) +
                "; is it muster that listens there, and of a version near this one?");
  ExplainReply read;
  read.kind = string_at(object, {"object", "kind"});
  read.ns = string_at(object, {"object", "namespace"});
  read.name = string_at(object, {"object", "name"});
  read.found = bool_at(object, {"found"});
  read.at = time_at(object, {"at"});
  read.alarm = string_at(object, {"alarm"});
  read.reason = string_at(object, {"reason"});
  read.headline = string_at(object, {"headline"});
  read.because = strings_at(object, {"because"});
  read.change = strings_at(object, {"wouldChange"});
  read.notes = strings_at(object, {"notes"});
  for (const json& fact : array_at(object, {"facts"}))
    read.facts.push_back({std::string(string_at(fact, {"name"})), std::string(string_at(fact, {"value"}))});
  for (const json& row : array_at(object, {"flavors"})) read.flavors.push_back(read_flavor(row));
  for (const json& others : array_at(object, {"others"})) read.others.push_back(read_others(others));
  for (const json& moment : array_at(object, {"timeline"})) read.timeline.push_back(read_moment(moment));
  if (find_path(object, {"tries"}) != nullptr) read.tries = read_tries(object_at(object, {"tries"}));
  return read;
}

std::vector<std::string> namespaces_named(const ExplainReply& explained) {
  std::set<std::string> namespaces;
  for (const ExplainedOthers& others : explained.others) {
    for (const auto& other : others.names) namespaces.insert(other.ns);
  }
  for (const ExplainedMoment& moment : explained.timeline) {
    if (moment.by) namespaces.insert(moment.by->ns);
  }
  return {namespaces.begin(), namespaces.end()};
}

void hide_names(ExplainReply& explained, const std::function<bool(const std::string& ns)>& may_know) {
  std::set<std::string> hidden;
  for (const std::string& ns : namespaces_named(explained)) {
    if (!may_know(ns)) hidden.insert(ns);
  }
  for (ExplainedOthers& others : explained.others)
    std::erase_if(others.names, [&](const ExplainedOthers::Name& other) { return hidden.contains(other.ns); });
  for (ExplainedMoment& moment : explained.timeline) {
    if (moment.by && hidden.contains(moment.by->ns)) moment.by.reset();
  }
}

const ResourceType* explainable_type(std::string_view word) {
  if (word == "job" || word == "jobs") return &kJobs;
  if (word == "jobset" || word == "jobsets") return &kJobSets;
  if (word == "workload" || word == "workloads") return &kWorkloads;
  for (const KindDescriptionPtr& kind : described_kinds()) {
    if (word == kind->kind || word == kind->plural || word == kind->singular()) return &kind->type();
  }
  return nullptr;
}

}  // namespace muster
