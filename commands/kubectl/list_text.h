// Lists (explain/lists) as kubectl prints them: tables, names, JSON, YAML, trees. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/time.h"
#include "base/result.h"
#include "commands/kubectl/lists.h"
#include "commands/terminal/text_table.h"

namespace muster::commands {

enum class ListFormat { kTable, kWide, kJson, kYaml, kName };
Result<ListFormat> parse_list_format(std::string_view text);

struct ListStyle {
  ListFormat format = ListFormat::kTable;
  bool namespaces = false;  // with a column of namespaces
  bool jobs = false;        // Workloads are shown as the jobs that they belong to
};

// "5m12s", "3h4m", "2d5h", as kubectl's AGE; "-" for a time that is not there.
std::string age(const nlohmann::json& time, Timestamp now);
// The rows of a table; the first is the header.
std::vector<TableRow> list_rows(const nlohmann::json& list, const ListStyle& style, Timestamp now);
// The whole list in its format.
std::string list_text(const nlohmann::json& list, const ListStyle& style, Timestamp now);
// Cohorts with their ClusterQueues below them, and what each has of every flavor and resource. `resource`: of this
// one only; empty: of all.
std::string tree_text(const nlohmann::json& cohorts, const nlohmann::json& cluster_queues, std::string_view resource);
// That no list of `lists` has quota for the resource, with what there is; empty: one has.
std::string no_such_resource(const std::vector<nlohmann::json>& lists, const std::string& resource);
// Rows of `after` that are new or not as in `before`: what a watch prints. Rows are one Workload by their first
// `key_columns` cells.
std::vector<TableRow> changed_rows(const std::vector<TableRow>& before, const std::vector<TableRow>& after);

}  // namespace muster::commands
