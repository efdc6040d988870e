#include "certs/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace muster::certs {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

struct Buffer {
  char bytes[4096];
  ~Buffer() { cleanse(bytes, sizeof bytes); }
};

}  // namespace

Failure<Error> errno_failure(std::string_view what, const std::filesystem::path& path) {
  const int reason = errno;
  return fail(std::string(what) + " " + path.string() + ": " + std::strerror(reason));
}

Result<std::optional<SecretText>> read_file_if_present(const std::filesystem::path& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::optional<SecretText>();
  if (file.fd < 0) return errno_failure("cannot open", path);
  SecretText content;
  Buffer buffer;
  while (true) {
    const ssize_t got = ::read(file.fd, buffer.bytes, sizeof buffer.bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_failure("cannot read", path);
    if (got == 0) return std::optional<SecretText>(std::move(content));
    content.append({buffer.bytes, static_cast<size_t>(got)});
    if (content.size() > kMaxBytes) return fail(path.string() + " is larger than 1 MiB, so it holds no certificate");
  }
}

Outcome<> write_new_file(const std::filesystem::path& path, std::string_view content, unsigned mode) {
  const Descriptor file{open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
  if (file.fd < 0) return errno_failure("cannot create", path);
  if (fchmod(file.fd, mode) != 0) return errno_failure("cannot set the mode of", path);
  while (!content.empty()) {
    const ssize_t put = ::write(file.fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_failure("cannot write", path);
    content.remove_prefix(static_cast<size_t>(put));
  }
  if (fsync(file.fd) != 0) return errno_failure("cannot flush", path);
  return Done{};
}

}  // namespace muster::certs
