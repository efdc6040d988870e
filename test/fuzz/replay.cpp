// Runs a fuzz target over every file of a corpus folder, without a fuzzer: what it has
// once found stays found. Usage: replay_<target> <folder>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <folder>\n", argv[0]);
    return 2;
  }
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) files.push_back(entry.path());
  if (error || files.empty()) {
    std::fprintf(stderr, "%s: no corpus there\n", argv[1]);
    return 2;
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    // The name first: when the target stops, it is the last one printed.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs replayed\n", files.size());
  return 0;
}
