// A connection of a person's: to the API server with the person's own credentials, and through it to muster,
// to whom only the token of a session is shown that says who asks (own_session.h).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "commands/kubectl/cluster_flags.h"
#include "commands/kubectl/explain_token.h"
#include "commands/kubectl/own_session.h"
#include "kube/client.h"
#include "reconcilers/reconciler.h"

namespace muster::commands {

// No answer, and whether it is worth looking for one in what the person can list.
struct NoAnswer {
  std::string message;
  bool look_here = false;
};

// So that words of the command line can name the kinds that the file of --config describes.
Outcome<> know_own_kinds(const ClusterFlags& flags);

class MusterReader {
 public:
  // Reads the credentials; sends nothing. `flags` must outlive it.
  static Result<std::unique_ptr<MusterReader>> connect(const ClusterFlags& flags);

  // The namespace that is meant: the flag's, or the context's.
  const std::string& ns() const { return ns_; }
  // The URL of the API server.
  const std::string& cluster() const { return access_.server; }
  kube::KubeApi& api() { return *client_; }
  // GET of a path of muster's metrics listener, in the own name by a session in `ns`, or in that of --service-account.
  Result<nlohmann::json, NoAnswer> ask(const std::string& path, const kube::Query& query, const std::string& ns);
  // A sentence that stands above an answer which is found without muster, while no replica leads; empty: one leads, or
  // its Lease cannot be read. muster itself says so in its answers.
  std::string alarm();
  // What an evaluation on this machine goes by.
  Result<ReconcilerSettings> settings() const;

 private:
  MusterReader(const ClusterFlags& flags, kube::ClusterAccess access) : flags_(flags), access_(std::move(access)) {}

  Result<std::unique_ptr<kube::KubeClient>> make_client(kube::ClusterAccess access);
  Outcome<kube::StatusError> know_caller();
  // The token to ask with from a namespace.
  Result<std::string> token(const std::string& ns);
  NoAnswer judge(const kube::StatusError& error) const;
  kube::KubeApi::Answer ask_through_proxy(kube::KubeRequest request, const std::string& token);
  kube::KubeApi::Answer ask_directly(const kube::KubeRequest& request, const std::string& token);

  const ClusterFlags& flags_;
  const kube::ClusterAccess access_;
  std::string ns_;
  kube::KubeObserver observer_;
  std::unique_ptr<kube::KubeClient> client_;
  std::optional<Caller> caller_;
  // What the present token comes from; a watch gets others in time.
  std::optional<OwnSession> session_;
  ExplainToken made_{};  // with --service-account
  std::string made_for_{};
  MonotonicTime made_until_{};
};

// What muster answers; where it does not, or must not be asked, what `look_here` finds, with a note that says why. An
// error has both reasons. `Answer` has `notes`.
template <class Answer>
Result<Answer> ask_or_look_here(bool local, const std::function<Result<Answer, NoAnswer>()>& ask,
                                const std::function<Result<Answer>()>& look_here) {
  std::string why_not;
  if (!local) {
    auto answer = ask();
    if (answer) return std::move(*answer);
    if (!answer.error().look_here) return fail(answer.error().message);
    why_not = answer.error().message;
  }
  auto found = look_here();
  if (why_not.empty()) return found;
  // An object that is not there is muster's answer as well: it is said once.
  if (!found && found.error().message == why_not) return fail(why_not);
  if (!found) return fail("muster did not answer: " + why_not + "; and without it: " + found.error().message);
  found->notes.push_back("muster did not answer: " + why_not);
  return found;
}

}  // namespace muster::commands
