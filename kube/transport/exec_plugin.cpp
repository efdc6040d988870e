#include "kube/transport/exec_plugin.h"

#include <nlohmann/json.hpp>

#include "api/codec/cleanse_texts.h"
#include "api/codec/json.h"
#include "api/meta/time.h"
#include "base/encoding.h"
#include "kube/transport/process.h"

namespace muster::kube {

using nlohmann::json;

std::string exec_info(const ClusterAccess& access, const std::string& authority) {
  json info = {
      {"apiVersion", access.exec->api_version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}};
  if (access.exec->provide_cluster_info) {
    json cluster = {{"server", access.server}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (access.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
    if (!authority.empty()) cluster["certificate-authority-data"] = base64_encode(authority);
    if (!access.exec->cluster_config.empty()) {
      if (auto config = parse_json(access.exec->cluster_config); config.ok()) cluster["config"] = std::move(*config);
    }
    info["spec"]["cluster"] = std::move(cluster);
  }
  return to_text(info);
}

namespace {

Result<ExecCredential> read_parsed(const json& printed, std::string_view api_version) {
  if (string_at(printed, {"kind"}) != "ExecCredential") return fail("printed an object that is no ExecCredential");
  const auto answered = string_at(printed, {"apiVersion"});
  if (answered != api_version) {
    return fail("printed apiVersion \"" + std::string(answered) + "\", but the kubeconfig asks for " +
                std::string(api_version));
  }
  const json& status = object_at(printed, {"status"});
  ExecCredential credential;
  credential.token = string_at(status, {"token"});
  credential.certificate = string_at(status, {"clientCertificateData"});
  credential.key = string_at(status, {"clientKeyData"});
  if (credential.certificate.empty() != credential.key.empty()) {
    return fail("printed only one of clientCertificateData and clientKeyData");
  }
  if (credential.token.empty() && credential.certificate.empty())
    return fail("printed neither a token nor a certificate");
  // A header is one line; with more lines the plugin could forge other headers.
  if (credential.token.find_first_of("\r\n") != std::string::npos)
    return fail("printed a token of more than one line; a token is one line without a line break at its end");
  if (const auto expires = string_at(status, {"expirationTimestamp"}); !expires.empty()) {
    const auto time = parse_rfc3339(expires);
    if (!time.ok()) return fail("printed an expirationTimestamp that is no time: " + time.error().message);
    credential.expires = to_time_point(*time);
  }
  return credential;
}

}  // namespace

Result<ExecCredential> read_exec_credential(std::string_view output, std::string_view api_version) {
  auto parsed = parse_json(output);
  if (!parsed.ok()) return fail("printed no ExecCredential: " + parsed.error().message);
  auto credential = read_parsed(*parsed, api_version);
  cleanse_texts(*parsed);
  return credential;
}

Result<ExecCredential> run_exec_plugin(const ClusterAccess& access, const std::string& authority, const Clock& clock) {
  const ExecPlugin& plugin = *access.exec;
  ProcessCall call{plugin.command, plugin.args, plugin.env, plugin.timeout};
  call.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(access, authority));
  const std::string name = "the credential plugin of " + access.source + ": ";
  auto output = run_process(call, clock);
  if (!output.ok()) {
    return fail(name + output.error().message + (plugin.install_hint.empty() ? "" : "\n" + plugin.install_hint));
  }
  auto credential = read_exec_credential(*output, plugin.api_version);
  cleanse(*output);
  if (!credential.ok()) return fail(name + plugin.command + " " + credential.error().message);
  return credential;
}

}  // namespace muster::kube
