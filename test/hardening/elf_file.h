// What the kernel and the loader read of an executable of 64 bits, little-endian: its headers,
// its dynamic section and its symbols.
#pragma once

#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::test {

class ElfFile {
 public:
  explicit ElfFile(const char* path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    REQUIRE_MESSAGE(bytes_.size() > sizeof(Elf64_Ehdr), path);
    header_ = read<Elf64_Ehdr>(0);
    REQUIRE(std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0);
    REQUIRE(header_.e_ident[EI_CLASS] == ELFCLASS64);
    for (size_t i = 0; i < header_.e_phnum; ++i)
      segments_.push_back(read<Elf64_Phdr>(header_.e_phoff + i * header_.e_phentsize));
    for (size_t i = 0; i < header_.e_shnum; ++i)
      sections_.push_back(read<Elf64_Shdr>(header_.e_shoff + i * header_.e_shentsize));
  }

  unsigned type() const { return header_.e_type; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  std::optional<Elf64_Phdr> segment(uint32_t type) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == type) return segment;
    }
    return std::nullopt;
  }
  // Of the dynamic section; nullopt: there is no such entry.
  std::optional<uint64_t> dynamic(int64_t tag) const {
    const auto segment = this->segment(PT_DYNAMIC);
    if (!segment) return std::nullopt;
    for (uint64_t at = 0; at < segment->p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = read<Elf64_Dyn>(segment->p_offset + at);
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
    return std::nullopt;
  }

  struct Symbol {
    std::string_view name;
    Elf64_Sym entry;
  };
  // SHT_DYNSYM or SHT_SYMTAB; empty when it was stripped.
  std::vector<Symbol> symbols(uint32_t type) const {
    std::vector<Symbol> symbols;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != type) continue;
      const uint64_t names = sections_.at(section.sh_link).sh_offset;
      for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
        const auto entry = read<Elf64_Sym>(section.sh_offset + at);
        symbols.push_back({bytes_.c_str() + names + entry.st_name, entry});
      }
    }
    return symbols;
  }
  // What is at `address` when it runs.
  std::string_view code(uint64_t address, size_t size) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address + size > segment.p_vaddr + segment.p_filesz)
        continue;
      return std::string_view(bytes_).substr(segment.p_offset + (address - segment.p_vaddr), size);
    }
    return {};
  }

 private:
  template <class T>
  T read(uint64_t offset) const {
    T value;
    REQUIRE(offset + sizeof value <= bytes_.size());
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::string bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace muster::test
