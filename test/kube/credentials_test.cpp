#include "kube/transport/credentials.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/meta/time.h"
#include "base/encoding.h"
#include "kube/transport/process.h"
#include "test/kube/client_fixture.h"
#include "test/support/temporary_folder.h"

namespace muster::kube::test::credentials_test {
namespace {

using muster::test::TemporaryFolder;
using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

struct TestCredentials {
  explicit TestCredentials(ClusterAccess access)
      : credentials(std::move(access), time, [this](const std::string& why) { problems.push_back(why); }) {}
  std::string authorization() {
    const auto identity = credentials.current();
    return identity.ok() ? identity->authorization : "error: " + identity.error().message;
  }
  VirtualTime time;
  std::vector<std::string> problems;
  Credentials credentials;
};

ClusterAccess access() {
  ClusterAccess access;
  access.source = "the test";
  access.server = "https://127.0.0.1:6443";
  return access;
}

TEST_CASE("tokens and passwords become the Authorization header") {
  ClusterAccess token = access();
  token.token.data = "abc";
  CHECK(TestCredentials(token).authorization() == "Bearer abc");
  ClusterAccess basic = access();
  basic.username = "u";
  basic.password = "p";
  CHECK(TestCredentials(basic).authorization() == "Basic " + base64_encode("u:p"));
  CHECK(TestCredentials(access()).authorization().empty());
}

TEST_CASE("a token file is followed and never used when older than a minute") {
  TemporaryFolder folder;
  ClusterAccess by_file = access();
  by_file.token.path = folder.write("token", "one\n");
  TestCredentials test(by_file);
  CHECK(test.authorization() == "Bearer one");
  folder.write("token", "two\n");
  test.time.advance(49s);
  CHECK(test.authorization() == "Bearer one");
  test.time.advance(2s);
  CHECK(test.authorization() == "Bearer two");
}

TEST_CASE("a token file that vanishes or empties later does not stop the client") {
  TemporaryFolder folder;
  ClusterAccess by_file = access();
  by_file.token.path = folder.write("token", "one\n");
  TestCredentials test(by_file);
  CHECK(test.authorization() == "Bearer one");
  folder.write("token", "");
  test.time.advance(1min);
  CHECK(test.authorization() == "Bearer one");
  CHECK(test.authorization() == "Bearer one");
  CHECK(test.problems.size() == 1);  // read again after a moment, not at every request
  std::filesystem::remove(folder / "token");
  test.time.advance(11s);
  CHECK(test.authorization() == "Bearer one");
  REQUIRE(test.problems.size() == 2);
  CHECK(test.problems[1].find(folder / "token") != std::string::npos);
  folder.write("token", "two");
  test.time.advance(11s);
  CHECK(test.authorization() == "Bearer two");
}

TEST_CASE("files that are unusable from the start are an error") {
  TemporaryFolder folder;
  ClusterAccess missing = access();
  missing.token.path = folder / "none";
  CHECK(TestCredentials(missing).authorization().find("none: No such file") != std::string::npos);
  ClusterAccess blank = access();
  blank.token.path = folder.write("blank", " \n");
  CHECK(TestCredentials(blank).authorization().find("holds no token") != std::string::npos);
  ClusterAccess two_lines = access();
  two_lines.token.path = folder.write("lines", "a\r\nX-Remote-User: admin");
  CHECK(TestCredentials(two_lines).authorization().find("more than one line") != std::string::npos);
}

TEST_CASE("a generation stands for one identity") {
  TemporaryFolder folder;
  ClusterAccess by_file = access();
  by_file.token.path = folder.write("token", "one");
  TestCredentials test(by_file);
  const auto first = test.credentials.current();
  test.time.advance(1min);
  CHECK(test.credentials.current()->generation == first->generation);
  folder.write("token", "two");
  test.credentials.rejected(*first);
  const auto second = test.credentials.current();
  CHECK(second->generation == first->generation + 1);
  CHECK(second->tls == first->tls);  // connections can stay
  folder.write("token", "three");
  test.credentials.rejected(*first);  // news of yesterday
  CHECK(test.credentials.current()->generation == second->generation);
}

// A plugin that counts its runs in a file and prints `status`.
ClusterAccess with_plugin(const TemporaryFolder& folder, const std::string& status, const std::string& version = kV1) {
  ClusterAccess by_plugin = access();
  ExecPlugin plugin;
  plugin.api_version = version;
  plugin.command =
      folder.write_script("plugin", "echo run >> " + (folder / "runs") + "\necho \"$KUBERNETES_EXEC_INFO\" > " +
                                        (folder / "info") + "\ncat " + (folder / "answer") + "\n");
  by_plugin.exec = plugin;
  folder.write("answer", "{\"apiVersion\":\"" + version + "\",\"kind\":\"ExecCredential\",\"status\":" + status + "}");
  return by_plugin;
}

size_t runs(const TemporaryFolder& folder) {
  const auto text = read_credential_file(folder / "runs");
  return text.ok() ? static_cast<size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
}

TEST_CASE("a plugin runs once until its credential expires") {
  TemporaryFolder folder;
  VirtualTime now;
  const std::string expires = format_rfc3339(to_timestamp(now.now().wall + 10min));
  TestCredentials test(with_plugin(folder, R"({"token":"first","expirationTimestamp":")" + expires + "\"}"));
  for (int i = 0; i < 5; ++i) CHECK(test.authorization() == "Bearer first");
  test.time.advance(9min);
  CHECK(test.authorization() == "Bearer first");
  CHECK(runs(folder) == 1);
  folder.write(
      "answer",
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"second"}})");
  test.time.advance(1min);
  CHECK(test.authorization() == "Bearer second");
  test.time.advance(1000h);  // no expiry: until the server refuses it
  CHECK(test.authorization() == "Bearer second");
  CHECK(runs(folder) == 2);
}

TEST_CASE("a plugin runs again when the server refuses its token") {
  TemporaryFolder folder;
  FakeApiServer server([](const FakeRequest& request, FakeExchange& exchange) {
    if (request.headers.at("authorization") == "Bearer second") return exchange.respond(200, object("x", "1"));
    exchange.respond(401, status_body(401, "Unauthorized", "Unauthorized"));
  });
  ClusterAccess by_plugin = with_plugin(folder, R"({"token":"first"})");
  by_plugin.server = server.url();
  VirtualTime time;
  RecordingObserver observer;
  const auto client = make_client(by_plugin, test_options(), time.timing(), observer);
  folder.write(
      "answer",
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"second"}})");
  CHECK(client->get({"", "v1", "namespaces", false, ""}, "", "x").ok());
  CHECK(client->get({"", "v1", "namespaces", false, ""}, "", "x").ok());
  CHECK(runs(folder) == 2);
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a plugin's certificate is shown to the server") {
  TemporaryFolder folder;
  const TestAuthority authority("ca");
  const auto own = authority.issue("system:plugin", "");
  const json status = {{"clientCertificateData", own.certificate}, {"clientKeyData", own.key}};
  TestCredentials test(with_plugin(folder, status.dump()));
  const auto identity = test.credentials.current();
  REQUIRE_MESSAGE(identity.ok(), identity.error().message);
  CHECK(identity->authorization.empty());
  CHECK(identity->tls->pem().certificate == own.certificate);
}

TEST_CASE("a plugin is told the version and if it asks the cluster") {
  TemporaryFolder folder;
  ClusterAccess by_plugin = with_plugin(folder, R"({"token":"t"})", "client.authentication.k8s.io/v1beta1");
  CHECK(TestCredentials(by_plugin).authorization() == "Bearer t");
  const auto plain = json::parse(*read_credential_file(folder / "info"));
  CHECK(plain == json{{"apiVersion", "client.authentication.k8s.io/v1beta1"},
                      {"kind", "ExecCredential"},
                      {"spec", {{"interactive", false}}}});

  by_plugin.exec->provide_cluster_info = true;
  by_plugin.exec->cluster_config = R"({"audience":"x"})";
  by_plugin.tls_server_name = "api.example.com";
  const auto told = json::parse(exec_info(by_plugin, "CA"));
  CHECK(told["spec"]["cluster"] == json{{"server", "https://127.0.0.1:6443"},
                                        {"tls-server-name", "api.example.com"},
                                        {"certificate-authority-data", base64_encode("CA")},
                                        {"config", {{"audience", "x"}}}});
}

TEST_CASE("what a plugin prints is checked") {
  const std::string head = R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)";
  struct Row {
    std::string name;
    std::string output;
    const char* expected;
  };
  const Row rows[] = {
      {"no JSON", "Please log in:", "no ExecCredential"},
      {"another kind", R"({"apiVersion":"v1","kind":"Secret"})", "no ExecCredential"},
      {"another version", R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential"})",
       "asks for client.authentication.k8s.io/v1"},
      {"no status", R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"})",
       "neither a token nor a certificate"},
      {"half a certificate", head + R"({"clientKeyData":"x"}})", "only one of"},
      {"a header behind the token", head + R"({"token":"t\r\nImpersonate-User: admin"}})", "more than one line"},
      {"a bare line feed in the token", head + R"({"token":"t\nx"}})", "more than one line"},
      {"a carriage return at the token's end", head + R"({"token":"t\r"}})", "more than one line"},
      {"a date that is none", head + R"({"token":"t","expirationTimestamp":"tomorrow"}})", "no time"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto read = read_exec_credential(row.output, kV1);
    REQUIRE_FALSE(read.ok());
    CAPTURE(read.error().message);
    CHECK(read.error().message.find(row.expected) != std::string::npos);
  }
}

TEST_CASE("a plugin that is missing says how to get it") {
  ClusterAccess by_plugin = access();
  by_plugin.exec = ExecPlugin{};
  by_plugin.exec->api_version = kV1;
  by_plugin.exec->command = "muster-no-such-plugin";
  by_plugin.exec->install_hint = "Install it from the vendor.";
  const std::string message = TestCredentials(by_plugin).authorization();
  CHECK(message.find("cannot run muster-no-such-plugin: No such file") != std::string::npos);
  CHECK(message.find("Install it from the vendor.") != std::string::npos);
}

TEST_CASE("a program's output is taken and its environment extended") {
  TemporaryFolder folder;
  ProcessCall call{
      folder.write_script("p", "echo \"$1 $EXTRA ${HOME:+home}\"; cat"), {"arg"}, {{"EXTRA", "more"}}, 10s, 1024};
  const auto output = run_process(call, system_clock());
  REQUIRE_MESSAGE(output.ok(), output.error().message);
  CHECK(output->starts_with("arg more"));
}

TEST_CASE("programs that fail are told with the end of what they complained about") {
  TemporaryFolder folder;
  struct Row {
    std::string name;
    const char* script;
    const char* expected;
  };
  const Row rows[] = {
      {"an exit code", "echo 'not logged in' >&2; exit 3", "exited with 3: not logged in"},
      {"a signal", "kill -9 $$", "was ended by signal 9"},
      {"output without end", "yes", "printed more than 1024 bytes"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto output = run_process({folder.write_script("p", row.script), {}, {}, 10s, 1024}, system_clock());
    REQUIRE_FALSE(output.ok());
    CAPTURE(output.error().message);
    CHECK(output.error().message.find(row.expected) != std::string::npos);
  }
}

TEST_CASE("a program that hangs is killed with its children") {
  TemporaryFolder folder;
  const std::string script = folder.write_script("p", "sleep 1000 & echo $! > " + (folder / "child") + "\nwait\n");
  const auto started = system_clock().now().monotonic;
  const auto output = run_process({script, {}, {}, 300ms, 1024}, system_clock());
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().message.find("did not finish within 0.3") != std::string::npos);
  CHECK(system_clock().now().monotonic - started < 5s);
  const std::string child = *read_credential_file(folder / "child");
  // Dead, or a zombie that need not be reaped.
  CHECK(eventually([&] {
    const auto status = read_credential_file("/proc/" + child.substr(0, child.find('\n')) + "/stat");
    return !status.ok() || status->find(") Z") != std::string::npos;
  }));
}

TEST_CASE("a program that leaves a child behind does not keep us") {
  TemporaryFolder folder;
  const auto started = system_clock().now().monotonic;
  const auto output = run_process({folder.write_script("p", "sleep 3 & echo done"), {}, {}, 20s, 1024}, system_clock());
  REQUIRE(output.ok());
  CHECK(*output == "done\n");
  CHECK(system_clock().now().monotonic - started < 2s);
}

}  // namespace
}  // namespace muster::kube::test::credentials_test
