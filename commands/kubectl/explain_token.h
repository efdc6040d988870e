// A token of a service account, for those who do not want to be asked for themselves (--service-account), and for the
// metrics: made for muster alone and for ten minutes, so that whoever gets hold of it can do nothing with it elsewhere.
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
};

// `account`: NAME of a service account in `ns`, or NAMESPACE/NAME. Needs create on serviceaccounts/token of it. The
// error says what is missing.
Result<ExplainToken> make_explain_token(kube::KubeApi& api, const std::string& account, const std::string& ns);

}  // namespace muster::commands
