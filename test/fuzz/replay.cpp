// Runs a fuzz target over every file of a corpus folder, without a fuzzer: what it has
// once found stays found. No input can take more memory than a small container has.
// Usage: replay_<target> <folder>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size);

namespace {

constexpr long kMostKib = 256 * 1024;

// The sanitizers count their own memory.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kMeasured = false;
#else
constexpr bool kMeasured = true;
#endif

long most_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

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
    if (kMeasured && most_kib() > kMostKib) {
      std::fprintf(stderr, "this input took %ld KiB of memory; %ld are allowed\n", most_kib(), kMostKib);
      return 1;
    }
  }
  std::printf("%zu inputs replayed\n", files.size());
  return 0;
}
