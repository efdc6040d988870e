#include "server/request_header.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::server::request_header_test {
namespace {

using nlohmann::json;
using Headers = std::vector<HttpHeader>;

RequestHeaderSettings usual() {
  RequestHeaderSettings settings;
  settings.client_ca = "pem";
  settings.allowed_names = {"front-proxy-client"};
  settings.username_headers = {"X-Remote-User"};
  settings.uid_headers = {"X-Remote-Uid"};
  settings.group_headers = {"X-Remote-Group"};
  settings.extra_prefixes = {"X-Remote-Extra-"};
  return settings;
}

const PeerCertificate kProxy{true, "", {"front-proxy-client"}};

std::string refusal(const PeerCertificate& peer, const Headers& headers,
                    const RequestHeaderSettings& settings = usual()) {
  const auto user = authenticate(peer, headers, settings);
  return user ? "believed as " + user->username : user.error().message;
}

json config_map(json data) {
  return {{"metadata", {{"name", kAuthenticationConfigMap}}}, {"data", std::move(data)}};
}

json usual_data() {
  return {{"client-ca-file", "clients"},
          {"requestheader-client-ca-file", "pem"},
          {"requestheader-allowed-names", R"(["front-proxy-client"])"},
          {"requestheader-username-headers", R"(["X-Remote-User"])"},
          {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
          {"requestheader-group-headers", R"(["X-Remote-Group"])"},
          {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}};
}

TEST_CASE("request headers: the aggregation layer names user, uid, groups and extras") {
  const Headers headers = {{"X-Remote-User", "alice"},
                           {"Accept", "application/json"},
                           {"X-Remote-Uid", "42"},
                           {"X-Remote-Group", "team-a"},
                           {"X-Remote-Group", "system:authenticated"},
                           {"X-Remote-Extra-Scopes", "first"},
                           {"X-Remote-Extra-Scopes", "second"},
                           {"X-Remote-Extra-Example.com%2Ftenant", "a"}};
  const auto user = authenticate(kProxy, headers, usual());
  REQUIRE(user.ok());
  CHECK(*user == AuthenticatedUser{.username = "alice",
                                   .uid = "42",
                                   .groups = {"team-a", "system:authenticated"},
                                   .extra = {{"scopes", {"first", "second"}}, {"example.com/tenant", {"a"}}}});
}

TEST_CASE("request headers: names of headers have no case and no other spelling") {
  CHECK(refusal(kProxy, {{"x-REMOTE-user", "alice"}}) == "believed as alice");
  CHECK(refusal(kProxy, {{"X_Remote_User", "alice"}}).find("no header names the user") == 0);
  CHECK(refusal(kProxy, {{"X-Remote-User-", "alice"}}).find("no header names the user") == 0);
}

TEST_CASE("request headers: without the certificate of the aggregation layer they mean nothing") {
  const Headers admin = {{"X-Remote-User", "system:admin"}, {"X-Remote-Group", "system:masters"}};
  struct Row {
    PeerCertificate peer;
    std::string says;
  };
  const Row rows[] = {
      {{}, "has shown none"},
      {{true, "unable to get local issuer certificate", {"front-proxy-client"}}, "not one of requestheader-client-ca"},
      {{true, "certificate has expired", {"front-proxy-client"}}, "certificate has expired"},
      {{true, "", {"alice"}}, "not one of requestheader-allowed-names"},
      {{true, "", {}}, "not one of requestheader-allowed-names"},
      {{true, "", {"front-proxy-client2"}}, "not one of requestheader-allowed-names"},
      {{true, "", {std::string("front-proxy-client\0.example", 26)}}, "not one of requestheader-allowed-names"},
      {{true, "", {"front-proxy-client", "alice"}}, "not one of requestheader-allowed-names"},
  };
  for (const Row& row : rows) {
    const std::string why = refusal(row.peer, admin);
    CHECK_MESSAGE(why.find(row.says) != std::string::npos, why);
  }
  RequestHeaderSettings any_name = usual();
  any_name.allowed_names.clear();
  CHECK(refusal({true, "", {"some-proxy"}}, admin, any_name) == "believed as system:admin");
  CHECK(refusal({true, "expired", {"some-proxy"}}, admin, any_name).find("expired") != std::string::npos);
}

TEST_CASE("request headers: a request that names its user twice, or not at all, is refused") {
  CHECK(refusal(kProxy, {{"X-Remote-User", "alice"}, {"X-Remote-User", "system:admin"}}) ==
        "the header X-Remote-User is given twice");
  CHECK(refusal(kProxy, {{"X-Remote-User", "alice"}, {"x-remote-user", "alice"}}) ==
        "the header X-Remote-User is given twice");
  CHECK(refusal(kProxy, {{"X-Remote-User", "alice"}, {"X-Remote-Uid", "1"}, {"X-REMOTE-UID", "2"}}) ==
        "the header X-Remote-Uid is given twice");
  for (const Headers& headers : {Headers{}, Headers{{"X-Remote-User", ""}}, Headers{{"X-Remote-Group", "g"}}})
    CHECK(refusal(kProxy, headers) == "no header names the user; X-Remote-User should");
  CHECK(refusal(kProxy, {{"X-Remote-User", "\xff"}}).find("not UTF-8") != std::string::npos);
  CHECK(refusal(kProxy, {{"X-Remote-User", "a"}, {"X-Remote-Extra-%ff", "v"}}).find("not UTF-8") != std::string::npos);
}

TEST_CASE("request headers: which headers count is what the ConfigMap says") {
  RequestHeaderSettings other = usual();
  other.username_headers = {"X-First", "X-Second"};
  other.extra_prefixes = {"", "X-More-"};
  const auto user = authenticate(
      kProxy, Headers{{"X-Remote-User", "mallory"}, {"X-Second", "alice"}, {"X-More-A%zz", "as it is"}}, other);
  REQUIRE(user.ok());
  CHECK(*user == AuthenticatedUser{.username = "alice", .extra = {{"a%zz", {"as it is"}}}});
  CHECK(refusal(kProxy, {{"X-Remote-User", "mallory"}}, other) == "no header names the user; X-First should");
}

TEST_CASE("request headers: the ConfigMap is read whole or not at all") {
  const auto read = read_request_header_settings(config_map(usual_data()));
  REQUIRE(read.ok());
  CHECK(*read == usual());

  json without = usual_data();
  without.erase("requestheader-client-ca-file");
  CHECK(read_request_header_settings(config_map(without)).error().message.find("no aggregation layer") !=
        std::string::npos);
  for (const char* key : {"requestheader-allowed-names", "requestheader-username-headers", "requestheader-uid-headers",
                          "requestheader-group-headers", "requestheader-extra-headers-prefix"}) {
    for (const char* damaged : {"front-proxy-client", "{}", "[1]", "[\"a\""}) {
      json data = usual_data();
      data[key] = damaged;
      const auto refused = read_request_header_settings(config_map(data));
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().message == std::string(key) + " is not a JSON list of strings");
    }
  }
  // What is away is empty, but one header must name the user.
  json least = {{"requestheader-client-ca-file", "pem"}, {"requestheader-username-headers", R"(["X-Remote-User"])"}};
  CHECK(read_request_header_settings(config_map(least))->allowed_names.empty());
  least["requestheader-username-headers"] = "[]";
  CHECK(read_request_header_settings(config_map(least)).error().message ==
        "requestheader-username-headers names no header");
  CHECK_FALSE(read_request_header_settings(json::object()).ok());
}

}  // namespace
}  // namespace muster::server::request_header_test
