// `kubectl muster get`, `top`, `tree` and `who`: lists for people, in kubectl's grammar.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "commands/kubectl/list_text.h"

namespace CLI {
class App;
}

namespace muster::commands {

struct GetOptions {
  ClusterFlags cluster{};
  std::string kind{};  // "workloads"
  std::vector<std::string> names{};
  std::string queue{}, cluster_queue{};
  std::string resource{};
  // Filters and order of Workloads; empty: none.
  std::string selector{}, states{}, sort_by{}, search{};
  bool mine = false, finished = false;
  bool all_namespaces = false;
  bool watch = false;
  bool no_headers = false;
  ListFormat format = ListFormat::kTable;
};

void add_get(CLI::App& app, GetOptions& options);
void add_top(CLI::App& app, GetOptions& options);
void add_tree(CLI::App& app, GetOptions& options);
void add_who(CLI::App& app, GetOptions& options);

// Return the exit code: 0 answered, 1 no answer, 2 wrong command line.
int get(const GetOptions& options, std::ostream& out, std::ostream& err);
int top(const GetOptions& options, std::ostream& out, std::ostream& err);
int tree(const GetOptions& options, std::ostream& out, std::ostream& err);
int who(const GetOptions& options, std::ostream& out, std::ostream& err);

// The kinds that `get` takes, by every name that kubectl's users give them.
struct GetKind {
  ListKind list;
  bool namespaced;
  bool jobs;
};
std::optional<GetKind> find_get_kind(std::string_view word);
// The names in the plural, for messages and completion.
const std::vector<std::string>& get_kinds();

}  // namespace muster::commands
