// `muster explain job/NAME`: why it does not run, or what else it does.
//
// muster itself is asked, through the API server's service proxy and with a short-lived token
// that is for muster alone (explain_token.h); the user's own credentials are never shown to it.
// Where that cannot be (no such token can be had, the user may not use the proxy, or muster is down) the objects that
// the user may list are read, and the answer is found in them here; then it says so.
#pragma once

#include <iosfwd>
#include <string>

#include "manifests/names.h"

namespace muster {

enum class ExplainFormat { kText, kJson };

struct ExplainOptions {
  std::string object{};  // "job/train"
  std::string ns{};      // empty: the context's
  ExplainFormat format = ExplainFormat::kText;
  std::string kubeconfig{}, context{};
  bool local = false;         // muster is not asked
  std::string config_file{};  // muster's, for an answer that is found here

  // How muster is reached: its Service, or a URL of its metrics listener.
  std::string muster_namespace{kDefaultNamespace};
  std::string service{kMetricsServiceName};
  // In whose name muster is asked: a service account; empty: see explain_token.h.
  std::string service_account{};
  std::string server{};
  std::string server_ca{};  // a file; empty: the system's roots
};

// Exit codes, part of the interface that scripts rely on.
inline constexpr int kExplainAnswered = 0;
inline constexpr int kExplainNoAnswer = 1;  // there is no such object, or no answer to be had
inline constexpr int kExplainUnusable = 2;

int explain(const ExplainOptions& options, std::ostream& out, std::ostream& err);

}  // namespace muster
