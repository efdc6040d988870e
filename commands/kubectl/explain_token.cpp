#include "commands/kubectl/explain_token.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "api/codec/json.h"
#include "manifests/names.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// The shortest life that the API server gives.
constexpr int kSeconds = 600;
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

struct Account {
  std::string ns, name;
  bool own = false;
  std::string text() const { return ns + "/" + name; }
};

kube::KubeApi::Answer post(kube::KubeApi& api, std::string path, const json& body) {
  kube::KubeRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.body = to_text(body);
  request.once = true;
  return api.send(request, {});
}

// The service account that the caller is; an empty name: a person, or not known.
Account caller(kube::KubeApi& api) {
  const auto answer = post(api, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                           {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}});
  if (!answer) return {};
  std::string_view user = string_at(*answer, {"status", "userInfo", "username"});
  if (!user.starts_with(kAccountPrefix)) return {};
  user.remove_prefix(kAccountPrefix.size());
  const size_t colon = user.find(':');
  if (colon == std::string_view::npos) return {};
  return {std::string(user.substr(0, colon)), std::string(user.substr(colon + 1)), true};
}

std::vector<Account> candidates(kube::KubeApi& api, const std::string& account, const std::string& ns) {
  const size_t slash = account.find('/');
  if (slash != std::string::npos) return {{account.substr(0, slash), account.substr(slash + 1)}};
  if (!account.empty()) return {{ns, account}};
  std::vector<Account> accounts;
  if (Account own = caller(api); !own.name.empty()) accounts.push_back(std::move(own));
  accounts.push_back({ns, std::string(manifests::kExplainAccountName)});
  return accounts;
}

}  // namespace

Result<ExplainToken> make_explain_token(kube::KubeApi& api, const std::string& account, const std::string& ns) {
  const json request = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"spec", {{"audiences", {manifests::kExplainAudience}}, {"expirationSeconds", kSeconds}}}};
  std::string why;
  for (const Account& each : candidates(api, account, ns)) {
    const auto answer =
        post(api, "/api/v1/namespaces/" + each.ns + "/serviceaccounts/" + each.name + "/token", request);
    if (answer) {
      std::string token(string_at(*answer, {"status", "token"}));
      if (!token.empty()) return ExplainToken{std::move(token), each.text(), each.own};
    }
    why +=
        (why.empty() ? "" : "; ") + each.text() + ": " + (answer ? "no token in the answer" : answer.error().message);
  }
  return fail(
      "there is no token to ask it with, which takes the right to create serviceaccounts/token of a service "
      "account that may get the object (docs/explain.md): " +
      why);
}

}  // namespace muster::commands
