#include "kube/transport/cluster_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "kube/transport/kubeconfig.h"

namespace muster::kube {
namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ':');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Result<ClusterAccess> from_files(const std::vector<std::string>& paths, const std::string& context) {
  std::vector<KubeconfigFile> files;
  for (const auto& path : paths) {
    auto text = read_credential_file(path);
    if (!text.ok()) return fail("kubeconfig: " + text.error().message);
    files.push_back({path, std::move(*text)});
  }
  auto access = read_kubeconfig(files, context);
  for (KubeconfigFile& file : files) cleanse(file.text);
  return access;
}

std::optional<ClusterAccess> in_cluster(const AccessSearch& search) {
  const auto host = search.environment("KUBERNETES_SERVICE_HOST");
  const auto port = search.environment("KUBERNETES_SERVICE_PORT");
  const std::string& folder = search.service_account_folder;
  if (!host || host->empty() || !port || port->empty() || !exists(folder + "/token")) return std::nullopt;
  ClusterAccess access;
  access.source = "the pod's service account";
  const bool ipv6 = host->find(':') != std::string::npos;
  access.server = "https://" + (ipv6 ? "[" + *host + "]" : *host) + ":" + *port;
  access.token.path = folder + "/token";
  access.certificate_authority.path = folder + "/ca.crt";
  if (const auto ns = read_credential_file(folder + "/namespace"); ns.ok() && !ns->empty()) access.ns = *ns;
  return access;
}

}  // namespace

Result<SecretText> read_secret_file(const std::string& path) {
  const auto failed = [&] { return fail("cannot read " + path + ": " + std::strerror(errno)); };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed();
  SecretText text;
  char buffer[4096];
  ssize_t got = 0;
  do {
    got = ::read(file, buffer, sizeof buffer);
    if (got > 0) text.append({buffer, static_cast<size_t>(got)});
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int reason = errno;
  ::close(file);
  cleanse(buffer, sizeof buffer);
  errno = reason;
  if (got < 0) return failed();
  return text;
}

Result<std::string> read_credential_file(const std::string& path) {
  const auto text = read_secret_file(path);
  if (!text.ok()) return fail(text.error().message);
  return std::string(text->view());
}

std::optional<std::string> process_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

Result<ClusterAccess> find_cluster_access(const AccessSearch& search) {
  if (!search.kubeconfig.empty()) return from_files({search.kubeconfig}, search.context);

  const auto listed = search.environment("KUBECONFIG");
  if (listed && !listed->empty()) {
    std::vector<std::string> present;
    for (const auto& path : split_list(*listed)) {
      if (exists(path)) present.push_back(path);
    }
    if (present.empty()) return fail("KUBECONFIG names " + *listed + ", and there is no such file");
    return from_files(present, search.context);
  }

  if (auto access = in_cluster(search)) return std::move(*access);

  const auto home = search.environment("HOME");
  const std::string usual = home.value_or("") + "/.kube/config";
  if (home && exists(usual)) return from_files({usual}, search.context);
  return fail(
      "no API server to talk to: pass --kubeconfig, set KUBECONFIG, run in a pod with a service account, or create " +
      (home ? usual : "~/.kube/config"));
}

}  // namespace muster::kube
