// The image and its files, made here as scripts/image makes them for a release and for the node of the cluster tests,
// and muster run with nothing else around it.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/support/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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
    const fs::path output = scratch_.path() / "output";
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
    fs::permissions(scratch_.path(), fs::perms(0755));  // so that the image's user can enter it
    root_ = scratch_.path() / "root";
    const std::string command =
        "'" MUSTER_SOURCE_DIR "/scripts/image-root' '" MUSTER_BUILD_DIR "' '" + root_.string() + "'";
    REQUIRE(std::system(command.c_str()) == 0);
  }

  const muster::test::TemporaryFolder scratch_;
  fs::path root_;
};

// Its digest, with the end of the line.
std::string make_image(const fs::path& build, const fs::path& layout) {
  const fs::path output = layout.string() + ".digest";
  const std::string command = "'" MUSTER_SOURCE_DIR "/scripts/image' '" + build.string() + "' '" + layout.string() +
                              "' >'" + output.string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  return contents(output);
}

fs::path blob(const fs::path& layout, const std::string& digest) {
  return layout / "blobs/sha256" / digest.substr(digest.find(':') + 1);
}

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

TEST_CASE("Two images of the same programs have the same digest, whatever folders they were made in") {
  const fs::path scratch = Image::get().root().parent_path();
  std::vector<std::string> digests;
  for (const std::string name : {"one", "a longer name"}) {
    const fs::path build = scratch / name / "build";
    fs::create_directories(build);
    for (const char* program : {"muster", "muster-wait"}) {
      fs::copy_file(fs::path(MUSTER_BUILD_DIR) / program, build / program);
    }
    digests.push_back(make_image(build, scratch / name / "image"));
  }
  CHECK(digests[0].starts_with("sha256:"));
  CHECK(digests[0] == digests[1]);

  // Another program is another image.
  const fs::path build = scratch / "one" / "build";
  fs::remove(build / "muster-wait");
  fs::copy_file(build / "muster", build / "muster-wait");
  CHECK(make_image(build, scratch / "other") != digests[0]);
}

TEST_CASE("The image runs muster serve, as a user who is not root, and is named by its version") {
  const fs::path layout = Image::get().root().parent_path() / "layout";
  const std::string digest = make_image(MUSTER_BUILD_DIR, layout);
  const json index = json::parse(contents(layout / "index.json"));
  REQUIRE(index.at("manifests").size() == 1);
  const json& named = index.at("manifests").at(0);
  CHECK(named.at("digest").get<std::string>() + "\n" == digest);
  CHECK(named.at("annotations").at("org.opencontainers.image.ref.name") == MUSTER_VERSION);
  const json manifest = json::parse(contents(blob(layout, named.at("digest"))));
  CHECK(manifest.at("layers").size() == 1);
  const json config = json::parse(contents(blob(layout, manifest.at("config").at("digest"))));
  const std::string user = std::to_string(kUser);
  CHECK(config.at("os") == "linux");
  CHECK(config.at("config").at("User") == user + ":" + user);
  CHECK(config.at("config").at("Entrypoint") == json{"/muster"});
  CHECK(config.at("config").at("Cmd") == json{"serve"});
  CHECK(config.at("config").at("Labels").at("org.opencontainers.image.version") == MUSTER_VERSION);
}

#if MUSTER_RELATIVE_PATHS
TEST_CASE("The archive is the same layout, with the name that the chart's default image has in containerd") {
  const fs::path folder = Image::get().root().parent_path();
  const std::string digest = make_image(MUSTER_BUILD_DIR, folder / "as-folder");
  CHECK(make_image(MUSTER_BUILD_DIR, folder / "one.tar") == digest);
  CHECK(make_image(MUSTER_BUILD_DIR, folder / "two.tar") == digest);
  CHECK(contents(folder / "one.tar") == contents(folder / "two.tar"));
  // A second run replaces the file.
  CHECK(make_image(MUSTER_BUILD_DIR, folder / "two.tar") == digest);

  fs::create_directory(folder / "unpacked");
  const std::string unpack =
      "tar -xf '" + (folder / "one.tar").string() + "' -C '" + (folder / "unpacked").string() + "'";
  REQUIRE(std::system(unpack.c_str()) == 0);
  CHECK(fs::exists(folder / "unpacked/oci-layout"));
  const json named = json::parse(contents(folder / "unpacked/index.json")).at("manifests").at(0);
  CHECK(named.at("digest").get<std::string>() + "\n" == digest);
  CHECK(named.at("annotations").at("io.containerd.image.name") == "docker.io/library/muster:" MUSTER_VERSION);
  CHECK(named.at("annotations").at("org.opencontainers.image.ref.name") == MUSTER_VERSION);
  CHECK(fs::exists(blob(folder / "unpacked", named.at("digest"))));
  // `muster:VERSION` of a pod is docker.io/library/muster:VERSION.
  const std::string values = contents(MUSTER_SOURCE_DIR "/manifests/charts/muster/values.yaml");
  CHECK(values.find("  repository: muster\n") != std::string::npos);
  CHECK(values.find("  pullPolicy: IfNotPresent\n") != std::string::npos);
}

TEST_CASE("A node's containerd takes the archive as kind loads it") {
  if (!may_change_root()) return;
  if (std::system("command -v containerd >/dev/null && command -v ctr >/dev/null") != 0) {
    MESSAGE("[skipped] there is no containerd");
    return;
  }
  const fs::path folder = Image::get().root().parent_path(), archive = folder / "loaded.tar";
  const std::string digest = make_image(MUSTER_BUILD_DIR, archive);
  const std::string command = "'" MUSTER_SOURCE_DIR "/test/image/load_archive' '" + archive.string() + "' >'" +
                              (folder / "loaded").string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(contents(folder / "loaded").find("docker.io/library/muster:" MUSTER_VERSION " " + digest) != std::string::npos);
}

TEST_CASE("With MUSTER_RELATIVE_PATHS the programs do not say in which folder they were built") {
  for (const char* program : {"muster", "muster-wait"}) {
    const std::string bytes = contents(Image::get().root() / program);
    CAPTURE(program);
    CHECK(bytes.size() > 1000);
    CHECK(bytes.find(MUSTER_SOURCE_DIR "/") == std::string::npos);
  }
}
#endif
