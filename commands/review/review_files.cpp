#include "commands/review/review_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "runtime/read_file.h"

namespace muster::commands {
namespace {

namespace fs = std::filesystem;

bool is_url(const std::string& name) {
  return name.starts_with("http://") || name.starts_with("https://");
}

bool has_manifest_extension(const fs::path& file) {
  const fs::path extension = file.extension();
  return extension == ".json" || extension == ".yaml" || extension == ".yml";
}

// Links to folders are not followed, so that the search ends.
template <class Iterator>
Result<std::vector<std::string>> list_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (Iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable) && has_manifest_extension(entry->path()))
      files.push_back(entry->path().string());
  }
  if (error) return fail(folder + ": cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<std::string>> files_of(const std::string& folder, bool recursive) {
  auto files =
      recursive ? list_files<fs::recursive_directory_iterator>(folder) : list_files<fs::directory_iterator>(folder);
  if (files && files->empty())
    return fail(folder + ": holds no file .json, .yaml or .yml" +
                (recursive ? "" : "; -R looks into the folders below as well"));
  return files;
}

class Reader {
 public:
  Reader(bool recursive, std::istream& standard_input) : recursive_(recursive), standard_input_(standard_input) {}

  Outcome<> read(const std::string& name) {
    if (name == "-") return read_standard_input();
    if (name.empty()) return fail("-f: the name of a file is empty");
    if (is_url(name))
      return fail(name + ": is a URL, and muster review reads files only; try curl -fsSL " + name +
                  " | muster review -f -");
    std::error_code error;
    if (!fs::is_directory(name, error)) return add(name, runtime::read_file(name), false);
    const auto files = files_of(name, recursive_);
    if (!files) return fail(files.error().message);
    for (const std::string& file : *files) {
      if (auto added = add(file, runtime::read_file(file), true); !added) return added;
    }
    return Done{};
  }

  Outcome<> build(const std::string& folder) {
    const char* path = std::getenv("PATH");
    return add(folder, build_kustomization(folder, path ? path : ""), false);
  }

  std::vector<SourceText> take() { return std::move(sources_); }

 private:
  Outcome<> read_standard_input() {
    if (used_standard_input_) return fail("-f -: standard input can be read only once");
    used_standard_input_ = true;
    return add("-", runtime::read_stream(standard_input_, "-"), false);
  }

  Outcome<> add(const std::string& name, Result<std::string> text, bool listed) {
    if (!text) return fail(text.error().message);
    sources_.push_back({name, std::make_shared<const std::string>(std::move(*text)), listed});
    return Done{};
  }

  const bool recursive_;
  std::istream& standard_input_;
  bool used_standard_input_ = false;
  std::vector<SourceText> sources_;
};

}  // namespace

Result<std::vector<SourceText>> read_sources(const SourceNames& names, std::istream& standard_input) {
  Reader reader(names.recursive, standard_input);
  for (const std::string& name : names.files) {
    if (auto read = reader.read(name); !read) return fail(read.error().message);
  }
  for (const std::string& folder : names.kustomizations) {
    if (auto built = reader.build(folder); !built) return fail(built.error().message);
  }
  return reader.take();
}

}  // namespace muster::commands
