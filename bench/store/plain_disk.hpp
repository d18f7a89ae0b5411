// SPDX-License-Identifier: MIT
// Measures plain reads and writes of a disk, as the limit for checkpoints. Called by `gangway
// store-times`, one thread for each file.
#pragma once

#include <cstddef>
#include <filesystem>

#include "checkpoint/files/aligned_buffer.hpp"

namespace gangway::bench {

/// A file and the block to write and read it with, allocated before any measurement.
class PlainFile {
 public:
  /// Writes nothing yet. @param bytes  size of the file, rounded up to whole pages
  PlainFile(std::filesystem::path path, std::size_t bytes);

  /// Makes the file anew with direct writes of 4 MiB into reserved space, and syncs it.
  /// @throws EnvironmentError naming path and cause, also if the file system refuses direct I/O
  void write();
  /// Reads the whole file with direct reads of 4 MiB. @throws EnvironmentError like write()
  void read();

 private:
  std::filesystem::path path_;
  std::size_t bytes_;
  checkpoint::AlignedBuffer block_;
};

}  // namespace gangway::bench
