#include "kube/transport/kubeconfig.h"

#include <nlohmann/json.hpp>

#include "api/codec/cleanse_texts.h"
#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "base/encoding.h"

namespace muster::kube {
namespace {

using nlohmann::json;

constexpr std::string_view kExecGroup = "client.authentication.k8s.io/";
constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

struct ParsedFile {
  std::string path;
  std::string folder;  // with trailing slash; empty for the working directory
  json value;

  // The file can contain a client's key.
  ParsedFile(std::string from, std::string in, json read)
      : path(std::move(from)), folder(std::move(in)), value(std::move(read)) {}
  ParsedFile(ParsedFile&&) = default;
  ParsedFile& operator=(ParsedFile&&) = delete;
  ~ParsedFile() { cleanse_texts(value); }
};

// One cluster, user or context, and the file that contains it.
struct Entry {
  const json* value = nullptr;
  const ParsedFile* file = nullptr;
};

Result<std::vector<ParsedFile>> parse(std::span<const KubeconfigFile> files) {
  std::vector<ParsedFile> parsed;
  for (const auto& file : files) {
    auto documents = read_yaml(file.text);
    if (!documents.ok()) return fail(file.path + ": " + documents.error().message);
    const size_t slash = file.path.rfind('/');
    ParsedFile entry(file.path, slash == std::string::npos ? "" : file.path.substr(0, slash + 1), json::object());
    if (!documents->empty() && !documents->front().value.is_null()) entry.value = std::move(documents->front().value);
    if (!entry.value.is_object()) return fail(file.path + " is no kubeconfig: it is not an object");
    parsed.push_back(std::move(entry));
  }
  return parsed;
}

// `list` is "contexts", `item` is the key in each entry: "context".
Entry find_entry(const std::vector<ParsedFile>& files, std::string_view list, std::string_view item,
                 std::string_view name) {
  for (const auto& file : files) {
    for (const auto& entry : array_at(file.value, {list})) {
      if (string_at(entry, {"name"}) == name) return {&object_at(entry, {item}), &file};
    }
  }
  return {};
}

std::string known_contexts(const std::vector<ParsedFile>& files) {
  std::string names;
  for (const auto& file : files) {
    for (const auto& entry : array_at(file.value, {"contexts"})) {
      names.append(names.empty() ? "" : ", ").append(string_at(entry, {"name"}));
    }
  }
  return names.empty() ? "there are none" : "there are: " + names;
}

std::string resolve(const std::string& folder, std::string_view path) {
  if (path.empty() || path.front() == '/') return std::string(path);
  return folder + std::string(path);
}

// `key`-data (base64) before `key` (a path), as client-go reads them.
Result<FileOrData> file_or_data(const Entry& entry, const std::string& key, const std::string& where) {
  FileOrData source;
  const std::string data_key = key + "-data";
  if (const auto encoded = string_at(*entry.value, {data_key}); !encoded.empty()) {
    auto bytes = base64_decode(encoded);
    if (!bytes.ok()) return fail(where + "." + data_key + ": " + bytes.error().message);
    source.data = std::move(*bytes);
  } else {
    source.path = resolve(entry.file->folder, string_at(*entry.value, {key}));
  }
  return source;
}

Result<ExecPlugin> read_exec(const json& value, const std::string& folder, const std::string& where) {
  ExecPlugin plugin;
  plugin.api_version = string_at(value, {"apiVersion"});
  if (plugin.api_version != std::string(kExecGroup) + "v1" &&
      plugin.api_version != std::string(kExecGroup) + "v1beta1") {
    return fail(where + ".apiVersion is \"" + plugin.api_version +
                "\"; muster speaks client.authentication.k8s.io/v1 and /v1beta1");
  }
  const auto mode = string_at(value, {"interactiveMode"});
  if (mode == "Always") {
    return fail(where + ".interactiveMode is Always, but muster has no terminal to ask at; use a plugin that can " +
                "log in by itself");
  }
  if (mode.empty() && plugin.api_version.ends_with("/v1")) {
    return fail(where + ".interactiveMode is missing; set it to Never or IfAvailable");
  }
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable") {
    return fail(where + ".interactiveMode is \"" + std::string(mode) + "\"; it must be Never, IfAvailable or Always");
  }
  plugin.command = string_at(value, {"command"});
  if (plugin.command.empty()) return fail(where + ".command is missing");
  if (plugin.command.find('/') != std::string::npos) plugin.command = resolve(folder, plugin.command);
  for (const auto& argument : array_at(value, {"args"})) {
    if (argument.is_string()) plugin.args.push_back(argument.get<std::string>());
  }
  for (const auto& variable : array_at(value, {"env"})) {
    plugin.env.emplace_back(string_at(variable, {"name"}), string_at(variable, {"value"}));
  }
  plugin.provide_cluster_info = bool_at(value, {"provideClusterInfo"});
  plugin.install_hint = string_at(value, {"installHint"});
  return plugin;
}

Outcome<> read_cluster(const Entry& entry, const std::string& where, ClusterAccess& access) {
  const json& cluster = *entry.value;
  access.server = string_at(cluster, {"server"});
  if (access.server.empty()) return fail(where + ".server is missing");
  if (!string_at(cluster, {"proxy-url"}).empty()) {
    return fail(where + ".proxy-url is set, and muster does not go through proxies; give it a direct route");
  }
  access.tls_server_name = string_at(cluster, {"tls-server-name"});
  access.insecure_skip_tls_verify = bool_at(cluster, {"insecure-skip-tls-verify"});
  auto authority = file_or_data(entry, "certificate-authority", where);
  if (!authority.ok()) return fail(authority.error().message);
  access.certificate_authority = std::move(*authority);
  if (access.insecure_skip_tls_verify && !access.certificate_authority.empty()) {
    return fail(where + " sets both insecure-skip-tls-verify and a certificate-authority; remove one");
  }
  return Done{};
}

Outcome<> refuse_unsupported(const json& user, const std::string& where) {
  if (!object_at(user, {"auth-provider"}).empty()) {
    return fail(where + ".auth-provider is set; Kubernetes removed such providers in 1.26: use an exec plugin instead");
  }
  for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    const json* value = find_path(user, {key});
    if (value != nullptr && !value->empty()) {
      return fail(where + "." + key + " is set, and muster does not impersonate; use the credentials of that user");
    }
  }
  return Done{};
}

Outcome<> read_user(const Entry& entry, const std::string& where, ClusterAccess& access) {
  const json& user = *entry.value;
  if (auto supported = refuse_unsupported(user, where); !supported.ok()) return supported;
  auto certificate = file_or_data(entry, "client-certificate", where);
  if (!certificate.ok()) return fail(certificate.error().message);
  auto key = file_or_data(entry, "client-key", where);
  if (!key.ok()) return fail(key.error().message);
  if (certificate->empty() != key->empty()) {
    return fail(where + " has " +
                (key->empty() ? "a client-certificate but no client-key" : "a client-key but no client-certificate"));
  }
  access.client_certificate = std::move(*certificate);
  access.client_key = std::move(*key);
  // Both can be set; the file has precedence, because it is kept up to date.
  access.token.path = resolve(entry.file->folder, string_at(user, {"tokenFile"}));
  if (access.token.path.empty()) access.token.data = string_at(user, {"token"});
  access.username = string_at(user, {"username"});
  access.password = string_at(user, {"password"});
  if (!access.token.empty() && !access.username.empty()) {
    return fail(where + " sets both a token and a username; only one can be the Authorization header");
  }
  if (const json* exec = find_path(user, {"exec"}); exec != nullptr && !exec->is_null()) {
    auto plugin = read_exec(*exec, entry.file->folder, where + ".exec");
    if (!plugin.ok()) return fail(plugin.error().message);
    access.exec = std::move(*plugin);
  }
  return Done{};
}

std::string cluster_config(const json& cluster) {
  for (const auto& extension : array_at(cluster, {"extensions"})) {
    if (string_at(extension, {"name"}) == kExecExtension) return to_text(object_at(extension, {"extension"}));
  }
  return {};
}

}  // namespace

Result<ClusterAccess> read_kubeconfig(std::span<const KubeconfigFile> files, std::string_view context) {
  const auto parsed = parse(files);
  if (!parsed.ok()) return fail(parsed.error().message);

  std::string chosen(context);
  for (const auto& file : *parsed) {
    if (chosen.empty()) chosen = string_at(file.value, {"current-context"});
  }
  const std::string file_names = files.empty() ? "the kubeconfig" : files.front().path;
  if (chosen.empty()) {
    return fail(file_names + " has no current-context, and none was chosen; " + known_contexts(*parsed));
  }
  const Entry found = find_entry(*parsed, "contexts", "context", chosen);
  if (found.value == nullptr) {
    return fail(file_names + " has no context \"" + chosen + "\"; " + known_contexts(*parsed));
  }
  ClusterAccess access;
  access.source = "context \"" + chosen + "\" of " + found.file->path;
  if (const auto ns = string_at(*found.value, {"namespace"}); !ns.empty()) access.ns = ns;

  const std::string cluster_name(string_at(*found.value, {"cluster"}));
  const Entry cluster = find_entry(*parsed, "clusters", "cluster", cluster_name);
  if (cluster.value == nullptr)
    return fail(access.source + " names the cluster \"" + cluster_name + "\", which is not there");
  const std::string cluster_place = cluster.file->path + ": clusters[" + cluster_name + "].cluster";
  if (auto done = read_cluster(cluster, cluster_place, access); !done.ok()) return fail(done.error().message);

  const std::string user_name(string_at(*found.value, {"user"}));
  if (user_name.empty()) return access;  // anonymous, as kubectl proxy wants it
  const Entry user = find_entry(*parsed, "users", "user", user_name);
  if (user.value == nullptr) return fail(access.source + " names the user \"" + user_name + "\", which is not there");
  const std::string user_place = user.file->path + ": users[" + user_name + "].user";
  if (auto done = read_user(user, user_place, access); !done.ok()) return fail(done.error().message);
  if (access.exec && access.exec->provide_cluster_info) access.exec->cluster_config = cluster_config(*cluster.value);
  return access;
}

}  // namespace muster::kube
