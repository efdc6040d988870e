// The options of the compiler and the linker are read back from what they made.
#include <algorithm>

#include "test/hardening/elf_file.h"

using namespace muster::test;

namespace {

const char* const kExecutables[] = {MUSTER_BINARY, MUSTER_WAIT};

std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string text(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0).read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

}  // namespace

TEST_CASE("The executables lie at an address that is chosen at each start") {
  for (const char* path : kExecutables) {
    CAPTURE(path);
    const ElfFile file(path);
    CHECK(file.type() == ET_DYN);
    CHECK((file.dynamic(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0);
    CHECK_FALSE(file.dynamic(DT_TEXTREL).has_value());
  }
}

TEST_CASE("No memory of the executables is writable and executable, and the stack is not executable") {
  for (const char* path : kExecutables) {
    CAPTURE(path);
    const ElfFile file(path);
    for (const Elf64_Phdr& segment : file.segments()) {
      if (segment.p_type == PT_LOAD) CHECK((segment.p_flags & (PF_W | PF_X)) != (PF_W | PF_X));
    }
    // Without this entry the kernel makes the stack executable.
    const auto stack = file.segment(PT_GNU_STACK);
    REQUIRE(stack.has_value());
    CHECK((stack->p_flags & PF_X) == 0);
  }
}

TEST_CASE("Addresses of functions are resolved at the start and read-only from then on") {
  for (const char* path : kExecutables) {
    CAPTURE(path);
    const ElfFile file(path);
    CHECK(file.segment(PT_GNU_RELRO).has_value());
    CHECK((file.dynamic(DT_FLAGS).value_or(0) & DF_BIND_NOW) != 0);
    CHECK((file.dynamic(DT_FLAGS_1).value_or(0) & DF_1_NOW) != 0);
  }
}

TEST_CASE("An overflow of the stack or of a buffer ends the process") {
  bool guards_stack = false;
  std::vector<std::string_view> checked;
  const ElfFile file(MUSTER_BINARY);
  for (const ElfFile::Symbol& symbol : file.symbols(SHT_DYNSYM)) {
    if (symbol.entry.st_shndx != SHN_UNDEF) continue;
    guards_stack = guards_stack || symbol.name == "__stack_chk_fail";
    if (symbol.name.starts_with("__") && symbol.name.ends_with("_chk")) checked.push_back(symbol.name);
  }
  CHECK(guards_stack);
  CHECK_FALSE(checked.empty());
  // The waiter is static and stripped, and Debian's libc in it has its own guards: what counts
  // is what its own code was compiled to.
  CHECK(contents(MUSTER_WAIT_LIBRARY).find("__stack_chk_fail") != std::string::npos);
}

// The processor refuses an indirect jump to anything else. It does so only where all of the
// process was compiled that way, the libraries of the distribution too; muster's part is this.
#ifdef __x86_64__
TEST_CASE("Every function of muster that can be jumped to begins with a mark of the compiler") {
  constexpr std::string_view kEndbr64 = "\xf3\x0f\x1e\xfa";
  const ElfFile file(MUSTER_BINARY);
  size_t seen = 0;
  std::string without;
  for (const ElfFile::Symbol& symbol : file.symbols(SHT_SYMTAB)) {
    const bool exported = ELF64_ST_BIND(symbol.entry.st_info) == STB_GLOBAL;
    const bool function = ELF64_ST_TYPE(symbol.entry.st_info) == STT_FUNC && symbol.entry.st_shndx != SHN_UNDEF;
    const bool ours = symbol.name.starts_with("_ZN6muster") || symbol.name.starts_with("_ZNK6muster");
    if (!exported || !function || !ours) continue;
    ++seen;
    if (file.code(symbol.entry.st_value, kEndbr64.size()) != kEndbr64 && without.size() < 1000)
      without.append(symbol.name).append(" ");
  }
  CHECK(seen > 500);
  CHECK(without == "");
}
#endif

// The copies of sources with deliberate faults are for one test program alone.
TEST_CASE("The executables know nothing of deliberate faults") {
  const std::string mark = "deliberate faults can be chosen";
  for (const char* path : kExecutables) {
    CAPTURE(path);
    const std::string program = contents(path);
    for (const char* trace : {mark.c_str(), "chosen_fault", "fault_is"})
      CHECK(program.find(trace) == std::string::npos);
  }
  // The program that has them shows that they would be found.
  CHECK(contents(MUSTER_FAULTS_TEST).find(mark) != std::string::npos);
}
