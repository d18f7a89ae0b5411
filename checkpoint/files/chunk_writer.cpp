// SPDX-License-Identifier: MIT
#include "checkpoint/files/chunk_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/system/thread_name.hpp"

namespace gangway::checkpoint {

namespace {

/// Smaller files go through the kernel's cache: as fast, and soon read again.
constexpr std::uint64_t kSmallestDirectWrite = std::uint64_t{1} << 20U;
/// For smaller files a thread costs more time than it saves.
constexpr std::uint64_t kSmallestThreadedFile = 2 * kChunkBytes;

}  // namespace

ChunkWriter::ChunkWriter(const FileSystem& files, const std::filesystem::path& path,
                         std::uint64_t bytes, std::function<void()> on_chunk)
    : file_(files, path, bytes, bytes < kSmallestDirectWrite ? Caching::kPages : Caching::kDirect),
      on_chunk_(std::move(on_chunk)),
      chunk_bytes_(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kChunkBytes))) {
  if (bytes >= kSmallestThreadedFile) {
    thread_ = std::jthread([this] { write_all(); });
  }
}

ChunkWriter::~ChunkWriter() { drain(); }

std::span<std::byte> ChunkWriter::room() {
  AlignedBuffer& buffer = slots_[next_].buffer;
  if (buffer.bytes().empty()) {
    buffer = AlignedBuffer(chunk_bytes_);
  }
  return buffer.bytes().subspan(filled_);
}

void ChunkWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> target = room();
    const std::size_t part = std::min(bytes.size(), target.size());
    std::memcpy(target.data(), bytes.data(), part);
    filled_ += part;
    bytes = bytes.subspan(part);
    if (part == target.size()) {
      hand_over(slots_[next_].buffer.bytes());
    }
  }
}

void ChunkWriter::hand_over(std::span<const std::byte> chunk) {
  sums_.push_back(crc32c(chunk));
  filled_ = 0;
  if (on_chunk_) {
    on_chunk_();
  }
  if (!thread_.joinable()) {
    file_.write(chunk);
    return;
  }
  slots_[next_].chunk = chunk;
  full_.release();
  next_ = (next_ + 1) % kSlots;
  free_.acquire();
  rethrow_failure();
}

void ChunkWriter::rethrow_failure() const {
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void ChunkWriter::drain() {
  if (thread_.joinable()) {
    slots_[next_].chunk = {};
    full_.release();
    thread_.join();
  }
}

void ChunkWriter::write_all() {
  name_this_thread("chunk-writer");
  for (std::size_t i = 0;; i = (i + 1) % kSlots) {
    full_.acquire();
    const std::span<const std::byte> chunk = slots_[i].chunk;
    if (chunk.empty()) {
      return;
    }
    try {
      if (!failure_) {
        file_.write(chunk);
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    free_.release();
  }
}

std::vector<std::uint32_t> ChunkWriter::finish() {
  if (filled_ != 0) {
    hand_over(slots_[next_].buffer.bytes().first(filled_));
  }
  drain();
  rethrow_failure();
  file_.finish();
  return std::move(sums_);
}

}  // namespace gangway::checkpoint
