// SPDX-License-Identifier: MIT
// Writes and reads safetensors files, which hold a worker's part of a checkpoint. The `safetensors`
// package can read them. Called by a worker's writer thread and all readers; no LibTorch.
//
// The reader checks every length, offset, shape and name against the file before use. The caps
// below are stricter than the format's (100 MB of header); the writer obeys them too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/element_type.hpp"

namespace gangway::checkpoint {

inline constexpr std::size_t kMaxHeaderBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kMaxTensors = std::size_t{1} << 17U;
inline constexpr std::size_t kMaxNameBytes = 512;
inline constexpr std::size_t kMaxRank = 16;
/// Alignment of the data section, in bytes: the header is padded with spaces.
inline constexpr std::size_t kDataAlignment = 4096;

/// A tensor: row-major, little-endian, no gaps. `bytes` is borrowed from the caller when writing,
/// from the SafetensorsFile when reading (then unaligned). Rank 0 is a scalar; zero elements are
/// legal.
struct TensorRecord {
  std::string name;  ///< UTF-8, 1 to kMaxNameBytes bytes, unique in a file and in a checkpoint
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// A file that is now durable; a worker reports it to the coordinator (CheckpointPart).
struct FileReport {
  std::string name;  ///< without folder
  std::uint64_t bytes = 0;
  std::string xxh3_128;  ///< of the whole file, 32 hexadecimal digits
};

/// Writes a new file, syncs and closes it; refuses an existing file or link. Sorts tensors by
/// descending item size, then name. Reserves the space first, so that a full disk fails before any
/// write. On failure the partial file is removed.
/// @throws EnvironmentError naming path and cause: full disk, permissions, input/output error.
/// @throws InvariantError if a record contradicts itself (size against shape, duplicate or illegal
/// name).
FileReport write_safetensors(const std::filesystem::path& path,
                             std::span<const TensorRecord> tensors,
                             const std::map<std::string, std::string>& metadata);

/// Maps a file and checks everything except the values when opened. Immutable; any thread may read.
/// Records and their bytes live as long as this object.
class SafetensorsFile {
 public:
  /// @throws CheckpointError naming the file, and the tensor if any.
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const;
  /// Sorted by name.
  [[nodiscard]] std::span<const TensorRecord> tensors() const;
  /// Returns null if the file holds no such tensor.
  [[nodiscard]] const TensorRecord* find(std::string_view name) const;
  /// Returns the complete file, header included.
  [[nodiscard]] std::span<const std::byte> contents() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace gangway::checkpoint
