// Lives of the engine among odd objects, from one seed to another, for so long at most; then what
// has broken, with its seed. Usage: run_engine <first seed> <number of seeds> [<seconds>]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "test/fuzz/engine_run.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s <first seed> <number of seeds> [<seconds>]\n", argv[0]);
    return 2;
  }
  const uint64_t first = std::strtoull(argv[1], nullptr, 10), count = std::strtoull(argv[2], nullptr, 10);
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1e9;
  // The largest of these objects is small: whatever takes so long is a loop over a number in one.
  constexpr double kLongestStep = 0.5;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int bad = 0;
  uint64_t seed = first;
  for (; seed < first + count && std::chrono::steady_clock::now() < end; ++seed) {
    // The seed first: when the process ends in it, it is the last one in the file.
    if (const char* file = std::getenv("SEED_FILE")) {
      if (FILE* out = std::fopen(file, "w")) {
        std::fprintf(out, "%llu\n", static_cast<unsigned long long>(seed));
        std::fclose(out);
      }
    }
    const muster::fuzz::EngineRun run = muster::fuzz::run_engine(seed);
    for (const std::string& breakage : run.breakages)
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), breakage.c_str());
    if (run.slowest_seconds > kLongestStep)
      std::printf("seed %llu: %.2f s in one step: %s\n", static_cast<unsigned long long>(seed), run.slowest_seconds,
                  run.slowest_step.c_str());
    bad += run.breakages.empty() && run.slowest_seconds <= kLongestStep ? 0 : 1;
  }
  std::printf("%llu seeds, %d bad\n", static_cast<unsigned long long>(seed - first), bad);
  return bad == 0 ? 0 : 1;
}
