#include "certs/directory_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/encoding.h"
#include "certs/files.h"

namespace muster::certs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDataLink = "..data";
constexpr std::string_view kStatePrefix = "..state_";
constexpr std::string_view kBundleFile = "bundle.crt";
constexpr unsigned kPrivateMode = 0600;
constexpr unsigned kPublicMode = 0644;

// Held from construction until destruction, across processes.
class DirectoryLock {
 public:
  explicit DirectoryLock(const fs::path& directory)
      : fd_(open((directory / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivateMode)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      close(fd_);
      fd_ = -1;
    }
  }
  ~DirectoryLock() {
    if (fd_ >= 0) close(fd_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Empty when there is no such link.
fs::path link_target(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error);
}

// Lengths keep two states apart whose texts join to the same bytes.
std::string version_of(const CertificateState& state) {
  SecretText all;
  for (const CertificateField& field : kCertificateFields) {
    all.append(std::to_string(field.of(state).size()) + ":");
    all.append(field.of(state));
  }
  return sha256_hex(all);
}

Outcome<> make_directory(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_failure("cannot make the directory", path);
  return Done{};
}

// Fills `data` with the files of `state`.
Outcome<> write_files(const fs::path& data, const CertificateState& state) {
  if (auto made = make_directory(data); !made) return made;
  for (const CertificateField& field : kCertificateFields) {
    if (field.of(state).empty()) continue;
    if (auto put = write_new_file(data / field.key, field.of(state), field.secret ? kPrivateMode : kPublicMode); !put) {
      return put;
    }
  }
  return write_new_file(data / kBundleFile, bundle_of(state), kPublicMode);
}

// Points `link` at `target` in one step, whatever was there.
Outcome<> swap_link(const fs::path& link, const fs::path& target) {
  const fs::path temporary = link.string() + ".new";
  unlink(temporary.c_str());
  if (symlink(target.c_str(), temporary.c_str()) != 0) return errno_failure("cannot make the link", temporary);
  if (rename(temporary.c_str(), link.c_str()) != 0) return errno_failure("cannot replace", link);
  return Done{};
}

// The links of the names that users know. Names that are absent in this state point
// nowhere, which reads as "there is none".
Outcome<> link_names(const fs::path& directory) {
  const auto link = [&](std::string_view name) -> Outcome<> {
    const fs::path target = fs::path(kDataLink) / name;
    if (link_target(directory / name) == target) return Done{};
    return swap_link(directory / name, target);
  };
  for (const CertificateField& field : kCertificateFields) {
    if (auto linked = link(field.key); !linked) return linked;
  }
  return link(kBundleFile);
}

// Reads through `data`, which is one write's directory, or through the plain files of a directory that a person filled
// by hand.
Result<CertificateState> read_files(const fs::path& data) {
  CertificateState state;
  for (const CertificateField& field : kCertificateFields) {
    auto content = read_file_if_present(data / field.key);
    if (!content) return fail_with(content.error());
    if (*content) field.set(state, **content);
  }
  return state;
}

}  // namespace

DirectoryStore::DirectoryStore(fs::path directory) : directory_(std::move(directory)) {}

Result<StoredCertificates> DirectoryStore::read() {
  // A writer removes the directory that its write replaced; a reader who was still
  // in it starts again.
  while (true) {
    const fs::path data = link_target(directory_ / kDataLink);
    auto state = read_files(directory_ / data);
    if (!state) return fail_with(state.error());
    if (link_target(directory_ / kDataLink) != data) continue;
    if (*state == CertificateState{}) return StoredCertificates{};
    std::string version = version_of(*state);
    return StoredCertificates{std::move(state).value(), std::move(version)};
  }
}

Result<StoreOutcome> DirectoryStore::write(const CertificateState& state, const std::string& expected_version) {
  std::error_code error;
  fs::create_directories(directory_.parent_path(), error);
  if (auto made = make_directory(directory_); !made) return fail_with(made.error());
  const DirectoryLock lock(directory_);
  if (!lock.held()) return errno_failure("cannot lock", directory_ / ".lock");

  const auto present = read();
  if (!present) return fail_with(present.error());
  if (present->version != expected_version) return StoreOutcome::kConflict;

  const std::string name = std::string(kStatePrefix) + version_of(state).substr(0, 16);
  const fs::path old_data = link_target(directory_ / kDataLink);
  if (old_data == name) return StoreOutcome::kWritten;
  fs::remove_all(directory_ / name, error);  // left behind by a writer that died
  if (auto put = write_files(directory_ / name, state); !put) return fail_with(put.error());
  if (auto swapped = swap_link(directory_ / kDataLink, name); !swapped) return fail_with(swapped.error());
  if (auto linked = link_names(directory_); !linked) return fail_with(linked.error());
  // Only what an earlier write made, wherever a foreign link can point.
  if (old_data.string().starts_with(kStatePrefix) && !old_data.has_parent_path()) {
    fs::remove_all(directory_ / old_data, error);
  }
  return StoreOutcome::kWritten;
}

}  // namespace muster::certs
