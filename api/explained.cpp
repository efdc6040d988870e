#include "api/explained.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"

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
  for (const auto& other : others.names) {
    json name = {{"namespace", other.ns}, {"name", other.name}};
    if (!other.job.empty()) name["job"] = other.job;
    if (!other.amount.empty()) name["amount"] = other.amount;
    names.push_back(std::move(name));
  }
  json made = {{"role", others.role}, {"count", others.count}, {"names", std::move(names)}};
  if (others.role != kHolderRole) return made;
  made["resource"] = others.resource;
  made["flavor"] = others.flavor;
  made["amount"] = others.amount;
  made["borrowed"] = others.borrowed;
  if (!others.cluster_queue.empty()) made["clusterQueue"] = others.cluster_queue;
  made["sentence"] = holders_sentence(others);
  return made;
}

ExplainedOthers read_others(const json& object) {
  ExplainedOthers others{
      .role = std::string(string_at(object, {"role"})), .count = int_at(object, {"count"}).value_or(0), .names = {}};
  for (const json& name : array_at(object, {"names"}))
    others.names.push_back({.ns = std::string(string_at(name, {"namespace"})),
                            .name = std::string(string_at(name, {"name"})),
                            .job = std::string(string_at(name, {"job"})),
                            .amount = std::string(string_at(name, {"amount"}))});
  others.cluster_queue = string_at(object, {"clusterQueue"});
  others.resource = string_at(object, {"resource"});
  others.flavor = string_at(object, {"flavor"});
  others.amount = string_at(object, {"amount"});
  others.borrowed = bool_at(object, {"borrowed"});
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

json to_json(const ExplainedAction& action) {
  json made = {{"by", action.by}, {"what", action.what}};
  if (!action.command.empty()) made["command"] = action.command;
  return made;
}

ExplainedAction read_action(const json& object) {
  return {.by = std::string(string_at(object, {"by"})),
          .what = std::string(string_at(object, {"what"})),
          .command = std::string(string_at(object, {"command"}))};
}

json to_json(const ExplainedTerms& terms) {
  json made = {{"position", terms.position},
               {"namespace", terms.ns},
               {"name", terms.name},
               {"clusterQueue", terms.cluster_queue},
               {"sticky", terms.sticky},
               {"priority", terms.priority},
               {"priorityClass", terms.priority_class},
               {"time", time_to_json(terms.time)},
               {"timeOf", terms.time_of},
               {"decidedBy", terms.decided_by}};
  if (terms.itself) made["itself"] = true;
  return made;
}

json head_to_json(const ExplainedTerms& terms) {
  json made = to_json(terms);
  made["claim"] = terms.claim;
  made["blocked"] = terms.blocked;
  if (terms.level) made["level"] = *terms.level;
  made["borrows"] = terms.borrows;
  made["share"] = terms.share;
  made["weight"] = terms.weight;
  return made;
}

double number_at(const json& object, std::initializer_list<std::string_view> path, double otherwise) {
  const json* found = find_path(object, path);
  return found != nullptr && found->is_number() ? found->get<double>() : otherwise;
}

ExplainedTerms read_terms(const json& object) {
  ExplainedTerms terms{.position = int_at(object, {"position"}).value_or(0),
                       .ns = std::string(string_at(object, {"namespace"})),
                       .name = std::string(string_at(object, {"name"})),
                       .cluster_queue = std::string(string_at(object, {"clusterQueue"})),
                       .itself = bool_at(object, {"itself"}),
                       .sticky = bool_at(object, {"sticky"}),
                       .priority = int32_at(object, {"priority"}),
                       .priority_class = std::string(string_at(object, {"priorityClass"})),
                       .time = time_at(object, {"time"}),
                       .time_of = std::string(string_at(object, {"timeOf"})),
                       .decided_by = std::string(string_at(object, {"decidedBy"}))};
  terms.claim = bool_at(object, {"claim"});
  terms.blocked = bool_at(object, {"blocked"});
  terms.level = int_at(object, {"level"});
  terms.borrows = bool_at(object, {"borrows"});
  terms.share = number_at(object, {"share"}, 0);
  terms.weight = number_at(object, {"weight"}, 1);
  return terms;
}

template <class Items, class ToJson>
json to_array(const Items& items, ToJson convert) {
  json list = json::array();
  for (const auto& item : items) list.push_back(convert(item));
  return list;
}

json to_json(const ExplainedOrder& order) {
  json made = {{"clusterQueue", order.cluster_queue},
               {"position", order.position},
               {"pending", order.pending},
               {"fairSharing", order.fair},
               {"headsLeftOut", order.heads_left_out}};
  made["ahead"] = to_array(order.ahead, [](const ExplainedOrder::Ahead& ahead) {
    return json{{"term", ahead.term}, {"count", ahead.count}};
  });
  made["queue"] = to_array(order.queue, [](const ExplainedTerms& terms) { return to_json(terms); });
  made["heads"] = to_array(order.heads, [](const ExplainedTerms& terms) { return head_to_json(terms); });
  return made;
}

ExplainedOrder read_order(const json& object) {
  ExplainedOrder order{.cluster_queue = std::string(string_at(object, {"clusterQueue"})),
                       .position = int_at(object, {"position"}).value_or(0),
                       .pending = int_at(object, {"pending"}).value_or(0),
                       .ahead = {},
                       .fair = bool_at(object, {"fairSharing"}),
                       .queue = {},
                       .heads = {},
                       .heads_left_out = int_at(object, {"headsLeftOut"}).value_or(0)};
  for (const json& ahead : array_at(object, {"ahead"}))
    order.ahead.push_back({std::string(string_at(ahead, {"term"})), int_at(ahead, {"count"}).value_or(0)});
  for (const json& terms : array_at(object, {"queue"})) order.queue.push_back(read_terms(terms));
  for (const json& terms : array_at(object, {"heads"})) order.heads.push_back(read_terms(terms));
  return order;
}

template <class Order, class Visit>
void for_each_terms(Order& order, Visit visit) {
  if (!order) return;
  for (auto& terms : order->queue) visit(terms);
  for (auto& terms : order->heads) visit(terms);
}

}  // namespace

void ExplainReply::say(ExplainReason why, std::string sentence, std::string_view ending) {
  reason = std::string(to_text(why)).append(ending);
  headline = std::move(sentence);
}

void ExplainReply::add_fact(std::string_view fact, std::string value) {
  if (!value.empty()) facts.push_back({std::string(fact), std::move(value)});
}

std::string ExplainedAction::sentence() const {
  const std::string who = by == kByAdministrator ? " (" + by + ")" : "";
  return command.empty() ? what + who + "." : what + who + ": " + command;
}

void ExplainReply::starts_when(std::string sentence) {
  change.push_back(sentence);
  starts.push_back(std::move(sentence));
}

void ExplainReply::can(ExplainedAction action) {
  change.push_back(action.sentence());
  actions.push_back(std::move(action));
}

std::vector<std::string> ExplainReply::other_changes() const {
  std::set<std::string> known(starts.begin(), starts.end());
  for (const ExplainedAction& action : actions) known.insert(action.sentence());
  std::vector<std::string> others = change;
  std::erase_if(others, [&](const std::string& sentence) { return known.contains(sentence); });
  return others;
}

void ExplainReply::forget_changes() {
  starts.clear();
  actions.clear();
  change.clear();
}

std::string holders_sentence(const ExplainedOthers& holders) {
  const std::string queue =
      holders.cluster_queue.empty() ? "Another ClusterQueue" : "ClusterQueue " + holders.cluster_queue;
  std::string names;
  for (const auto& name : holders.names) {
    names += names.empty() ? "" : ", ";
    names += (name.job.empty() ? name.ns + "/" + name.name : name.job) + " " + name.amount;
  }
  const int64_t rest = holders.count - static_cast<int64_t>(holders.names.size());
  if (rest > 0)
    names += (names.empty() ? "" : " and ") + std::to_string(rest) + " more Workload" + (rest == 1 ? "" : "s");
  return queue + (holders.borrowed ? " borrows " : " uses ") + holders.amount + " of " + holders.resource +
         " in flavor " + holders.flavor + (names.empty() ? "." : " (" + names + ").");
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
               {"starts", explained.starts},
               {"notes", explained.notes}};
  made["actions"] = to_array(explained.actions, [](const ExplainedAction& action) { return to_json(action); });
  made["facts"] = to_array(explained.facts, [](const ExplainedFact& fact) {
    return json{{"name", fact.name}, {"value", fact.value}};
  });
  made["flavors"] = to_array(explained.flavors, [](const ExplainedFlavor& row) { return to_json(row); });
  made["others"] = to_array(explained.others, [](const ExplainedOthers& others) { return to_json(others); });
  made["timeline"] = to_array(explained.timeline, [](const ExplainedMoment& moment) { return to_json(moment); });
  if (explained.tries) made["tries"] = to_json(*explained.tries);
  if (!explained.alarm.empty()) made["alarm"] = explained.alarm;
  if (explained.order) made["order"] = to_json(*explained.order);
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
  read.starts = strings_at(object, {"starts"});
  for (const json& action : array_at(object, {"actions"})) read.actions.push_back(read_action(action));
  read.notes = strings_at(object, {"notes"});
  for (const json& fact : array_at(object, {"facts"}))
    read.facts.push_back({std::string(string_at(fact, {"name"})), std::string(string_at(fact, {"value"}))});
  for (const json& row : array_at(object, {"flavors"})) read.flavors.push_back(read_flavor(row));
  for (const json& others : array_at(object, {"others"})) read.others.push_back(read_others(others));
  for (const json& moment : array_at(object, {"timeline"})) read.timeline.push_back(read_moment(moment));
  if (find_path(object, {"order"}) != nullptr) read.order = read_order(object_at(object, {"order"}));
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
  for_each_terms(explained.order, [&](const ExplainedTerms& terms) {
    if (!terms.itself && !terms.ns.empty()) namespaces.insert(terms.ns);
  });
  return {namespaces.begin(), namespaces.end()};
}

namespace {

void hide_names(ExplainedOthers& others, const std::set<std::string>& hidden) {
  const bool had_names = !others.names.empty();
  std::erase_if(others.names, [&](const ExplainedOthers::Name& other) { return hidden.contains(other.ns); });
  if (had_names && others.names.empty() && others.borrowed) others.cluster_queue.clear();
}

}  // namespace

void hide_names(ExplainReply& explained, const std::function<bool(const std::string& ns)>& may_know) {
  std::set<std::string> hidden;
  for (const std::string& ns : namespaces_named(explained)) {
    if (!may_know(ns)) hidden.insert(ns);
  }
  for (ExplainedOthers& others : explained.others) hide_names(others, hidden);
  for (ExplainedMoment& moment : explained.timeline) {
    if (moment.by && hidden.contains(moment.by->ns)) moment.by.reset();
  }
  // Positions and numbers stay: they are the answer.
  for_each_terms(explained.order, [&](ExplainedTerms& terms) {
    if (terms.itself || !hidden.contains(terms.ns)) return;
    for (std::string* name : {&terms.ns, &terms.name, &terms.cluster_queue, &terms.priority_class}) name->clear();
  });
}

void hide_suggestions(ExplainReply& explained, const std::function<bool(const ResourceType& type)>& may_list) {
  std::map<KindId, bool> known;
  std::erase_if(explained.actions, [&](const ExplainedAction& action) {
    if (action.suggests == nullptr) return false;
    auto may = known.find(action.suggests->id());
    if (may == known.end()) may = known.emplace(action.suggests->id(), may_list(*action.suggests)).first;
    if (!may->second) std::erase(explained.change, action.sentence());
    return !may->second;
  });
}

}  // namespace muster
