// SPDX-License-Identifier: MIT
#include "checkpoint/format/chunk_reader.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/files/crc32c.hpp"

namespace gangway::checkpoint {

namespace {

/// Smaller files are probably in the kernel's cache and as fast from there.
constexpr std::uint64_t kSmallestDirectRead = std::uint64_t{16} << 20U;

}  // namespace

std::filesystem::path ChunkReader::path_of(int file) const {
  return directory_ / manifest_.files.at(static_cast<std::size_t>(file)).name;
}

std::span<const std::byte> ChunkReader::read(const StoredChunk& chunk,
                                             std::span<std::byte> buffer) {
  const std::filesystem::path path = path_of(chunk.file);
  if (open_index_ != chunk.file) {
    open_index_ = -1;
    open_.reset();
    open_ = open_regular_file(path);
    const std::uint64_t expected = manifest_.files[static_cast<std::size_t>(chunk.file)].bytes;
    if (open_->bytes != expected) {
      throw CheckpointError(fmt::format("{}: has {} bytes, the manifest says {}: damaged",
                                        path.string(), open_->bytes, expected));
    }
    if (caching_ == Caching::kDirect && open_->bytes >= kSmallestDirectRead) {
      prefer_direct(*open_);
    }
    open_index_ = chunk.file;
  }
  const std::span<std::byte> bytes = buffer.first(chunk.bytes);
  read_exactly(*open_, chunk.index * kChunkBytes, bytes, path);
  return bytes;
}

std::optional<std::string> damage_in(const Manifest& manifest, const StoredChunk& chunk,
                                     std::span<const std::byte> bytes) {
  if (manifest.format_version == 1) {
    return std::nullopt;
  }
  const std::uint32_t expected =
      manifest.files.at(static_cast<std::size_t>(chunk.file)).chunk_crc32c.at(chunk.index);
  const std::uint32_t sum = crc32c(bytes);
  if (sum == expected) {
    return std::nullopt;
  }
  return fmt::format("its CRC32C is {:08x}, the manifest says {:08x}: damaged", sum, expected);
}

}  // namespace gangway::checkpoint
