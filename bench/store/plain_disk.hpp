// SPDX-License-Identifier: MIT
// Measures plain reads and writes of a disk: the limit to which checkpoints are compared. Called by
// `gangway store-times`, from one thread a file.
#pragma once

#include <cstddef>
#include <filesystem>

#include "checkpoint/files/aligned_buffer.hpp"

namespace gangway::bench {

/// One file, and the block that it is written from and read into, made before anything is timed.
class PlainFile {
 public:
  /// @param bytes  of the file, rounded up to whole pages. Nothing is written yet.
  PlainFile(std::filesystem::path path, std::size_t bytes);

  /// Makes the file anew by direct writes of 4 MiB into space that is reserved first; syncs it.
  /// @throws EnvironmentError naming path and cause, also where the file system takes no direct
  /// I/O.
  void write();
  /// Reads all of it by direct reads of 4 MiB. @throws as write
  void read();

 private:
  std::filesystem::path path_;
  std::size_t bytes_;
  checkpoint::AlignedBuffer block_;
};

}  // namespace gangway::bench
