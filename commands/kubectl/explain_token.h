// The token by which `muster explain` says in whose name it asks: made for muster alone and
// for ten minutes, so that whoever gets hold of it can do nothing with it elsewhere. The
// caller's own credentials are shown to the API server and to nobody else.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/api.h"

namespace muster::commands {

// Of a request through the API server's proxy, which removes the Authorization header.
inline constexpr const char* kExplainTokenHeader = "X-Muster-Token";

struct ExplainToken {
  std::string token;
  std::string account;  // "team-a/muster-explain"
  bool own = false;     // the caller is that service account
};

// `account`: NAME of a service account in `ns`, or NAMESPACE/NAME; empty: the caller's own where
// the caller is one that may, else muster-explain of `ns`. Needs create on serviceaccounts/token of
// it. The error says what is missing.
Result<ExplainToken> make_explain_token(kube::KubeApi& api, const std::string& account, const std::string& ns);

}  // namespace muster::commands
