// The two files of a recording on disk (I/O): FILE, which is written, and FILE.1, the one before it.
//
// FILE is a new file that only its owner can read, made by this process: no link is followed, and what is there
// already must be a recording, which becomes FILE.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::runtime {

// One thread.
class RecordingFile {
 public:
  explicit RecordingFile(std::string path) : path_(std::move(path)) {}
  ~RecordingFile() { close(); }
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  // Begins FILE; what was there becomes FILE.1, in the place of that. Again: the next file.
  Outcome<> begin();
  // All of it, or an error with its reason; then the file ends somewhere in it.
  Outcome<> append(std::string_view text);
  // Of the present file, in bytes.
  uint64_t size() const { return size_; }
  void close();

 private:
  Outcome<> move_away() const;

  const std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
};

}  // namespace muster::runtime
