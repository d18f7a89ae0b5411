// SPDX-License-Identifier: MIT
#include "checkpoint/chunk_writer.hpp"

#include <algorithm>
#include <cstring>

namespace gangway::checkpoint {

namespace {

/// Below this the kernel's cache is as fast, and what was written is soon read again.
constexpr std::uint64_t kSmallestDirectFile = std::uint64_t{1} << 20U;

}  // namespace

ChunkWriter::ChunkWriter(const std::filesystem::path& path, std::uint64_t bytes)
    : file_(path, bytes, bytes < kSmallestDirectFile ? Caching::kPages : Caching::kDirect),
      buffer_(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kChunkBytes))) {}

void ChunkWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % kDirectAlignment == 0;
    if (filled_ == 0 && is_aligned && bytes.size() >= kChunkBytes) {
      const std::span<const std::byte> chunk = bytes.first(kChunkBytes);
      sums_.push_back(crc32c(chunk));
      file_.write(chunk);
      bytes = bytes.subspan(chunk.size());
      continue;
    }
    const std::size_t part = std::min(bytes.size(), buffer_.bytes().size() - filled_);
    std::memcpy(buffer_.bytes().data() + filled_, bytes.data(), part);
    filled_ += part;
    bytes = bytes.subspan(part);
    if (filled_ == kChunkBytes) {
      flush();
    }
  }
}

void ChunkWriter::flush() {
  const std::span<const std::byte> chunk = buffer_.bytes().first(filled_);
  sums_.push_back(crc32c(chunk));
  file_.write(chunk);
  filled_ = 0;
}

std::vector<std::uint32_t> ChunkWriter::finish() {
  if (filled_ != 0) {
    flush();
  }
  file_.finish();
  return std::move(sums_);
}

}  // namespace gangway::checkpoint
