// The file of the authorities whose clients can ask for reviews, and the thread that follows it.
//
// A file that cannot be used when it changes leaves the authorities before in place, with a
// warning; at the start it is an error.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "certs/directory_events.h"
#include "server/transport/client_certificates.h"

namespace muster::runtime {

class ClientAuthoritiesFile {
 public:
  static Result<std::unique_ptr<ClientAuthoritiesFile>> open(const std::string& path, std::vector<std::string> names);
  ~ClientAuthoritiesFile();
  ClientAuthoritiesFile(const ClientAuthoritiesFile&) = delete;
  ClientAuthoritiesFile& operator=(const ClientAuthoritiesFile&) = delete;

  const std::shared_ptr<server::ClientCertificates>& clients() const { return clients_; }

 private:
  ClientAuthoritiesFile(std::filesystem::path path, std::string content,
                        std::shared_ptr<server::ClientCertificates> clients);
  void run(const std::stop_token& stop);
  void look();

  const std::filesystem::path path_;
  const std::shared_ptr<server::ClientCertificates> clients_;
  certs::DirectoryEvents events_;
  std::string content_;  // as it was taken over last
  std::string problem_;  // the last that was logged
  std::jthread thread_;
};

}  // namespace muster::runtime
