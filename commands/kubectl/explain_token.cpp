#include "commands/kubectl/explain_token.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "manifests/names.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// The shortest life that the API server gives.
constexpr int kSeconds = 600;

}  // namespace

Result<ExplainToken> make_explain_token(kube::KubeApi& api, const std::string& account, const std::string& ns) {
  const size_t slash = account.find('/');
  const std::string where = slash == std::string::npos ? ns : account.substr(0, slash);
  const std::string name = slash == std::string::npos ? account : account.substr(slash + 1);
  kube::KubeRequest request;
  request.method = "POST";
  request.path = "/api/v1/namespaces/" + where + "/serviceaccounts/" + name + "/token";
  request.body = to_text({{"apiVersion", "authentication.k8s.io/v1"},
                          {"kind", "TokenRequest"},
                          {"spec", {{"audiences", {manifests::kExplainAudience}}, {"expirationSeconds", kSeconds}}}});
  request.once = true;
  const auto answer = api.send(request, {});
  std::string why = answer ? "no token in the answer" : answer.error().message;
  if (answer) {
    std::string token(string_at(*answer, {"status", "token"}));
    if (!token.empty()) return ExplainToken{std::move(token), where + "/" + name};
  }
  return fail("there is no token of service account " + where + "/" + name +
              ", which takes the right to create serviceaccounts/token of it: " + why);
}

}  // namespace muster::commands
