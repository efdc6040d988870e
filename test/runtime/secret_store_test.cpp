#include "runtime/certificates/secret_store.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace secret_store_test {

using namespace muster;
using namespace muster::runtime;
using nlohmann::json;

namespace {

// Answers each request with the next scripted answer and keeps what was asked.
class ScriptedApi final : public kube::KubeApi {
 public:
  explicit ScriptedApi(std::vector<Answer> answers) : answers_(std::move(answers)) {}

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    REQUIRE(requests.size() < answers_.size());
    requests.push_back(request);
    return answers_[requests.size() - 1];
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return fail_with(kube::unanswered(kube::kUnreachableReason, "nothing is streamed here"));
  }

  std::vector<kube::KubeRequest> requests;

 private:
  const std::vector<Answer> answers_;
};

kube::KubeApi::Answer refusal(int code, const char* reason) {
  return fail_with(kube::StatusError{code, reason, "the server says no", {}, std::nullopt, "certificates"});
}

certs::CertificateState some_state() {
  certs::CertificateState state;
  state.authority = {"CA", "CA KEY"};
  state.leaf = {"LEAF", "LEAF KEY"};
  return state;
}

}  // namespace

TEST_CASE("secret store: a missing Secret is an empty state and is created by the first write") {
  ScriptedApi api({refusal(404, "NotFound"), json::object()});
  SecretStore store(api, "muster-system", "pair");
  auto stored = store.read();
  REQUIRE(stored.ok());
  CHECK(stored->version.empty());
  CHECK(stored->state == certs::CertificateState{});

  auto written = store.write(some_state(), stored->version);
  REQUIRE(written.ok());
  CHECK(*written == certs::StoreOutcome::kWritten);
  CHECK(api.requests[1].method == "POST");
  CHECK(api.requests[1].path == "/api/v1/namespaces/muster-system/secrets");
}

TEST_CASE("secret store: what was written is read back with its version") {
  json secret = certs::state_to_secret(some_state(), "muster-system", "pair", "");
  secret["metadata"]["resourceVersion"] = "12";
  ScriptedApi api({secret, json::object()});
  SecretStore store(api, "muster-system", "pair");
  auto stored = store.read();
  REQUIRE(stored.ok());
  CHECK(stored->state == some_state());
  CHECK(stored->version == "12");
  REQUIRE(store.write(some_state(), "12").ok());
  CHECK(api.requests[1].method == "PUT");
  CHECK(json::parse(api.requests[1].body)["metadata"]["resourceVersion"] == "12");
}

TEST_CASE("secret store: who comes second is told so and everything else is an error") {
  struct Row {
    std::string name;
    std::string expected_version;
    kube::KubeApi::Answer answer;
    bool conflict;
  };
  const Row rows[] = {
      {"somebody changed it", "12", refusal(409, "Conflict"), true},
      {"somebody created it", "", refusal(409, "AlreadyExists"), true},
      {"somebody deleted it", "12", refusal(404, "NotFound"), true},
      {"the namespace is missing", "", refusal(404, "NotFound"), false},
      {"a right is missing", "12", refusal(403, "Forbidden"), false},
      {"no answer", "12", fail_with(kube::unanswered(kube::kUnreachableReason, "the server says no")), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ScriptedApi api({row.answer});
    SecretStore store(api, "muster-system", "pair");
    auto written = store.write(some_state(), row.expected_version);
    REQUIRE(written.ok() == row.conflict);
    if (row.conflict)
      CHECK(*written == certs::StoreOutcome::kConflict);
    else
      CHECK(written.error().message == "Secret muster-system/pair: the server says no");
  }
}

TEST_CASE("secret store: a refused read is no empty state") {
  ScriptedApi api({refusal(403, "Forbidden")});
  SecretStore store(api, "muster-system", "pair");
  auto stored = store.read();
  REQUIRE_FALSE(stored.ok());
  CHECK(stored.error().message == "Secret muster-system/pair: the server says no");
}

}  // namespace secret_store_test
