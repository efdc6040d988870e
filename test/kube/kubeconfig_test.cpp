#include "kube/transport/kubeconfig.h"

#include <doctest/doctest.h>

#include <map>

#include "test/support/temporary_folder.h"

namespace muster::kube::test::kubeconfig_test {
namespace {

using muster::test::TemporaryFolder;

// A kubeconfig with one of everything; rows replace the cluster's or the user's part.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
         "contexts:\n- name: dev\n  context: {cluster: c, user: u, namespace: team-a}\n"
         "clusters:\n- name: c\n  cluster: {" +
         cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n";
}

Result<ClusterAccess> read(const std::string& cluster, const std::string& user) {
  const KubeconfigFile file{"/home/u/.kube/config", kubeconfig(cluster, user)};
  return read_kubeconfig({&file, 1}, "");
}

TEST_CASE("each field of a cluster and a user arrives where it belongs") {
  const auto access =
      read("server: 'https://a:6443', certificate-authority-data: Q0E=, tls-server-name: api.example.com",
           "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: t1");
  REQUIRE_MESSAGE(access.ok(), access.error().message);
  CHECK(access->source == "context \"dev\" of /home/u/.kube/config");
  CHECK(access->server == "https://a:6443");
  CHECK(access->ns == "team-a");
  CHECK(access->certificate_authority.data == "CA");
  CHECK(access->tls_server_name == "api.example.com");
  CHECK(access->client_certificate.data == "CERT");
  CHECK(access->client_key.data == "KEY");
  CHECK(access->token.data == "t1");
  CHECK_FALSE(access->insecure_skip_tls_verify);
}

TEST_CASE("relative paths resolve against the folder of the kubeconfig") {
  const auto access = read("server: 'https://a', certificate-authority: pki/ca.crt",
                           "client-certificate: ../me.crt, client-key: /abs/me.key, tokenFile: token");
  REQUIRE_MESSAGE(access.ok(), access.error().message);
  CHECK(access->certificate_authority.path == "/home/u/.kube/pki/ca.crt");
  CHECK(access->client_certificate.path == "/home/u/.kube/../me.crt");
  CHECK(access->client_key.path == "/abs/me.key");
  CHECK(access->token.path == "/home/u/.kube/token");
}

TEST_CASE("data wins over a path and a token file over a token") {
  const auto access = read("server: 'https://a', certificate-authority: ca.crt, certificate-authority-data: Q0E=",
                           "token: t1, tokenFile: fresh");
  REQUIRE(access.ok());
  CHECK(access->certificate_authority.data == "CA");
  CHECK(access->certificate_authority.path.empty());
  CHECK(access->token.path == "/home/u/.kube/fresh");
  CHECK(access->token.data.empty());
}

TEST_CASE("insecure-skip-tls-verify and basic authentication are read") {
  const auto access = read("server: 'https://a', insecure-skip-tls-verify: true", "username: admin, password: 'p:w'");
  REQUIRE(access.ok());
  CHECK(access->insecure_skip_tls_verify);
  CHECK(access->username == "admin");
  CHECK(access->password == "p:w");
}

TEST_CASE("an exec plugin is read with its arguments and variables") {
  const auto access =
      read("server: 'https://a', extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]",
           "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [get, token], "
           "env: [{name: A, value: b}], interactiveMode: IfAvailable, provideClusterInfo: true, installHint: get it}");
  REQUIRE_MESSAGE(access.ok(), access.error().message);
  REQUIRE(access->exec.has_value());
  CHECK(access->exec->command == "/home/u/.kube/./bin/login");
  CHECK(access->exec->args == std::vector<std::string>{"get", "token"});
  CHECK(access->exec->env == std::vector<std::pair<std::string, std::string>>{{"A", "b"}});
  CHECK(access->exec->provide_cluster_info);
  CHECK(access->exec->cluster_config == "{\"audience\":\"x\"}");
  CHECK(access->exec->install_hint == "get it");
}

TEST_CASE("what muster cannot honour is refused with the field and the remedy") {
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
  const std::string server = "server: 'https://a'";
  struct Row {
    std::string name;
    std::string cluster;
    std::string user;
    const char* expected;
  };
  const Row rows[] = {
      {"no server", "", "", "clusters[c].cluster.server is missing"},
      {"a proxy", server + ", proxy-url: 'http://p'", "", "proxy-url is set"},
      {"insecure with an authority", server + ", insecure-skip-tls-verify: true, certificate-authority: x", "",
       "remove one"},
      {"an auth-provider", server, "auth-provider: {name: gcp}", "use an exec plugin instead"},
      {"impersonation", server, "as: admin", "does not impersonate"},
      {"impersonated groups", server, "as-groups: [a]", "does not impersonate"},
      {"a certificate without a key", server, "client-certificate: x", "no client-key"},
      {"a key without a certificate", server, "client-key: x", "no client-certificate"},
      {"data that is no base64", server, "client-certificate-data: '*', client-key-data: S0VZ",
       "client-certificate-data"},
      {"a token and a user name", server, "token: t, username: u", "only one can be"},
      {"an unknown version of plugins", server, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}",
       "muster speaks client.authentication.k8s.io/v1"},
      {"a plugin that needs a terminal", server, "exec: {" + v1 + ", command: x, interactiveMode: Always}",
       "no terminal"},
      {"a plugin of v1 that does not say", server, "exec: {" + v1 + ", command: x}", "interactiveMode is missing"},
      {"a plugin with an unknown mode", server, "exec: {" + v1 + ", command: x, interactiveMode: Maybe}", "Maybe"},
      {"a plugin without a command", server, "exec: {" + v1 + ", interactiveMode: Never}", "command is missing"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto access = read(row.cluster, row.user);
    REQUIRE_FALSE(access.ok());
    CAPTURE(access.error().message);
    CHECK(access.error().message.find(row.expected) != std::string::npos);
    CHECK(access.error().message.starts_with("/home/u/.kube/config"));
  }
}

TEST_CASE("interactiveMode may be left out in v1beta1") {
  CHECK(read("server: 'https://a'", "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x}").ok());
}

TEST_CASE("files are merged and the first that has an entry wins") {
  const KubeconfigFile files[] = {
      {"/one/config",
       "contexts: [{name: dev, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {tokenFile: t}}]\n"},
      {"/two/config",
       "current-context: dev\ncontexts: [{name: dev, context: {cluster: other}}, {name: prod, context: {cluster: c}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://two', certificate-authority: ca}}]\nusers: [{name: u, user: "
       "{token: no}}]\n"},
  };
  const auto access = read_kubeconfig(files, "");
  REQUIRE_MESSAGE(access.ok(), access.error().message);
  CHECK(access->source == "context \"dev\" of /one/config");
  CHECK(access->server == "https://two");
  CHECK(access->certificate_authority.path == "/two/ca");
  CHECK(access->token.path == "/one/t");
  CHECK(access->ns == "default");
  const auto chosen = read_kubeconfig(files, "prod");
  REQUIRE(chosen.ok());
  CHECK(chosen->token.empty());
}

TEST_CASE("a context that is not there names those that are") {
  const KubeconfigFile file{"/f", kubeconfig("server: 'https://a'", "")};
  const auto access = read_kubeconfig({&file, 1}, "prod");
  REQUIRE_FALSE(access.ok());
  CHECK(access.error().message == "/f has no context \"prod\"; there are: dev");
  for (const char* text : {"", "---\n", "current-context: ''\n"}) {
    const KubeconfigFile empty{"/f", text};
    const auto none = read_kubeconfig({&empty, 1}, "");
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().message.find("no current-context") != std::string::npos);
  }
}

TEST_CASE("text that is no kubeconfig says where") {
  for (const char* text : {"- a list\n", "a: [unclosed\n", "just text"}) {
    CAPTURE(text);
    const KubeconfigFile file{"/f", text};
    const auto access = read_kubeconfig({&file, 1}, "");
    REQUIRE_FALSE(access.ok());
    CHECK(access.error().message.starts_with("/f"));
  }
}

// A search in which only the given variables are set.
AccessSearch search(std::map<std::string, std::string> variables, const TemporaryFolder& folder) {
  AccessSearch search;
  search.environment = [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  search.service_account_folder = folder / "serviceaccount";
  return search;
}

std::string config_for(const std::string& server) {
  return kubeconfig("server: 'https://" + server + "'", "");
}

TEST_CASE("the flag comes before KUBECONFIG before the pod before the home folder") {
  TemporaryFolder folder;
  const std::string flag = folder.write("flag", config_for("flag"));
  const std::string listed = folder.write("listed", config_for("listed"));
  folder.write("home/.kube/config", config_for("home"));
  folder.write("serviceaccount/token", "t");
  folder.write("serviceaccount/namespace", "muster-system");
  std::map<std::string, std::string> variables = {{"KUBECONFIG", folder / "missing" + ":" + listed},
                                                  {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                                  {"KUBERNETES_SERVICE_PORT", "443"},
                                                  {"HOME", folder / "home"}};
  AccessSearch all = search(variables, folder);
  all.kubeconfig = flag;
  CHECK(find_cluster_access(all)->server == "https://flag");
  CHECK(find_cluster_access(search(variables, folder))->server == "https://listed");

  variables.erase("KUBECONFIG");
  const auto pod = find_cluster_access(search(variables, folder));
  REQUIRE(pod.ok());
  CHECK(pod->server == "https://10.0.0.1:443");
  CHECK(pod->token.path == folder / "serviceaccount/token");
  CHECK(pod->certificate_authority.path == folder / "serviceaccount/ca.crt");
  CHECK(pod->ns == "muster-system");
  variables["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  CHECK(find_cluster_access(search(variables, folder))->server == "https://[fd00::1]:443");

  variables.erase("KUBERNETES_SERVICE_HOST");
  CHECK(find_cluster_access(search(variables, folder))->server == "https://home");
}

TEST_CASE("an error in the first place does not fall through to the next") {
  TemporaryFolder folder;
  folder.write("home/.kube/config", config_for("home"));
  const std::map<std::string, std::string> home = {{"HOME", folder / "home"}};
  AccessSearch flag = search(home, folder);
  flag.kubeconfig = folder / "missing";
  const auto by_flag = find_cluster_access(flag);
  REQUIRE_FALSE(by_flag.ok());
  CHECK(by_flag.error().message.find(folder / "missing: No such file") != std::string::npos);

  auto variables = home;
  variables["KUBECONFIG"] = folder / "missing";
  CHECK_FALSE(find_cluster_access(search(variables, folder)).ok());
}

TEST_CASE("without any credentials the error says what can be done") {
  TemporaryFolder folder;
  const auto none = find_cluster_access(search({{"HOME", folder / "home"}}, folder));
  REQUIRE_FALSE(none.ok());
  for (const char* hint : {"--kubeconfig", "KUBECONFIG", "pod", "home/.kube/config"}) {
    CHECK(none.error().message.find(hint) != std::string::npos);
  }
}

}  // namespace
}  // namespace muster::kube::test::kubeconfig_test
