// What must hold whatever the cluster's objects say. Where it does not, muster has a bug, and
// the object that showed it is set aside: the engine catches this per key, says where it was
// thrown, and goes on with all other keys (engine/quarantine.h). So never assert() on anything
// that an object can reach: that ends the process, and every replica meets the same object.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace muster {

class BrokenInvariant : public std::logic_error {
 public:
  BrokenInvariant(const char* what, std::string_view file, int line)
      : std::logic_error(what), file_(file), line_(line) {}
  // "scheduler/quota/ledger.cpp:53": the folder and the file, in whatever form the compiler got the path.
  std::string where() const {
    std::string_view file = file_;
    const size_t slash = file.rfind('/');
    const size_t before = slash == std::string_view::npos || slash == 0 ? slash : file.rfind('/', slash - 1);
    if (before != std::string_view::npos) file.remove_prefix(before + 1);
    return std::string(file) + ":" + std::to_string(line_);
  }

 private:
  std::string_view file_;  // a literal
  int line_;
};

// What std::source_location would tell, for compilers that have no such thing yet.
inline void check_invariant(bool holds, const char* what, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  if (!holds) throw BrokenInvariant(what, file, line);
}

}  // namespace muster
