// `muster explain job NAME`, `job/NAME` or `NAME`, of any kind of jobs/naming/named_kind.h: why it does not run, or
// what else it does.
//
// muster itself is asked, through the API server's service proxy and with a short-lived token
// that is for muster alone (explain_token.h); the user's own credentials are never shown to it.
// Where that cannot be (no such token can be had, the user cannot use the proxy, or muster is down) the objects that
// the user can list are read, and the answer is found in them here; then it says so.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "commands/kubectl/cluster_flags.h"

namespace CLI {
class App;
}

namespace muster::commands {

enum class ExplainFormat { kText, kJson };

struct ExplainOptions {
  std::vector<std::string> object{};  // {"job/train"}, {"job", "train"} or {"train"}
  ExplainFormat format = ExplainFormat::kText;
  bool watch = false;  // goes on until the job is finished, and says what changes
  ClusterFlags cluster{};
};

void add_explain(CLI::App& app, ExplainOptions& options);

// Exit codes, part of the interface that scripts rely on.
inline constexpr int kExplainAnswered = 0;
inline constexpr int kExplainNoAnswer = 1;  // there is no such object, or no answer to be had
inline constexpr int kExplainUnusable = 2;

int explain(const ExplainOptions& options, std::ostream& out, std::ostream& err);

// `muster history`: the same object, and all that is known of what has happened to it; also of one that was deleted
// lately. `watch` has no effect.
void add_history(CLI::App& app, ExplainOptions& options);
int history(const ExplainOptions& options, std::ostream& out, std::ostream& err);

// `muster priority`: the same object, and the terms of its place among the pending Workloads. `watch` has no effect.
void add_priority(CLI::App& app, ExplainOptions& options);
int priority(const ExplainOptions& options, std::ostream& out, std::ostream& err);

}  // namespace muster::commands
