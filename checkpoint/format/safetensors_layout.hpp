// SPDX-License-Identifier: MIT
// The header of a safetensors file, made and checked. Internal to the store.
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

/// A tensor of a file and where its bytes are, from the beginning of the data.
struct FileEntry {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct FileHeader {
  std::vector<FileEntry> entries;  ///< as they follow one another in the file
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  ///< of the file
};

/// Bytes of a tensor. @throws InvariantError naming it when name or shape are illegal.
[[nodiscard]] std::uint64_t checked_bytes(const std::string& name, ElementType type,
                                          std::span<const std::int64_t> shape);

/// Gives the entries their places, one after the other as they are given, and returns length field
/// and JSON, padded so that the data starts at a multiple of kDataAlignment. Descending item sizes
/// keep every tensor aligned to its items without gaps, which the format forbids.
/// @throws InvariantError for doubled names, names that are not UTF-8, too many, ascending sizes.
[[nodiscard]] std::string lay_out(std::vector<FileEntry>& entries,
                                  const std::map<std::string, std::string>& metadata);

/// @throws CheckpointError naming the file, and the tensor where there is one.
[[nodiscard]] FileHeader read_header(const OpenFile& file, const std::filesystem::path& path);

/// The same for a JSON text and the number of bytes after it; `file` is for messages. Leaves
/// data_begin.
[[nodiscard]] FileHeader parse_header(std::string_view text, std::uint64_t data_bytes,
                                      const std::string& file);

}  // namespace gangway::checkpoint
