// Files for tests that read files.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace muster::test {

// A file that is gone at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) : path_(std::filesystem::temp_directory_path() / unique_name()) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  static std::string unique_name() {
    static int count = 0;
    return "muster-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".yaml";
  }
  std::filesystem::path path_;
};

// A folder that is gone at the end of the test, with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / unique_name()) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Returns the path of a file that it makes, with the folders above it.
  std::string add(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  std::string path() const { return path_.string(); }

 private:
  static std::string unique_name() {
    static int count = 0;
    return "muster-test-folder-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  }
  std::filesystem::path path_;
};

}  // namespace muster::test
