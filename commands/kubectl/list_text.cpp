#include "commands/kubectl/list_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/meta/readable_quantity.h"
#include "api/start_estimate.h"
#include "base/did_you_mean.h"
#include "scheduler/eligibility.h"

namespace muster::commands {
namespace {

using nlohmann::json;

std::string text_at(const json& item, std::initializer_list<std::string_view> path) {
  const std::string_view text = string_at(item, path);
  return text.empty() ? "-" : std::string(text);
}

std::string number_at(const json& item, std::string_view key) {
  const auto number = int_at(item, {key});
  return number ? std::to_string(*number) : "-";
}

std::string joined(const json& texts) {
  std::string all;
  for (const json& text : texts) {
    if (text.is_string()) all += (all.empty() ? "" : ",") + text.get<std::string>();
  }
  return all.empty() ? "-" : all;
}

std::string amounts(const json& map) {
  std::string all;
  for (const auto& [resource, amount] : map.items())
    all += (all.empty() ? "" : ",") + resource + "=" +
           (amount.is_string() ? readable_quantity(resource, amount.get<std::string>()) : "?");
  return all.empty() ? "-" : all;
}

// An amount of a quota.
std::string figure(const json& quota, std::string_view key) {
  return readable_quantity(string_at(quota, {"resource"}), text_at(quota, {key}));
}

std::string job_of(const json& item) {
  std::string kind(string_at(item, {"job", "kind"}));
  if (kind.empty()) return "workload/" + text_at(item, {"name"});
  std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::tolower(c); });
  return kind + "/" + text_at(item, {"job", "name"});
}

// "spot/cpu=6 of 10", for each flavor and resource of which something is used.
// `whole`: the amount of which it is used.
std::string usage_of(const json& quotas, std::string_view whole = "nominal") {
  std::string all;
  for (const json& quota : quotas) {
    const std::string used = text_at(quota, {"used"}), nominal(string_at(quota, {whole}));
    if (used == "0") continue;
    all += (all.empty() ? "" : ",") + text_at(quota, {"flavor"}) + "/" + text_at(quota, {"resource"}) + "=" +
           figure(quota, "used");
    if (!nominal.empty()) all += " of " + readable_quantity(string_at(quota, {"resource"}), nominal);
  }
  return all.empty() ? "-" : all;
}

std::string borrowed_of(const json& quotas) {
  std::string all;
  for (const json& quota : quotas) {
    const std::string borrowed = text_at(quota, {"borrowed"});
    if (borrowed == "0" || borrowed == "-") continue;
    all += (all.empty() ? "" : ",") + text_at(quota, {"flavor"}) + "/" + text_at(quota, {"resource"}) + "=" +
           figure(quota, "borrowed");
  }
  return all.empty() ? "-" : all;
}

std::string words_at(const json& item) {
  return text_at(item, {"reasonInWords"});
}

// Position in the LocalQueue and in the ClusterQueue, as people count.
std::string position_of(const json& item, std::string_view key) {
  const auto position = int_at(item, {key});
  return position ? std::to_string(*position + 1) : "-";
}

std::string start_of(const json& item, Timestamp now) {
  const auto estimate = read_start_estimate(object_at(item, {"estimatedStart"}));
  return estimate ? short_text(*estimate, now) : "-";
}

using Row = TableRow (*)(const json& item, const ListStyle& style, Timestamp now);

// "2/5": in the LocalQueue and in the ClusterQueue.
std::string both_positions_of(const json& item) {
  const std::string local = position_of(item, "positionInLocalQueue");
  return local == "-" ? local : local + "/" + position_of(item, "positionInClusterQueue");
}

// "spot:cpu=6,memory=1Gi".
std::string assigned_of(const json& item) {
  const std::string flavors = joined(array_at(item, {"flavors"}));
  return flavors == "-" ? flavors : flavors + ":" + amounts(object_at(item, {"usage"}));
}

TableRow workload_row(const json& item, const ListStyle& style, Timestamp now) {
  const std::string name = style.jobs ? job_of(item) : text_at(item, {"name"}), queue = text_at(item, {"localQueue"}),
                    state = text_at(item, {"state"}), since = age(item.value("since", json()), now);
  if (style.format != ListFormat::kWide)
    return {name,
            queue,
            state,
            position_of(item, "positionInLocalQueue"),
            position_of(item, "positionInClusterQueue"),
            words_at(item),
            since,
            joined(array_at(item, {"flavors"}))};
  return {name,
          queue,
          text_at(item, {"clusterQueue"}),
          state,
          both_positions_of(item),
          words_at(item),
          since,
          number_at(item, "priority"),
          assigned_of(item),
          start_of(item, now),
          text_at(item, {"submitter"})};
}

TableRow local_queue_row(const json& item, const ListStyle& style, Timestamp now) {
  TableRow row = {text_at(item, {"name"}),
                  text_at(item, {"clusterQueue"}),
                  text_at(item, {"state"}),
                  number_at(item, "pending"),
                  number_at(item, "admitted"),
                  age(item.value("oldestPendingSince", json()), now),
                  usage_of(array_at(item, {"usage"}))};
  if (style.format != ListFormat::kWide) return row;
  row.push_back(number_at(item, "reserving"));
  row.push_back(words_at(item));
  return row;
}

TableRow cluster_queue_row(const json& item, const ListStyle& style, Timestamp now) {
  const json quotas = array_at(item, {"quotas"});
  TableRow row = {
      text_at(item, {"name"}),    text_at(item, {"cohort"}),    text_at(item, {"state"}),
      number_at(item, "pending"), number_at(item, "reserving"), age(item.value("oldestPendingSince", json()), now),
      usage_of(quotas),           borrowed_of(quotas)};
  if (style.format != ListFormat::kWide) return row;
  row.push_back(text_at(item, {"strategy"}));
  row.push_back(words_at(item));
  return row;
}

TableRow cohort_row(const json& item, const ListStyle& style, Timestamp) {
  TableRow row = {text_at(item, {"name"}), text_at(item, {"parent"}), joined(array_at(item, {"clusterQueues"})),
                  usage_of(array_at(item, {"quotas"}), "max")};
  if (style.format == ListFormat::kWide) {
    std::string own;
    for (const json& quota : array_at(item, {"quotas"}))
      own += (own.empty() ? "" : ",") + text_at(quota, {"flavor"}) + "/" + text_at(quota, {"resource"}) + "=" +
             text_at(quota, {"nominal"});
    row.push_back(own.empty() ? "-" : own);
  }
  return row;
}

TableRow holder_row(const json& item, const ListStyle& style, Timestamp now) {
  TableRow row = {text_at(item, {"namespace"}),
                  job_of(item),
                  figure(item, "amount"),
                  text_at(item, {"flavor"}),
                  age(item.value("since", json()), now),
                  text_at(item, {"untilAtMost"}),
                  text_at(item, {"clusterQueue"})};
  if (style.format != ListFormat::kWide) return row;
  row.push_back(text_at(item, {"state"}));
  row.push_back(number_at(item, "priority"));
  row.push_back(text_at(item, {"name"}));
  return row;
}

struct Table {
  std::string_view kind;
  std::string_view resource;  // for -o name
  bool namespaced;
  TableRow header;
  TableRow wide;  // more columns; of Workloads, whose table would be too wide, the whole header
  Row row;
};

const Table* table_of(std::string_view kind) {
  static const Table kTables[] = {
      {"WorkloadSummaryList",
       "workload.kueue.x-k8s.io",
       true,
       {"NAME", "QUEUE", "STATE", "POSITION", "IN CLUSTERQUEUE", "REASON", "SINCE", "FLAVORS"},
       {"NAME", "QUEUE", "CLUSTERQUEUE", "STATE", "POS", "REASON", "SINCE", "PRIO", "USAGE", "ETA", "SUBMITTER"},
       workload_row},
      {"LocalQueueSummaryList",
       "localqueue.kueue.x-k8s.io",
       true,
       {"NAME", "CLUSTERQUEUE", "STATE", "PENDING", "ADMITTED", "LONGEST WAIT", "USAGE"},
       {"RESERVING", "REASON"},
       local_queue_row},
      {"ClusterQueueSummaryList",
       "clusterqueue.kueue.x-k8s.io",
       false,
       {"NAME", "COHORT", "STATE", "PENDING", "RESERVING", "LONGEST WAIT", "USAGE", "BORROWED"},
       {"STRATEGY", "REASON"},
       cluster_queue_row},
      {"CohortSummaryList",
       "cohort.kueue.x-k8s.io",
       false,
       {"NAME", "PARENT", "CLUSTERQUEUES", "USAGE"},
       {"OWN QUOTA"},
       cohort_row},
      {"HolderSummaryList",
       "workload.kueue.x-k8s.io",
       false,
       {"NAMESPACE", "JOB", "AMOUNT", "FLAVOR", "SINCE", "LATEST END", "CLUSTERQUEUE"},
       {"STATE", "PRIORITY", "WORKLOAD"},
       holder_row},
  };
  for (const Table& table : kTables) {
    if (table.kind == kind) return &table;
  }
  return nullptr;
}

std::string hidden_text(const json& list) {
  const auto count = int_at(list, {"metadata", "hidden", "count"}).value_or(0);
  if (count == 0) return "";
  return std::to_string(count) + " more that you cannot list hold " +
         readable_quantity(string_at(list, {"metadata", "resource"}), text_at(list, {"metadata", "hidden", "amount"})) +
         " of " + text_at(list, {"metadata", "resource"}) + "\n";
}

}  // namespace

Result<ListFormat> parse_list_format(std::string_view text) {
  static const std::map<std::string, ListFormat, std::less<>> kFormats = {{"wide", ListFormat::kWide},
                                                                          {"json", ListFormat::kJson},
                                                                          {"yaml", ListFormat::kYaml},
                                                                          {"name", ListFormat::kName}};
  if (const auto found = kFormats.find(text); found != kFormats.end()) return found->second;
  static const std::vector<std::string> kNames = {"json", "name", "wide", "yaml"};
  return fail("there is no output format \"" + std::string(text) + "\"; there are wide, json, yaml and name" +
              did_you_mean(text, kNames));
}

std::string age(const json& time, Timestamp now) {
  const auto since = parse_time(time);
  if (!since || since->is_zero()) return "-";
  const int64_t seconds = std::max<int64_t>(0, now.seconds - since->seconds);
  const auto unit = [](int64_t amount, const char* name) { return std::to_string(amount) + name; };
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86'400;
  if (seconds < 2 * kMinute) return unit(seconds, "s");
  if (seconds < 10 * kMinute) return unit(seconds / kMinute, "m") + unit(seconds % kMinute, "s");
  if (seconds < 3 * kHour) return unit(seconds / kMinute, "m");
  if (seconds < 8 * kHour) return unit(seconds / kHour, "h") + unit(seconds % kHour / kMinute, "m");
  if (seconds < 2 * kDay) return unit(seconds / kHour, "h");
  return unit(seconds / kDay, "d");
}

std::vector<TableRow> list_rows(const json& list, const ListStyle& style, Timestamp now) {
  const Table* table = table_of(string_at(list, {"kind"}));
  if (table == nullptr) return {};
  const bool wide = style.format == ListFormat::kWide;
  std::vector<TableRow> rows = {wide && table->row == workload_row ? table->wide : table->header};
  if (wide && table->row != workload_row) rows[0].insert(rows[0].end(), table->wide.begin(), table->wide.end());
  if (style.jobs) rows[0][0] = "JOB";
  const std::string resource(string_at(list, {"metadata", "resource"}));
  for (const json& item : array_at(list, {"items"})) {
    rows.push_back(table->row(item, style, now));
    if (table->row == holder_row && !resource.empty()) rows.back()[2].insert(0, resource + "=");
  }
  if (!style.namespaces || !table->namespaced) return rows;
  rows[0].insert(rows[0].begin(), "NAMESPACE");
  size_t row = 1;
  for (const json& item : array_at(list, {"items"})) {
    rows[row].insert(rows[row].begin(), text_at(item, {"namespace"}));
    ++row;
  }
  return rows;
}

std::string list_text(const json& list, const ListStyle& style, Timestamp now) {
  if (style.format == ListFormat::kJson) return list.dump(4) + "\n";
  if (style.format == ListFormat::kYaml) return write_yaml(list);
  const Table* table = table_of(string_at(list, {"kind"}));
  if (table == nullptr) return "";
  if (style.format == ListFormat::kName) {
    std::string names;
    for (const json& item : array_at(list, {"items"}))
      names += std::string(table->resource) + "/" + text_at(item, {"name"}) + "\n";
    return names;
  }
  return text_table(list_rows(list, style, now)) + hidden_text(list);
}

std::vector<TableRow> changed_rows(const std::vector<TableRow>& before, const std::vector<TableRow>& after) {
  const std::set<TableRow> known(before.begin(), before.end());
  std::vector<TableRow> changed;
  for (const TableRow& row : after) {
    if (!known.contains(row)) changed.push_back(row);
  }
  return changed;
}

}  // namespace muster::commands
