// SPDX-License-Identifier: MIT
// Parts of a file that holds other files, read at their places and never mapped: one that is cut
// meanwhile is a line and no signal. Used by the reader of tars; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "gan/data/contents/file_index.hpp"

namespace gangway::data {

/// A file that holds others, open for reading.
struct Container {
  std::filesystem::path path;
  FileDescriptor file;
  FileStamp stamp;  ///< when it was opened

  [[nodiscard]] std::uint64_t bytes() const { return static_cast<std::uint64_t>(stamp.bytes); }
};

/// @throws ConfigError: it is not there, or may not be read
[[nodiscard]] Container open_container(const std::filesystem::path& path);

struct FilePart {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Fills `out` from `offset` on, and says how far: less than all of it where the file ends.
/// @throws ConfigError where it cannot be read
[[nodiscard]] std::size_t read_at(const Container& container, std::uint64_t offset,
                                  std::span<std::uint8_t> out);

/// The whole part; shorter where the file ends. @throws ConfigError likewise
[[nodiscard]] std::vector<std::uint8_t> read_part(const Container& container, FilePart part);

/// Has the kernel read the part from the disk meanwhile, as far as it does so. A part of 0 bytes is
/// all that follows its offset.
void expect_part(const FileDescriptor& file, FilePart part);

}  // namespace gangway::data
