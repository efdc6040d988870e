#include "runtime/recording/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/recording/recording.h"

namespace muster::runtime {
namespace {

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

Failure<Error> failed(const std::string& path, const std::string& what) {
  return fail(path + " " + what + ": " + std::strerror(errno));
}

// Whether the file begins like a recording. A process that was killed at once leaves an empty file.
bool is_recording(int file) {
  std::array<char, 1024> begin{};
  const ssize_t size = read(file, begin.data(), begin.size());
  if (size <= 0) return size == 0;
  return std::string_view(begin.data(), static_cast<size_t>(size)).find(recording::kMagic) != std::string_view::npos;
}

}  // namespace

Outcome<> RecordingFile::move_away() const {
  const int old = open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (old < 0 && errno == ENOENT) return Done{};
  if (old < 0 && errno == ELOOP) return fail(path_ + " is a symbolic link: name a file that muster makes itself");
  if (old < 0) return failed(path_, "cannot be opened");
  struct stat found {};
  const bool regular = fstat(old, &found) == 0 && S_ISREG(found.st_mode);
  const bool ours = regular && is_recording(old);
  ::close(old);
  if (!ours) return fail(path_ + " is there and no recording of muster: name another file");
  if (rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return failed(path_, "cannot be renamed to " + path_ + ".1");
  return Done{};
}

Outcome<> RecordingFile::begin() {
  close();
  if (auto moved = move_away(); !moved) return moved;
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly);
  if (file_ < 0) return failed(path_, "cannot be made");
  size_ = 0;
  return Done{};
}

Outcome<> RecordingFile::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(path_, "cannot be written");
    size_ += static_cast<uint64_t>(written);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return Done{};
}

void RecordingFile::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace muster::runtime
