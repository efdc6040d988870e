#include "runtime/certificates/client_authorities.h"

#include "certs/files.h"
#include "runtime/log.h"

namespace muster::runtime {
namespace {

Result<std::string> read(const std::filesystem::path& path) {
  auto content = certs::read_file_if_present(path);
  if (!content) return fail(content.error().message);
  if (!*content)
    return fail("there is no file " + path.string() +
                "; mount the authorities of the API server's client certificate there");
  return std::string(std::string_view(**content));
}

}  // namespace

Result<std::unique_ptr<ClientAuthoritiesFile>> ClientAuthoritiesFile::open(const std::string& path,
                                                                           std::vector<std::string> names) {
  auto content = read(path);
  if (!content) return fail("webhookClientCAFile: " + content.error().message);
  auto clients = server::ClientCertificates::create(*content, std::move(names));
  if (!clients) return fail("webhookClientCAFile: " + path + ": " + clients.error().message);
  return std::unique_ptr<ClientAuthoritiesFile>(
      new ClientAuthoritiesFile(std::filesystem::absolute(path), std::move(*content), std::move(*clients)));
}

ClientAuthoritiesFile::ClientAuthoritiesFile(std::filesystem::path path, std::string content,
                                             std::shared_ptr<server::ClientCertificates> clients)
    : path_(std::move(path)),
      clients_(std::move(clients)),
      events_(path_.parent_path()),
      content_(std::move(content)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ClientAuthoritiesFile::~ClientAuthoritiesFile() {
  thread_.request_stop();
  events_.wake();
  thread_.join();
}

void ClientAuthoritiesFile::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    events_.watch();
    look();
    events_.wait();
  }
}

void ClientAuthoritiesFile::look() {
  auto content = read(path_);
  std::string problem = content ? "" : content.error().message;
  if (content && *content != content_) {
    if (const auto set = clients_->set_authorities(*content); set) {
      content_ = std::move(*content);
      log_info("the authorities of the webhooks' clients have changed", {{"file", path_.string()}});
    } else {
      problem = path_.string() + ": " + set.error().message;
    }
  }
  if (problem != problem_ && !problem.empty())
    log_warning("webhookClientCAFile cannot be used, the authorities before stay", {{"why", problem}});
  problem_ = std::move(problem);
}

}  // namespace muster::runtime
