#include "runtime/read_file.h"

#include <array>
#include <fstream>

namespace muster::runtime {

Result<std::string> read_stream(std::istream& stream, const std::string& name, size_t largest) {
  std::string text;
  std::array<char, 65536> block;
  // read(), and not an iterator: if reading fails, read() sets a bit and throws no exception.
  do {
    stream.read(block.data(), block.size());
    text.append(block.data(), static_cast<size_t>(stream.gcount()));
    if (text.size() > largest)
      return fail(name + ": is larger than " + std::to_string(largest >> 20) + " MiB, and no file for muster");
  } while (stream);
  if (stream.bad()) return fail(name + ": cannot be read; is it a folder?");
  return text;
}

Result<std::string> read_file(const std::string& name, size_t largest) {
  std::ifstream stream(name, std::ios::binary);
  if (!stream) return fail(name + ": cannot be read; is the path right?");
  return read_stream(stream, name, largest);
}

}  // namespace muster::runtime
