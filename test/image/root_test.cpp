// The files of the image, made here as the Dockerfile makes them, and muster run with nothing
// else around it.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 65532;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Made once, by the script, and removed at the end.
class Image {
 public:
  static const Image& get() {
    static const Image image;
    return image;
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() {
    std::error_code ignored;
    fs::remove_all(scratch_, ignored);
  }

  const fs::path& root() const { return root_; }
  // Everything in it, without the root itself.
  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) files.push_back(entry.path());
    return files;
  }
  struct Ended {
    int code;  // 128: by a signal
    std::string output;
  };
  // As the image's user, with an empty environment.
  Ended run(std::vector<std::string> words) const {
    const fs::path output = scratch_ / "output";
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    char* const environment[] = {nullptr};
    const pid_t child = fork();
    if (child == 0) {
      if (freopen(output.c_str(), "w", stdout) == nullptr || dup2(STDOUT_FILENO, STDERR_FILENO) < 0) _exit(101);
      if (chroot(root_.c_str()) != 0 || chdir("/") != 0) _exit(102);
      if (setgid(kUser) != 0 || setuid(kUser) != 0) _exit(103);
      execve(arguments[0], arguments.data(), environment);
      _exit(104);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, contents(output)};
  }

 private:
  Image() {
    std::string name = (fs::temp_directory_path() / "muster-image-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    scratch_ = name;
    fs::permissions(scratch_, fs::perms(0755));  // mkdtemp's folder would keep the image's user out
    root_ = scratch_ / "root";
    const std::string command =
        "'" MUSTER_SOURCE_DIR "/scripts/image-root' '" MUSTER_BUILD_DIR "' '" + root_.string() + "'";
    REQUIRE(std::system(command.c_str()) == 0);
  }

  fs::path scratch_, root_;
};

bool may_change_root() {
  if (geteuid() == 0) return true;
  MESSAGE("[skipped] only root may change the root folder");
  return false;
}

void check_executables() {
  const fs::path& root = Image::get().root();
  for (const fs::path& path : Image::get().files()) {
    const fs::path inside = "/" / fs::relative(path, root);
    CAPTURE(inside.string());
    if (fs::is_symlink(path) || !fs::is_regular_file(path)) continue;
    const bool library = inside.string().starts_with("/lib") && inside.string().find(".so") != std::string::npos;
    const bool program = inside == "/muster" || inside == "/muster-wait";
    const bool executable = (fs::status(path).permissions() & fs::perms(0111)) != fs::perms::none;
    CHECK(executable == (library || program));
  }
  for (const char* name : {"bin", "sbin", "usr/bin", "usr/sbin", "usr/local"}) {
    CAPTURE(name);
    CHECK_FALSE(fs::exists(root / name));
  }
}

void check_rights() {
  for (const fs::path& path : Image::get().files()) {
    CAPTURE(path.string());
    struct stat status {};
    REQUIRE(lstat(path.c_str(), &status) == 0);
    CHECK(status.st_uid == geteuid());
    CHECK((status.st_mode & (S_ISUID | S_ISGID)) == 0);
    if (S_ISLNK(status.st_mode)) {
      // Into the image, or it would be broken there.
      const fs::path target = fs::read_symlink(path);
      CHECK(fs::exists(target.is_absolute() ? Image::get().root() / target.relative_path()
                                            : path.parent_path() / target));
    } else if (path == Image::get().root() / "tmp") {
      CHECK((status.st_mode & 07777) == 01777);
    } else {
      CHECK((status.st_mode & (S_IWGRP | S_IWOTH)) == 0);
      CHECK((status.st_mode & S_IROTH) != 0);
    }
  }
}

void check_user() {
  const std::string user = std::to_string(kUser);
  CHECK(contents(Image::get().root() / "etc/passwd") ==
        "muster:x:" + user + ":" + user + ":muster:/nonexistent:/nonexistent\n");
  CHECK(contents(MUSTER_SOURCE_DIR "/manifests/deployment.yaml").find("runAsUser: " + user) != std::string::npos);
  const std::string dockerfile = contents(MUSTER_SOURCE_DIR "/Dockerfile");
  CHECK(dockerfile.find("\nUSER " + user + ":" + user + "\n") != std::string::npos);
}

void check_data() {
  const fs::path& root = Image::get().root();
  CHECK(contents(root / fs::read_symlink(root / "usr/lib/ssl/cert.pem").relative_path())
            .find("-----BEGIN CERTIFICATE-----") != std::string::npos);
  size_t packages = 0;
  for (const auto& entry : fs::directory_iterator(root / "var/lib/dpkg/status.d")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    ++packages;
    CHECK(contents(entry.path()).starts_with("Package: " + name + "\n"));
    CHECK(fs::file_size(root / "usr/share/doc" / name / "copyright") > 0);
  }
  CHECK(packages > 5);
}

}  // namespace

TEST_CASE("muster runs with the image's files alone, as the image's user") {
  if (!may_change_root()) return;
  const auto version = Image::get().run({"/muster", "version"});
  CHECK_MESSAGE(version.code == 0, version.output);
  CHECK(version.output.starts_with("muster "));
  const auto manifests = Image::get().run({"/muster", "manifests"});
  CHECK_MESSAGE(manifests.code == 0, manifests.output);
  // It says what it lacks, so it has started.
  CHECK(Image::get().run({"/muster-wait"}).output.find("usage: muster-wait") != std::string::npos);
}

TEST_CASE("The image has no shell, nothing that its user may change, and all that muster needs") {
  // One image for all of them.
  SUBCASE("two programs, the loader and libraries are executable, and nothing else is there to execute") {
    check_executables();
  }
  SUBCASE("nobody but root may change a file, and none gives a user rights") {
    check_rights();
  }
  SUBCASE("the only user is not root and is the one of the Deployment") {
    check_user();
  }
  SUBCASE("the roots of trust are where OpenSSL looks, and each library has its license") {
    check_data();
  }
}

TEST_CASE("The Dockerfile's last stage starts from nothing and only copies these files") {
  std::istringstream lines(contents(MUSTER_SOURCE_DIR "/Dockerfile"));
  std::vector<std::string> last_stage;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("FROM ")) last_stage.clear();
    if (!line.empty() && line[0] != '#') last_stage.push_back(line);
  }
  REQUIRE(last_stage.size() >= 2);
  CHECK(last_stage[0] == "FROM scratch");
  CHECK(last_stage[1] == "COPY --from=build /image/ /");
  for (const std::string& line : last_stage) CHECK_FALSE(line.starts_with("RUN"));
}
