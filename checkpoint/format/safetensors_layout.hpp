// SPDX-License-Identifier: MIT
// Makes and checks the header of a safetensors file. Internal to the store; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/element_type.hpp"

namespace gangway::checkpoint {

/// A tensor of a file and its byte range from the start of the data.
struct FileEntry {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct FileHeader {
  std::vector<FileEntry> entries;  ///< in file order
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  ///< offset in the file, in bytes
};

/// Returns the bytes of a tensor. @throws InvariantError naming it if name or shape is illegal.
[[nodiscard]] std::uint64_t checked_bytes(const std::string& name, ElementType type,
                                          std::span<const std::int64_t> shape);

/// Places the entries one after another in the given order. Returns length field and JSON, padded
/// so that the data starts at a multiple of kDataAlignment. Descending item sizes keep every tensor
/// aligned without gaps, which the format forbids.
/// @throws InvariantError for doubled or non-UTF-8 names, too many entries or ascending sizes.
[[nodiscard]] std::string lay_out(std::vector<FileEntry>& entries,
                                  const std::map<std::string, std::string>& metadata);

/// Reads and checks a header. @throws CheckpointError naming the file, and the tensor if any.
[[nodiscard]] FileHeader read_header(const OpenFile& file, const std::filesystem::path& path);

/// Checks a JSON header that `data_bytes` of data follow; `file` is for messages. Does not set
/// data_begin.
[[nodiscard]] FileHeader parse_header(std::string_view text, std::uint64_t data_bytes,
                                      const std::string& file);

}  // namespace gangway::checkpoint
