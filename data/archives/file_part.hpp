// SPDX-License-Identifier: MIT
// Reads parts of a file that holds other files. Files are not mapped, so a truncated file causes an
// error message and no signal. Used by the reader of tars. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "data/contents/file_index.hpp"

namespace gangway::data {

/// A container file, open for reading.
struct Container {
  std::filesystem::path path;
  FileDescriptor file;
  FileStamp stamp;  ///< when it was opened

  [[nodiscard]] std::uint64_t bytes() const { return static_cast<std::uint64_t>(stamp.bytes); }
};

/// @throws ConfigError if it does not exist or cannot be read
[[nodiscard]] Container open_container(const std::filesystem::path& path);

struct FilePart {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Fills `out` from `offset` and returns the number of bytes; fewer at the end of the file.
/// @throws ConfigError if it cannot be read
[[nodiscard]] std::size_t read_at(const Container& container, std::uint64_t offset,
                                  std::span<std::uint8_t> out);

/// Reads the whole part; shorter at the end of the file. @throws ConfigError as read_at
[[nodiscard]] std::vector<std::uint8_t> read_part(const Container& container, FilePart part);

/// Asks the kernel to read the part ahead from the disk. A part of 0 bytes means everything from
/// its offset on.
void expect_part(const FileDescriptor& file, FilePart part);

}  // namespace gangway::data
